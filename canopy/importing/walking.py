"""Which files of a folder are looked at, and what an earlier import left in the target."""

from __future__ import annotations

import importlib.metadata
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canopy.digests import file_sha256
from canopy.errors import DataError

MANIFEST = "import.json"
# Raised whenever other items come out of the same files.
RULES = 2
_LIBRARIES = ("beautifulsoup4", "charset-normalizer", "lxml", "markdown-it-py", "openpyxl", "pdfplumber", "pdfminer.six", "pypdfium2",
              "pysubs2", "python-docx", "sentencex", "av", "pillow")
_OURS = frozenset({"items.jsonl", "questions.jsonl", "quarantine.jsonl", MANIFEST, "media"})
_JUNK = frozenset({"thumbs.db", "desktop.ini", "__macosx"})


@dataclass(slots=True)
class Listing:
    """A folder's files by relative path, those that are not looked at with the reason, and how many hidden names there are."""

    files: dict[str, Path] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    hidden: int = 0


def list_folder(source: Path, target: Path) -> Listing:
    """Everything below a folder, sorted; hidden names and the target itself are left out.

    Links to files inside the folder count as files; links that lead out of it, links to folders and what is no regular file (pipes,
    devices) are skipped with the reason.
    """
    found, base = Listing(), source.resolve()

    def unreadable(error: OSError) -> None:
        found.broken[os.path.relpath(error.filename, source)] = f"the folder cannot be read: {error.strerror}"

    for folder, folders, names in os.walk(source, onerror=unreadable):
        here = Path(folder)
        kept = []
        for name in sorted(folders):
            if _hidden(name):
                found.hidden += 1
            elif (here / name).is_symlink():
                found.skipped[_relative(here / name, source)] = "a link to a folder"
            elif (here / name).resolve() != target:
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            path = here / name
            relative = _relative(path, source)
            if _hidden(name):
                found.hidden += 1
                continue
            try:
                relative.encode("utf-8")
                real = path.resolve(strict=True)
                mode = real.stat().st_mode
            except UnicodeEncodeError:
                found.broken[relative.encode("utf-8", "replace").decode()] = "its name is not UTF-8: rename it"
            except (OSError, RuntimeError) as e:
                found.broken[relative] = f"cannot be read: {getattr(e, 'strerror', None) or 'a link in circles'}"
            else:
                if not real.is_relative_to(base):
                    found.skipped[relative] = "a link out of the folder"
                elif not stat.S_ISREG(mode):
                    found.skipped[relative] = "no regular file"
                else:
                    found.files[relative] = real
    return found


def _hidden(name: str) -> bool:
    return name.startswith((".", "~$")) or name.lower() in _JUNK


def _relative(path: Path, source: Path) -> str:
    return path.relative_to(source).as_posix()


def made_by() -> dict[str, Any]:
    """What the items of a file depend on besides the file: our rules and the libraries that read it."""
    versions = {}
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
            Where the target is or holds the source, is no folder of an earlier import, or was edited since.
        """
        if source.resolve() == target or source.resolve().is_relative_to(target):
            raise DataError(f"{target}: the target is made anew and must not be or hold the source; name another folder, such as {source.parent / (source.name + '-canopy')}")
        if target.exists() and not target.is_dir():
            raise DataError(f"{target}: not a folder")
        names = {p.name for p in target.iterdir()} if target.exists() else set()
        if not names:
            return cls(target, {})
        try:
            manifest = json.loads((target / MANIFEST).read_text("utf-8"))
            whole = manifest["items_sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            raise DataError(f"{target}: not empty, and not made by `canopy import` (no {MANIFEST}): name an empty or a new folder") from None
        strange = sorted(names - _OURS)
        if strange:
            raise DataError(f"{target}: holds {', '.join(strange[:3])}, which `canopy import` did not make and would remove; move it away")
        if not (target / "items.jsonl").is_file() or file_sha256(target / "items.jsonl") != whole:
            raise DataError(f"{target / 'items.jsonl'}: edited since it was imported; a new import would lose that: name another target")
        return cls(target, manifest)

    def edited_questions(self) -> bool:
        """Whether a questions.jsonl is there that no import made."""
        path = self.target / "questions.jsonl"
        return path.is_file() and file_sha256(path) != self.manifest.get("questions_sha256")

    def entry(self, name: str, fingerprint: str, by: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What an earlier import noted of a file, where neither the file nor what reads it has changed since."""
        if self.manifest.get("made_by") != by:
            return None
        entry = self.manifest.get("files", {}).get(name)
        return entry if isinstance(entry, dict) and entry.get("fingerprint") == fingerprint and "at" in entry else None

    def lines(self, entry: Mapping[str, Any]) -> Iterator[bytes]:
        """The lines of items.jsonl that a file gave."""
        with open(self.target / "items.jsonl", "rb") as f:
            f.seek(entry["at"][0])
            left = entry["at"][1]
            while left > 0 and (line := f.readline()):
                left -= len(line)
                yield line
