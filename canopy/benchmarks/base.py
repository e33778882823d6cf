"""What every benchmark adapter shares: reading release files safely, and one place where each record's fate is counted.

An adapter is a module of this package with ``read(raw, sink)`` and ``RELEASE`` (its files, their origin and licence).
Adding a benchmark is a new module and a test; nothing else knows its name.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import importlib
import json
import os
import re
import sys
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from canopy.errors import DataError
from canopy.items import Annotation, Item, Question

MAX_JSON_BYTES = 16 << 30
MAX_LINE_BYTES = 64 << 20
# A .gz that unpacks to more than this, and to more than two hundred times its size, is a bomb (text packs five- to twentyfold).
MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO = 1 << 30, 200
MAX_PACKED_LINE_BYTES = 512 << 20
_STRUCTURE = (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError, OverflowError, OSError)


class Unusable(Exception):
    """This record cannot be used; its message is the reason in the quarantine file."""


class Waiting(Exception):
    """This record is sound but needs a document that is not there; counted apart, outside the quarantine limit."""


@dataclass(slots=True)
class Draft:
    """What one record gives; nothing of it is kept unless the record succeeds as a whole."""

    items: list[Item] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Origin:
    """The record that a question, image or video came from, and how it is counted: ``mapped``, ``fallback``, ``waiting`` or ``quarantined``."""

    file: str
    record: str
    outcome: str
    fallbacks: tuple[str, ...] = ()


class Sink:
    """Collects items, questions and annotations; counts every record read as mapped, fallback, waiting or quarantined."""

    def __init__(self, benchmark: str, out: Path) -> None:
        self.benchmark, self.out = benchmark, out
        self.items: dict[str, Item] = {}
        self.questions: dict[str, Question] = {}
        self.annotations: list[Annotation] = []
        self.quarantine: list[dict[str, str]] = []
        self.counts: Counter[str] = Counter()
        self.read_from: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.waiting: list[dict[str, str]] = []
        self.notes: list[str] = []
        # Of questions, images and videos: a medium that turns out to be broken takes what needs it out again (canopy.benchmarks.withdrawal).
        self.question_origins: dict[str, Origin] = {}
        self.item_origins: dict[str, Origin] = {}
        # An adapter that knows what its media show sets this: nothing is read off them.
        self.words_given = False

    @contextmanager
    def record(self, file: Path | str, record: str) -> Iterator[Draft]:
        """Handle one record of a file. Any structural surprise inside puts it into quarantine, with where and why."""
        draft, name = Draft(), Path(file).name
        self.counts["read"] += 1
        self.read_from[name] += 1
        try:
            yield draft
            self._keep(draft)
        except Waiting as e:
            kept = Draft(items=draft.items)  # the documents that did come are still there to be found
            self._keep(kept)
            self._remember(kept, Origin(name, record, "waiting"))
            self.counts["waiting"] += 1
            self.waiting.append({"file": name, "record": record, "reason": str(e)})
        except Unusable as e:
            self._reject(name, record, str(e))
        except _STRUCTURE as e:
            self._reject(name, record, f"not in the expected structure: {type(e).__name__}: {str(e)[:200]}")
        else:
            self.counts["fallback" if draft.fallbacks else "mapped"] += 1
            self.fallbacks.update(dict.fromkeys(draft.fallbacks, 1))  # records, not mentions
            self._remember(draft, Origin(name, record, "fallback" if draft.fallbacks else "mapped", tuple(dict.fromkeys(draft.fallbacks))))

    def _remember(self, draft: Draft, origin: Origin) -> None:
        self.question_origins.update((q.id, origin) for q in draft.questions)
        for i in draft.items:
            if i.modality in ("image", "video"):
                self.item_origins.setdefault(i.id, origin)

    def _reject(self, file: str, record: str, reason: str) -> None:
        self.counts["quarantined"] += 1
        self.quarantine.append({"file": file, "record": record, "reason": reason})

    def reject(self, file: Path | str, record: str, reason: str) -> None:
        """Quarantine a record that could not even be parsed."""
        self.counts["read"] += 1
        self.read_from[Path(file).name] += 1
        self._reject(Path(file).name, record, reason)

    def _keep(self, draft: Draft) -> None:
        for q in draft.questions:
            if q.id in self.questions:
                raise Unusable(f"duplicate question id {q.id!r}; the first one read is kept")
            _encodable(q)
        for i in draft.items:
            held = self.items.get(i.id)
            if held is None:
                _encodable(i)
            if held is not None and held.content_digest() != i.content_digest():
                raise Unusable(f"duplicate item id {i.id!r} with other content; the first one read is kept")
        known = {i.id for i in draft.items}
        for a in draft.annotations:
            if a.item_id not in known and a.item_id not in self.items:
                raise Unusable(f"gold names item {a.item_id!r}, which is not in the data")
        for i in draft.items:
            self.items.setdefault(i.id, i)
        self.questions.update((q.id, q) for q in draft.questions)
        self.annotations.extend(draft.annotations)


def _encodable(value: Any) -> None:
    """Refuse a string, item or question that holds what UTF-8 cannot."""
    try:
        (value if isinstance(value, str) else repr(value) + json.dumps(dataclasses.astuple(value), ensure_ascii=False)).encode("utf-8")
    except UnicodeEncodeError:
        raise Unusable("a lone surrogate in the text: it cannot be written as UTF-8") from None


class Adapter(Protocol):
    """A module of ``canopy.benchmarks``."""

    def read(self, raw: Path, sink: Sink) -> None:
        """Read the raw files under ``raw`` into the sink. Raises DataError where a whole file is missing or broken."""
        ...


def adapter_names() -> list[str]:
    """The adapters there are: modules of this package that define or import ``read``."""
    return sorted(p.stem for p in Path(__file__).parent.glob("[a-z]*.py")
                  if re.search(r"^def read\(|^from \S+ import .*\bread\b", p.read_text("utf-8"), re.M))


def adapter_for(name: str) -> str | None:
    """The adapter that reads a benchmark known by this name (its module's, its folder's or an alias); None where there is none."""
    wanted = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    names = adapter_names()
    if wanted in names:
        return wanted
    known = {re.sub(r"[^a-z0-9]+", "_", alias.lower()): n for n in names
             for alias in getattr(getattr(load_adapter(n), "RELEASE", None), "aliases", ())}
    return known.get(wanted)


def load_adapter(name: str) -> Adapter:
    """The adapter module ``canopy.benchmarks.<name>``; DataError with the names there are, where it does not exist."""
    here = adapter_names()
    if name not in here:
        raise DataError(f"params.yaml: benchmarks: no adapter {name!r}; there are {', '.join(here)}")
    return importlib.import_module(f"canopy.benchmarks.{name}")


def require_file(raw: Path, *names: str) -> Path:
    """The first of the named files that exists; DataError naming all of them where none does."""
    for n in names:
        if (raw / n).is_file():
            return raw / n
    raise DataError(f"{raw}: none of {', '.join(names)} is there")


def load_json(path: Path) -> Any:
    """A whole JSON file. DataError names the file and the place where it is cut, not UTF-8, or nested too deeply."""
    try:
        with open(path, "rb") as f:
            if os.fstat(f.fileno()).st_size > MAX_JSON_BYTES:
                raise DataError(f"{path}: larger than {MAX_JSON_BYTES >> 30} GiB: not a release file that can be read whole")
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

    Reads line by line in bounded memory; a line over 64 MiB is quarantined, not loaded. DataError where a .gz is damaged.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as f:
            number = 0
            unpacked, limit = 0, max(MAX_UNPACKED_BYTES, path.stat().st_size * MAX_UNPACKED_RATIO) if path.suffix == ".gz" else sys.maxsize
            while True:
                number += 1
                try:
                    line = f.readline(MAX_LINE_BYTES + 1)
                except (EOFError, zlib.error, gzip.BadGzipFile) as e:
                    raise DataError(f"{path}: the compressed file is damaged after line {number - 1}: {e}; download it again") from None
                if not line:
                    return
                unpacked += len(line)
                too_long = len(line) > MAX_LINE_BYTES
                begun = unpacked
                while too_long and line and not line.endswith(b"\n") and unpacked <= limit:
                    line = f.readline(MAX_LINE_BYTES)
                    unpacked += len(line)
                    if path.suffix == ".gz" and unpacked - begun > MAX_PACKED_LINE_BYTES:
                        raise DataError(f"{path}: line {number} alone unpacks to more than {MAX_PACKED_LINE_BYTES >> 20} MiB: not a release file")
                if unpacked > limit:
                    raise DataError(f"{path}: unpacks to more than {limit >> 20} MiB, {MAX_UNPACKED_RATIO} times its size: not a release file")
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


def text_of(value: Any, what: str, *, empty: bool = False) -> str:
    """A string field; Unusable where it is something else, or empty when it must not be."""
    if not isinstance(value, str):
        raise Unusable(f"{what} must be a string, not {type(value).__name__}")
    if not empty and not value.strip():
        raise Unusable(f"{what} is empty")
    if "\x00" in value:
        raise Unusable(f"{what} holds a NUL character")
    _encodable(value)
    return value


def item_id(benchmark: str, name: str, *content: str) -> str:
    """A stable, readable id: benchmark, a slug of the name, and a digest of name and content."""
    flat = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", flat).strip("-")[:40] or "item"
    digest = hashlib.sha256("\x1f".join((name, *content)).encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{benchmark}/{slug}-{digest}"


def occurrences(needle: str, text: str) -> list[tuple[int, int]]:
    """Character spans of ``needle`` in ``text``: exact, else ignoring case, else ignoring white space too; whole words only."""
    words = needle.split()
    if not words:
        return []
    edge_a, edge_b = (r"(?<!\w)" if words[0][0].isalnum() else ""), (r"(?!\w)" if words[-1][-1].isalnum() else "")
    loose = r"\s*".join(re.escape(w) for w in words)
    for pattern, flags in ((re.escape(needle.strip()), 0), (re.escape(needle.strip()), re.IGNORECASE), (loose, re.IGNORECASE)):
        found = [m.span() for m in re.finditer(edge_a + pattern + edge_b, text, flags)]
        if found:
            return found
    return []
