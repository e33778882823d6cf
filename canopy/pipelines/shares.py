"""Flat selection at a given share of each item: the compressor without a hierarchy whose size can be set, to compare at equal length."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from canopy.config import Answers
from canopy.evaluation.systems import Layout, select_leaves
from canopy.pipelines.base import Needs, System, SystemSpec
from canopy.pipelines.compression import Select
from canopy.pipelines.simple import Selector

DEFAULT_SHARE = 0.3


def select_share(share: float) -> Select:
    """Of each item the best leaves, as many as come closest to ``share`` of all its leaves, at least one."""
    def choose(layout: Layout, scores: np.ndarray) -> np.ndarray:
        wanted = np.maximum(1, np.rint(share * np.diff(layout.fragments)).astype(np.int64))
        return select_leaves(layout, scores, wanted[layout.owner])
    return choose


def _sizes(answers: Answers) -> Mapping[str, System]:
    return {f"budget={b:g}": Selector(answers.k, select_share(b)) for b in answers.budgets}


SYSTEMS = (
    SystemSpec("flat-leaf-share", f"the k best items, of each the best leaves, a share of them (unless said {DEFAULT_SHARE})",
               lambda a: Selector(a.k, select_share(DEFAULT_SHARE)), Needs(scorers=("f_theta",)), "", "selection", _sizes),
)
