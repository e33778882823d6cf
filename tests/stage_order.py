"""The stages in the order of the graph, for tests that run them one after another."""

from __future__ import annotations

from pathlib import Path

from orchestration.pipeline.dvc_graph import load_graph

ROOT = Path(__file__).resolve().parents[1]


def stages_in_order() -> list[str]:
    """Names of the stages, each after those that it reads from."""
    return list(load_graph(ROOT).bases)
