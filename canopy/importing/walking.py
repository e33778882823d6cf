"""Which files of a folder are imported."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

_JUNK = frozenset({"thumbs.db", "desktop.ini", "__macosx"})


@dataclass(slots=True)
class Listing:
    """A folder's files by relative path, those that are not looked at with the reason, and how many hidden names
    there are."""

    files: dict[str, Path] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    hidden: int = 0


def list_folder(source: Path, target: Path) -> Listing:
    """Everything below a folder, sorted; hidden names and the target itself are left out.

    Folders that an import made are skipped, so that a corpus beside its documents is no document.

    Links to files inside the folder count as files; links that lead out of it, links to folders and what is no regular
    file (pipes, devices) are skipped with the reason.
    """
    listing, base = Listing(), source.resolve()

    def unreadable(error: OSError) -> None:
        listing.broken[os.path.relpath(error.filename, source)] = f"the folder cannot be read: {error.strerror}"

    for folder, folders, names in os.walk(source, onerror=unreadable):
        here = Path(folder)
        kept = []
        for name in sorted(folders):
            if _hidden(name):
                listing.hidden += 1
            elif (here / name).is_symlink():
                listing.skipped[_relative(here / name, source)] = "a link to a folder"
            elif (here / name).resolve() == target:
                continue
            elif (here / name / "import.json").is_file() and (here / name / "items.jsonl").is_file():
                listing.skipped[_relative(here / name, source)] = "made by `canopy import`"
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            path = here / name
            relative = _relative(path, source)
            if _hidden(name):
                listing.hidden += 1
                continue
            try:
                relative.encode("utf-8")
                real = path.resolve(strict=True)
                mode = real.stat().st_mode
            except UnicodeEncodeError:
                listing.broken[relative.encode("utf-8", "replace").decode()] = "its name is not UTF-8: rename it"
            except (OSError, RuntimeError) as e:
                listing.broken[relative] = f"cannot be read: {getattr(e, 'strerror', None) or 'a link in circles'}"
            else:
                if not real.is_relative_to(base):
                    listing.skipped[relative] = "a link out of the folder"
                elif not stat.S_ISREG(mode):
                    listing.skipped[relative] = "no regular file"
                else:
                    listing.files[relative] = real
    return listing


def _hidden(name: str) -> bool:
    return name.startswith((".", "~$")) or name.lower() in _JUNK


def _relative(path: Path, source: Path) -> str:
    return path.relative_to(source).as_posix()
