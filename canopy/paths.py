"""Where things lie in a workspace: outputs, raw data, media, resumable work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from canopy.config import Config


@dataclass(frozen=True, slots=True)
class Paths:
    """Where things lie in a workspace (the folder that holds dvc.yaml and params.yaml)."""

    root: Path

    def output(self, stage: str, benchmark: str | None = None) -> Path:
        """The output folder of a stage: ``data/<stage>`` or ``data/<stage>/<benchmark>``."""
        base = self.root / "data" / stage
        return base / benchmark if benchmark else base

    def raw(self, config: Config, benchmark: str) -> Path:
        """The folder with a benchmark's raw files (relative paths count from the workspace)."""
        return self.root / config.benchmarks[benchmark].path

    def media(self, config: Config) -> dict[str, tuple[Path, Path]]:
        """Benchmark -> the folders that its items' media paths count from: its raw files, and its stage's output."""
        return {b: (self.raw(config, b), self.output("benchmark", b)) for b in config.benchmarks}

    def work(self, stage: str) -> Path:
        """Resumable work of a stage, outside every output (checkpoints)."""
        return self.root / ".canopy" / "work" / stage
