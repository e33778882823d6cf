"""Which regions of retrieved items are kept, over a store's node scores; `canopy.compression` does the selecting."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain

import numpy as np

from canopy.compression.candidates import Candidate, Scored, join, regions_by_item
from canopy.items import Evidence
from canopy.llm.roles import Trace
from canopy.pipelines.tools import Tools


def score_items(items: Sequence[str], query: str, tools: Tools, trace: Trace, scorer: str = "f_theta") -> Scored:
    """Scores of all nodes of the given items for a query, by a scorer of the tools."""
    vector = tools.searcher.vector(query, trace)
    started = time.perf_counter()
    source = tools.scorers[scorer]
    scores = source.scores(items, vector)
    pairs = zip(items, scores, strict=True)
    scored = join([Candidate(i, tools.library.leaves(i), source.tree(i), s) for i, s in pairs])
    trace.spend("score", time.perf_counter() - started)
    return scored


def regions_of(scored: Scored, kept: np.ndarray) -> list[Evidence]:
    """Kept nodes as regions, item by item in the order given, left to right within one."""
    return list(chain.from_iterable(regions_by_item(scored, kept)))


def keep_whole(items: Sequence[str], tools: Tools, retrieved: Sequence[float] = ()) -> list[Evidence]:
    """Whole items; scored by their retrieval if ``retrieved`` gives it."""
    regions = []
    for n, item in enumerate(items):
        leaves = tools.library.leaves(item)
        score = float(retrieved[n]) if len(retrieved) else 0.0
        regions.append(Evidence(item, 0, leaves.count, score, 0, span=leaves.span(0, leaves.count)))
    return regions
