"""The compressors that are compared without a reader.

All get the same items and keep regions of them. Node scores are f_theta's, f0's or ``words``: how many of the
question's words a leaf has, weighted by how few of the leaves have them.

====================  ===============================================================================================
``canopy``            the paper's parent-relative rule; it has no size
``canopy-lookahead``  our rule that looks ahead, by its margin
``flat-leaf``         of each item the m best leaves
``any-level``         of each item the m best nodes of any level, none inside another
``near-best``         of each item the leaves within a distance of its best
``flat-share``        of each item the best leaves, a share of them
``flat-all``          of all items together the n best leaves (it compares scores between items; the rules never do)
``whole``, ``none``   everything; nothing: the ends of every curve
====================  ===============================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from canopy.config import Answers
from canopy.refinement import refine
from canopy.selection.any_level import select_top_nodes
from canopy.selection.best_of_all import select_best_of_all
from canopy.selection.flat import select_top_leaves
from canopy.selection.layout import Layout
from canopy.selection.near_best import select_near_best
from canopy.selection.protocol import Select
from canopy.selection.shares import select_share
from canopy.selection.whole import select_whole

WORDS = "words"
MARGINS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
LEAVES = (1, 2, 3, 4, 6, 8, 12, 16)
DISTANCES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
ALL_LEAVES = (1, 2, 5, 10, 20, 40, 80)


@dataclass(frozen=True, slots=True)
class CurveCompressor:
    """One compressor of one size over one kind of node scores; ``size`` is NaN if it has none."""

    name: str
    scorer: str
    size: float
    select: Select


def list_compressors(scorers: Iterable[str], answers: Answers) -> list[CurveCompressor]:
    """Every compressor, in the order of tables."""
    compressors: list[CurveCompressor] = []
    for s in (*scorers, WORDS):
        if s != WORDS:
            compressors.append(CurveCompressor("canopy", s, math.nan, _follow_rule))
            compressors += [CurveCompressor("canopy-lookahead", s, m, _look_ahead(m)) for m in MARGINS]
            compressors += [CurveCompressor("any-level", s, m, select_top_nodes(m)) for m in LEAVES]
            compressors += [CurveCompressor("near-best", s, d, _near_best(d)) for d in DISTANCES]
        compressors += [CurveCompressor("flat-leaf", s, m, select_top_leaves(m)) for m in LEAVES]
        compressors += [CurveCompressor("flat-share", s, b, select_share(b)) for b in answers.budgets]
        compressors += [CurveCompressor("flat-all", s, n, _best_of_all(n)) for n in ALL_LEAVES]
    whole = CurveCompressor("whole", "", math.nan, lambda layout, scores: select_whole(layout))
    none = CurveCompressor("none", "", math.nan, lambda layout, scores: np.zeros(len(scores), dtype=bool))
    return [*compressors, whole, none]


def _follow_rule(layout: Layout, scores: np.ndarray) -> np.ndarray:
    return refine(layout.forest, scores)


def _look_ahead(margin: float) -> Select:
    return lambda layout, scores: refine(layout.forest, scores, rule="lookahead", margin=margin)


def _near_best(distance: float) -> Select:
    return lambda layout, scores: select_near_best(layout, scores, distance)


def _best_of_all(n: int) -> Select:
    return lambda layout, scores: select_best_of_all(layout, scores, n)
