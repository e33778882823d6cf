"""What a stage's module declares about itself; dvc.yaml declares its command, inputs, parameters and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the pipeline: ``STAGE = Stage(...)`` in the module that holds its ``run``.

    name : the module's name, which is also the stage's in dvc.yaml and the name of its output folder under ``data/``.
    per_benchmark : whether it runs once for each benchmark, into ``data/<name>/<benchmark>``.
    group : the group of its asset.
    kinds : what its output is made of, as the asset shows it (``parquet``, ``pytorch``).
    reads : suites of `canopy.validation.rules` that its inputs must meet when it starts, with the tables of each. Its
    own suite is among them if that is about how the tables that it reads fit together.
    """

    name: str
    per_benchmark: bool
    group: str
    kinds: tuple[str, ...]
    reads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
