"""Bytes of text files to characters: byte-order marks, UTF-8, what the file declares, and last an informed guess."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import BinaryIO, NamedTuple

from canopy.importing.blocks import CONTROLS
from canopy.importing.encoding_labels import PAIRS, SEVEN_BITS, label_name
from canopy.ingest.sink import Unusable

MAX_TEXT_BYTES = 64 << 20
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
          (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# What documents are written in when not in UTF-8; among all of Python's code pages the detector takes rare ones for
# common ones.
_PAGES = [
    "cp1252",
    "cp1250",
    "cp1251",
    "koi8_r",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "cp949",
    "utf_16_le",
    "utf_16_be",
]
_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0e-\x1a\x1c-\x1f]")
# Signs that no Western text has between two letters: there the bytes are letters of another code page ("by³o" is
# Polish).
_WRONG_IN_WORD = re.compile(r"[^\W\d_][¢£¥ª±²³¶¹¼½¾¿][^\W\d_]")
_SAMPLE = 64 << 10
_CONTROLS = {code: sign for code, sign in CONTROLS.items() if sign}  # one for one: places in the text stay
# So many letters may be UTF-8 by chance.
_FEW = 8


class Encoding(NamedTuple):
    """How a file is decoded, and what is to be said about it if that is not plain."""

    name: str
    errors: str = "strict"
    note: str = ""


def find_encoding(path: Path, declared: str = "") -> Encoding:
    """The encoding of a text file. Reads the file in pieces.

    A byte-order mark decides; otherwise UTF-8 if all of the file is; otherwise what the file declares (a label by the
    rules of browsers), if the bytes around the first that is not UTF-8 decode so; otherwise UTF-8 if three characters
    that are UTF-8 stand there for each that is not (a damaged file); else charset-normalizer's guess from those bytes,
    where Windows-1252 wins a tie. Bytes that cannot be read stand as replacement characters, and the note names the
    first one's line.

    Raises
    ------
    Unusable
        If no encoding fits: the file is no text.
    """
    with open(path, "rb") as f:
        head = f.read(4)
        mark = next((name for mark, name in _MARKS if head.startswith(mark)), "")
        if not mark:
            f.seek(0)
            sample, is_utf8 = _odd_sample(f)
    if mark:
        return _with_faults(path, mark)
    label = label_name(declared)
    if is_utf8:
        name, note = _plain_encoding(sample, label)
        return _with_faults(path, name, note) if name != "utf-8" else Encoding(name, "strict", note)
    if label and label != "utf-8" and _fits(sample, label):
        return _with_faults(path, label)
    if _has_stray_nuls(sample):
        return _with_faults(path, "utf-8", "NUL bytes in it are left out")
    decoded = sample.decode("utf-8", "replace")
    bad = decoded.count("\ufffd")
    if "\x00" not in decoded and sum(c > "\x7f" for c in decoded) - bad >= 3 * bad:
        return _with_faults(path, "utf-8")
    guess = _guess(sample)
    return _with_faults(path, guess, f"no UTF-8: read as {guess}, which is a guess")


def _odd_sample(file: BinaryIO) -> tuple[bytes, bool]:
    """The bytes around the first that is not UTF-8, or is NUL; if there is none, around the first that is not ASCII,
    and True."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    start = 0
    plain = b""
    while True:
        chunk = file.read(1 << 20)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as e:
            # The error counts from the bytes that the decoder had kept back, at most three before this chunk.
            before = start + e.start - 3 - _SAMPLE // 4
            if before > 0:
                file.seek(before)
                file.readline(_SAMPLE // 8)  # so that the sample begins with a whole character if there are lines
            else:
                file.seek(0)
            return file.read(_SAMPLE), False
        if "\x00" in text:
            file.seek(0)
            return file.read(_SAMPLE), False
        if not plain and (not text.isascii() or any(mark in chunk for mark in SEVEN_BITS.values())):
            plain = chunk
        if not chunk:
            return plain, True
        start += len(chunk)


def _plain_encoding(sample: bytes, label: str) -> tuple[str, str]:
    """The encoding of a file that is UTF-8 as a whole, and a note if it declares another one.

    ASCII with marks is what it declares to be. A few pairs of bytes are, by chance, both UTF-8 and East Asian letters.
    """
    if label in SEVEN_BITS and SEVEN_BITS[label] in sample and _fits(sample, label):
        return label, ""
    letters = [c for c in sample.decode("utf-8", "ignore") if c > "\x7f"]
    if label in ("", "utf-8") or not letters:
        return "utf-8", ""
    if label in PAIRS and len(letters) <= _FEW and max(letters) < "\u0800" and _fits(sample, label):
        read = [c for c in sample.decode(label, "replace") if c > "\x7f"]
        if min(read) >= "\u1100":
            return label, ""
    return "utf-8", f"declares {label}, but all of it is UTF-8: read as UTF-8"


def _fits(sample: bytes, encoding: str) -> bool:
    """Whether bytes are text in an encoding, but for a few that are damaged."""
    bad = codecs.getincrementaldecoder(encoding)("replace").decode(sample).count("\ufffd")
    return bad * 20 <= sum(b > 0x7F for b in sample)


def _with_faults(path: Path, name: str, note: str = "") -> Encoding:
    """An encoding with a note on the bytes of a file that it cannot read. Unusable if they are many."""
    decoder = codecs.getincrementaldecoder(name)("replace")
    bad = size = line = lines = 0
    with open(path, "rb") as f:
        while chunk := f.read(1 << 20):
            text = decoder.decode(chunk)
            if not bad and "\ufffd" in text:
                line = lines + text.count("\n", 0, text.index("\ufffd")) + 1
            bad, size, lines = bad + text.count("\ufffd"), size + len(text), lines + text.count("\n")
    # A character whose last bytes are missing.
    if end := decoder.decode(b"", True):
        line = line or lines + 1
        bad, size = bad + end.count("\ufffd"), size + len(end)
    if not bad:
        return Encoding(name, "strict", note)
    if bad * 10 > size + 10:
        raise Unusable(f"no text: it looks like {name}, but {bad:,} characters of it are not")
    places = f"damaged: {bad:,} characters that are not {name} stand as \ufffd, the first in line {line}"
    return Encoding(name, "replace", f"{note}; {places}" if note else places)


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    if order := _byte_order(sample):
        return order
    matches = list(from_bytes(sample, cp_isolation=_PAGES))
    if not matches:
        # Mostly ASCII with a few odd bytes is a damaged text.
        if b"\x00" not in sample and sum(b > 0x7F for b in sample) * 10 <= len(sample):
            return "cp1252"
        raise Unusable("no text: the bytes fit no encoding that documents are written in")
    wrong = _WRONG_IN_WORD.search(sample.decode("cp1252", "replace"))
    tied = {
        e
        for m in matches
        if (m.chaos, m.coherence) == (matches[0].chaos, matches[0].coherence)
        for e in m.could_be_from_charset
    }
    encoding = "cp1252" if "cp1252" in tied and not wrong else next(
        (m.encoding for m in matches if m.encoding != "cp1252" or not wrong), "cp1252")
    if b"\x00" in sample and not encoding.startswith("utf_16"):
        raise Unusable("no text: it holds NUL bytes")
    return encoding


def _has_stray_nuls(sample: bytes) -> bool:
    """Whether bytes are UTF-8 with a few NUL bytes, and no other control characters, in it."""
    nuls = sample.count(0)
    return 0 < nuls * 100 <= len(sample) and not _CONTROL.search(sample) and _fits(sample, "utf-8")


def _byte_order(sample: bytes) -> str:
    """UTF-16 without its mark, if every second byte of most Western letters is NUL; empty otherwise."""
    pairs = len(sample) // 2
    first, second = sample[:2 * pairs:2].count(0), sample[1:2 * pairs:2].count(0)
    for name, many, few in (("utf_16_le", second, first), ("utf_16_be", first, second)):
        if many * 2 > pairs and not few and "\ufffd" not in sample[:2 * pairs].decode(name, "replace"):
            return name
    return ""


def decode_bytes(data: bytes, notes: list[str]) -> str:
    """A text that is a part of another file: UTF-8 or UTF-16 with its mark, otherwise Windows-1252, with a note."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        notes.append("a part of it is no UTF-8: read as cp1252, which is a guess")
        return data.decode("cp1252", "replace")


def read_text(path: Path, notes: list[str], declared: str = "") -> str:
    """A whole text file; a note if its encoding is not plain. Unusable if it is no text or over 64 MiB."""
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise Unusable(f"larger than {MAX_TEXT_BYTES >> 20} MiB: split it")
    encoding = find_encoding(path, declared)
    try:
        text = path.read_bytes().decode(encoding.name, encoding.errors)
    except (UnicodeDecodeError, LookupError) as e:
        raise Unusable(f"looks like {encoding.name}, but not all of it is: {str(e)[:120]}") from None
    if encoding.note:
        notes.append(encoding.note)
    return text.translate(_CONTROLS)
