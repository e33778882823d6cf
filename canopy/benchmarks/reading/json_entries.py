"""Entries of one huge JSON object, one at a time: OTT-QA's corpora are single objects of several gigabytes.

The values are parsed by ``json``, so that they are what `canopy.ingest.files.load_json` gives. ijson is not used here.
Its C parser writes "?" for a lone surrogate, so that a damaged text would pass as sound. Its ``kvitems`` keeps the path
of every level: a file of 200,000 opening brackets (200 KB) took all memory of the machine.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from canopy.errors import DataError

CHUNK_BYTES = 4 << 20
MAX_ENTRY_CHARS = 64 << 20


def iterate_object(path: Path, advance: Callable[[int], None] = lambda n: None) -> Iterator[tuple[str, Any]]:
    """Keys and values of a file that is one JSON object, in file order; a repeated key comes twice.

    Holds one entry and one chunk of the file in memory, whatever the file's size.

    Parameters
    ----------
    advance : callable
        It is called with the number of bytes of each chunk after it was read.

    Raises
    ------
    DataError
        If the file is missing, cut, not UTF-8, not one JSON object, or has an entry of more than 64 Mi characters;
        earlier entries have been given by then.
    """
    try:
        with open(path, "rb") as file:
            yield from _Reader(path, file, advance).entries()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror or e}") from None


class _Reader:
    """A window of decoded text that moves over the file."""

    def __init__(self, path: Path, file: BinaryIO, advance: Callable[[int], None]) -> None:
        self.path, self.file, self.advance = path, file, advance
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.scan = json.JSONDecoder().raw_decode
        self.text, self.at, self.ended, self.bytes = "", 0, False, 0

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Keys and values in file order; DataError at the first place that is not one JSON object's."""
        self._expect("{", "one JSON object is expected, {key: value, ...}")
        if self._peek() != "}":
            while True:
                key = self._value()
                if not isinstance(key, str):
                    raise self._broken("a key must be a string")
                self._expect(":", "a colon is missing after a key")
                yield key, self._value()
                if self._peek() != ",":
                    break
                self.at += 1
        self._expect("}", "a comma or the closing brace is missing")
        if self._peek():
            raise self._broken("there is more after the closing brace")

    def _broken(self, why: str) -> DataError:
        return DataError(f"{self.path}: not valid JSON before byte {self.bytes}: {why}")

    def _more(self) -> None:
        chunk = self.file.read(CHUNK_BYTES)
        self.ended = not chunk
        try:
            self.text, self.at = self.text[self.at:] + self.decoder.decode(chunk, final=self.ended), 0
        except UnicodeDecodeError:
            raise DataError(f"{self.path}: not UTF-8 between bytes {self.bytes} and {self.bytes + len(chunk)}; "
                            "download it again") from None
        self.bytes += len(chunk)
        self.advance(len(chunk))

    def _peek(self) -> str:
        """The next character that is not white space, "" at the end of the file."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
                self.at += 1
            if self.at < len(self.text) or self.ended:
                return self.text[self.at:self.at + 1]
            self._more()

    def _expect(self, mark: str, why: str) -> None:
        mark_there = self._peek()
        if mark_there != mark:
            raise self._broken(why if mark_there else "the file ends there: truncated download?")
        self.at += 1

    def _value(self) -> Any:
        """The next value.

        It is read again with more text if the text ends inside it, or right after it, since a number may go on.
        """
        self._peek()
        while True:
            try:
                value, end = self.scan(self.text, self.at)
                if end < len(self.text) or self.ended:
                    self.at = end
                    return value
            except json.JSONDecodeError as e:
                if self.ended:
                    cut = e.pos >= len(self.text.rstrip()) - 1 or e.msg.startswith("Unterminated string")
                    raise self._broken(e.msg + " (the file ends there: truncated download?)" * cut) from None
            except (RecursionError, ValueError) as e:
                raise self._broken(f"an entry cannot be parsed: {str(e)[:80]}") from None
            if len(self.text) - self.at > MAX_ENTRY_CHARS:
                raise self._broken(f"an entry is broken or longer than {MAX_ENTRY_CHARS >> 20} Mi characters")
            self._more()
