"""One file under a second name: a hard link if the file system allows it, otherwise a copy.

Stages replace files and never write into one in place, so a linked file changes under neither name.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name; folders above the target are made, and a link that is there already stays.

    A symbolic link is followed: the target is the file itself.

    Raises
    ------
    OSError
        If the file can be neither linked nor copied.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        if not (target.exists() and target.samefile(source)):
            shutil.copy2(source, target)


def link_or_copy_tree(source: Path, target: Path) -> None:
    """Give every file of a folder a second name below another folder, which may be there already."""
    for path in sorted(source.rglob("*")):
        if path.is_file():
            link_or_copy(path, target / path.relative_to(source))
