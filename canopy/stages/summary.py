"""summary.json: what a stage did, inside its output, so that a cache hit can show it too."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from canopy.atomic import write_json
from canopy.stages.base import StageResult


def write_summary(folder: Path, result: StageResult) -> StageResult:
    """Write a stage's result into its output folder and hand it back."""
    write_json(folder / "summary.json", dataclasses.asdict(result))
    return result
