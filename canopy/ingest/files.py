"""Reading release files safely: bounded, with the file and the place named in every error."""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from canopy.errors import DataError
from canopy.ingest.sink import Sink

MAX_JSON_BYTES = 16 << 30
MAX_LINE_BYTES = 64 << 20
# A .gz that unpacks to more than this, and to more than two hundred times its size, is a bomb (text packs five- to
# twentyfold).
MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO = 1 << 30, 200
MAX_PACKED_LINE_BYTES = 512 << 20


def require_file(raw: Path, *names: str) -> Path:
    """The first of the named files that exists; DataError naming all of them if none does."""
    for n in names:
        if (raw / n).is_file():
            return raw / n
    raise DataError(f"{raw}: none of {', '.join(names)} is there")


def load_json(path: Path) -> Any:
    """A whole JSON file. DataError names the file and the place if it is cut, not UTF-8, or nested too deeply."""
    try:
        with open(path, "rb") as f:
            if os.fstat(f.fileno()).st_size > MAX_JSON_BYTES:
                raise DataError(
                    f"{path}: larger than {MAX_JSON_BYTES >> 30} GiB: not a release file that can be read whole"
                )
            data = f.read()
        return json.loads(data.decode("utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror}") from None
    except UnicodeDecodeError as e:
        raise DataError(f"{path}: byte {e.start} is not UTF-8; re-download the file or convert it to UTF-8") from None
    except json.JSONDecodeError as e:
        cut = " (the file ends there: truncated download?)" if e.pos >= len(e.doc.rstrip()) - 1 else ""
        raise DataError(f"{path}: not valid JSON at line {e.lineno}, column {e.colno}: {e.msg}{cut}") from None
    except (RecursionError, ValueError) as e:
        raise DataError(f"{path}: cannot be parsed: {str(e)[:120]}") from None


def load_json_list(path: Path) -> list[Any]:
    """A JSON file that must hold a list of records."""
    value = load_json(path)
    if not isinstance(value, list):
        raise DataError(f"{path}: a list of records is expected, not {type(value).__name__}")
    return value


def iterate_jsonl(path: Path, sink: Sink) -> Iterator[tuple[str, Any]]:
    """Records of a JSON Lines file (plain or .gz) with their place ``line N``; broken lines go to quarantine.

    Reads line by line in bounded memory; a line over 64 MiB is quarantined, not loaded. DataError if a .gz is
    damaged.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as f:
            number = 0
            unpacked, limit = (
                0,
                max(MAX_UNPACKED_BYTES, path.stat().st_size * MAX_UNPACKED_RATIO)
                if path.suffix == ".gz"
                else sys.maxsize,
            )
            while True:
                number += 1
                try:
                    line = f.readline(MAX_LINE_BYTES + 1)
                except (EOFError, zlib.error, gzip.BadGzipFile) as e:
                    raise DataError(
                        f"{path}: the compressed file is damaged after line {number - 1}: {e}; download it again"
                    ) from None
                if not line:
                    return
                unpacked += len(line)
                too_long = len(line) > MAX_LINE_BYTES
                begun = unpacked
                while too_long and line and not line.endswith(b"\n") and unpacked <= limit:
                    line = f.readline(MAX_LINE_BYTES)
                    unpacked += len(line)
                    if path.suffix == ".gz" and unpacked - begun > MAX_PACKED_LINE_BYTES:
                        raise DataError(
                            f"{path}: line {number} alone unpacks to more than {MAX_PACKED_LINE_BYTES >> 20} MiB: "
                            "not a release file"
                        )
                if unpacked > limit:
                    raise DataError(
                        f"{path}: unpacks to more than {limit >> 20} MiB, {MAX_UNPACKED_RATIO} times its size: "
                        "not a release file"
                    )
                if too_long:
                    sink.reject(path, f"line {number}", f"longer than {MAX_LINE_BYTES >> 20} MiB")
                    continue
                if not line.strip():
                    continue
                try:
                    yield f"line {number}", json.loads(line.decode("utf-8-sig"))
                except UnicodeDecodeError as e:
                    sink.reject(path, f"line {number}", f"byte {e.start} of the line is not UTF-8")
                except (json.JSONDecodeError, RecursionError, ValueError) as e:
                    sink.reject(path, f"line {number}", f"not valid JSON: {str(e)[:120]}")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror or e}") from None
