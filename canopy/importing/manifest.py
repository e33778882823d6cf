"""What an import left in its target.

Of each file its digest and its part of items.jsonl, so that the next import reads less.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

from canopy.digests import file_sha256
from canopy.errors import DataError

MANIFEST = "import.json"
# Raised whenever other items come out of the same files.
RULES = 4
_LIBRARIES = (
    "beautifulsoup4",
    "charset-normalizer",
    "lxml",
    "markdown-it-py",
    "openpyxl",
    "pdfplumber",
    "pdfminer.six",
    "pypdfium2",
    "pysubs2",
    "python-docx",
    "sentencex",
    "av",
    "pillow",
)
_OURS = frozenset({"items.jsonl", "questions.jsonl", "quarantine.jsonl", MANIFEST, "media"})


class FileEntry(TypedDict, total=False):
    """What an import notes of one file.

    ``at`` is where its lines begin in items.jsonl, and how many bytes they take.
    """

    fingerprint: str
    at: list[int]
    notes: list[str]
    captions: dict[str, str]
    media: list[str]


def made_by() -> dict[str, int | str]:
    """What the items of a file depend on besides the file: our rules and the libraries that read it."""
    versions: dict[str, int | str] = {}
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = ""
    return {"rules": RULES, **versions}


@dataclass(slots=True)
class Earlier:
    """What is in the target already: nothing, or an import of ours, whose files' items can be taken over."""

    target: Path
    manifest: Mapping[str, Any]

    @classmethod
    def look(cls, source: Path, target: Path) -> Earlier:
        """Refuse a target whose replacement would lose something.

        Raises
        ------
        DataError
            If the target is or holds the source, is no folder of an earlier import, or was edited since.
        """
        if source.resolve() == target or source.resolve().is_relative_to(target):
            other = source.parent / f"{source.name}-canopy"
            raise DataError(
                f"{target}: the target is made anew and must not be or hold the source; name another folder, "
                f"such as {other}"
            )
        if target.exists() and not target.is_dir():
            raise DataError(f"{target}: not a folder")
        names = {p.name for p in target.iterdir()} if target.exists() else set()
        if not names:
            return cls(target, {})
        try:
            manifest = json.loads((target / MANIFEST).read_text("utf-8"))
            whole = manifest["items_sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            raise DataError(
                f"{target}: not empty, and not made by `canopy import` (no {MANIFEST}): name an empty or a new folder"
            ) from None
        strange = sorted(names - _OURS)
        if strange:
            raise DataError(
                f"{target}: holds {', '.join(strange[:3])}, which `canopy import` did not make and would remove; "
                "move it away"
            )
        if not (target / "items.jsonl").is_file() or file_sha256(target / "items.jsonl") != whole:
            raise DataError(
                f"{target / 'items.jsonl'}: edited since it was imported; a new import would lose that: name "
                "another target"
            )
        return cls(target, manifest)

    @property
    def questions_sha256(self) -> str:
        """SHA-256 of the last questions.jsonl that an import made; empty if there is none."""
        return str(self.manifest.get("questions_sha256") or "")

    def edited_questions(self) -> bool:
        """Whether a questions.jsonl is there that no import made."""
        path = self.target / "questions.jsonl"
        return path.is_file() and file_sha256(path) != self.questions_sha256

    def entry(self, name: str, fingerprint: str, made_by: Mapping[str, int | str]) -> FileEntry | None:
        """What an earlier import noted of a file; None if the file, or what reads it, has changed since."""
        if self.manifest.get("made_by") != made_by:
            return None
        entry = self.manifest.get("files", {}).get(name)
        if not isinstance(entry, dict) or entry.get("fingerprint") != fingerprint or "at" not in entry:
            return None
        return cast(FileEntry, entry)

    def lines(self, entry: FileEntry) -> Iterator[bytes]:
        """The lines of items.jsonl that a file gave."""
        with open(self.target / "items.jsonl", "rb") as f:
            f.seek(entry["at"][0])
            left = entry["at"][1]
            while left > 0 and (line := f.readline()):
                left -= len(line)
                yield line
