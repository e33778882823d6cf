"""The files of folders by the folder's hash, so that a change can be named by its file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from orchestration.pipeline.lineage import Snapshot


def remember_listings(workspace: Path, snapshot: Snapshot) -> None:
    """Keep the files of the folders a stage read, by the folder's hash. dvc.lock has that hash alone."""
    folder = workspace / ".canopy" / "listings"
    folder.mkdir(parents=True, exist_ok=True)
    for path, files in snapshot.files.items():
        target = folder / f"{snapshot.paths[path]}.json"
        if not target.exists():
            beside = target.with_suffix(f".{os.getpid()}")
            beside.write_text(json.dumps(files), encoding="utf-8")
            os.replace(beside, target)


def recall_listings(workspace: Path, snapshot: Snapshot | None) -> dict[str, dict[str, str]]:
    """The listings that ``remember_listings`` kept for the folders of a snapshot, by hash."""
    folder = workspace / ".canopy" / "listings"
    hashes = {h for h in snapshot.paths.values() if h} if snapshot else set()
    return {h: json.loads(f.read_text(encoding="utf-8")) for h in hashes if (f := folder / f"{h}.json").exists()}
