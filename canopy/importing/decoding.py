"""Bytes of text files to characters: byte-order marks, UTF-8, what the file declares, and last an informed guess."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import NamedTuple

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
# Signs that no Western text has between two letters: there the bytes are letters of another code page ("by³o" is
# Polish).
_WRONG_IN_WORD = re.compile(r"[^\W\d_][¢£¥ª±²³¶¹¼½¾¿][^\W\d_]")
_SAMPLE = 64 << 10
# WHATWG: what browsers read instead of an encoding that a page declares, by Python's names, and labels that Python
# lacks.
_AS_BROWSERS_READ = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
_MORE_LABELS = {
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-x-big5": "big5hkscs",
    "windows-949": "cp949",
    "x-euc-jp": "euc_jp",
    "x-mac-roman": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "dos-874": "cp874",
    "windows-874": "cp874",
    "koi": "koi8_r",
    "logical": "iso8859-8",
    "unicode": "utf-8",
    "unicode11utf8": "utf-8",
    "x-unicode20utf8": "utf-8",
}


class Encoding(NamedTuple):
    """How a file is decoded, and what is to be said about it if that is not plain."""

    name: str
    errors: str = "strict"
    note: str = ""


def find_encoding(path: Path, declared: str = "") -> Encoding:
    """The encoding of a text file. Reads the file in pieces.

    A byte-order mark decides; otherwise UTF-8 if all of the file is; otherwise what the file declares, if the bytes
    around the first that is not UTF-8 decode so; otherwise UTF-8 with replacement characters, if three characters that
    are UTF-8 stand there for each that is not (a damaged file); else charset-normalizer's guess from those bytes, where
    Windows-1252 wins a tie.

    Raises
    ------
    Unusable
        If no encoding fits: the file is no text.
    """
    with open(path, "rb") as f:
        head = f.read(4)
        for mark, name in _MARKS:
            if head.startswith(mark):
                return Encoding(name)
        f.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        start = 0
        sample = b""
        while not sample:
            chunk = f.read(1 << 20)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as e:
                # The error counts from the bytes that the decoder had kept back, at most three before this chunk.
                before = start + e.start - 3 - _SAMPLE // 4
                if before > 0:
                    f.seek(before)
                    f.readline(_SAMPLE // 8)  # so that the sample begins with a whole character if there are lines
                else:
                    f.seek(0)
                sample = f.read(_SAMPLE)
                break
            if "\x00" in text:
                f.seek(0)
                sample = f.read(_SAMPLE)
                break
            if not chunk:
                return Encoding("utf-8")
            start += len(chunk)
    label = _label(declared)
    if label and _decodes(sample, label):
        return Encoding(label)
    decoded = sample.decode("utf-8", "replace")
    bad = decoded.count("\ufffd")
    if "\x00" not in decoded and sum(c > "\x7f" for c in decoded) - bad >= 3 * bad:
        return Encoding("utf-8", "replace", "damaged: bytes that are not UTF-8 stand as \ufffd")
    guess = _guess(sample)
    return Encoding(guess, "strict", f"no UTF-8: read as {guess}, which is a guess")


def _label(declared: str) -> str:
    """Python's name of a declared encoding, as browsers read it (WHATWG's Encoding Standard); empty if there is none.

    Pages say ISO-8859-1 and mean Windows-1252; a page that could be asked in ASCII is not UTF-16.
    """
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        return _MORE_LABELS.get(declared.strip().lower(), "")
    return "utf-8" if name.startswith("utf-16") else _AS_BROWSERS_READ.get(name, name)


def _decodes(sample: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample)
    except (LookupError, UnicodeError, ValueError, AttributeError):
        return False
    return True


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    matches = list(from_bytes(sample, cp_isolation=_PAGES))
    if not matches:
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
    return text
