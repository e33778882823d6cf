"""Retrieved items for tests: small texts, tables and a silent video, with scores from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from canopy.hierarchy.leaves import cut_item
from canopy.hierarchy.tree import build_tree
from canopy.items import Cue, Item
from canopy.leaf_scorer.forest import RetrievedForest, join_retrieved
from canopy.leaf_scorer.words import read_words

HARBOUR = Item("harbour", "t", "text", title="Harbour of Leith", text=(
    "The harbour of Leith opened in 1806. Its master was Jane Orr. The quays were built of granite."))
ORR = Item("orr", "t", "text", title="Jane Orr", text="Jane Orr lived in Leith. She kept three dogs.")
FEES = Item("fees", "t", "table", title="Fees", header=("Berth", "Price"),
            rows=(("North", "12 pounds"), ("South", "9")))
FILM = Item("film", "t", "video", title="A walk", duration=60.0, cues=(Cue(31.0, 33.0, "Here is the harbour."),))
ITEMS = (HARBOUR, ORR, FEES, FILM)


def count_words(texts: Sequence[str]) -> np.ndarray:
    return np.array([len(t.split()) for t in texts], dtype=np.int64)


def retrieve(question: str, items: Sequence[Item] = ITEMS, branching: int = 2, seed: int = 0,
             lexical: Sequence[float] | None = None) -> RetrievedForest:
    rng = np.random.default_rng(seed)
    leaves = [cut_item(i) for i in items]
    trees = [build_tree(x.count, branching) for x in leaves]
    return join_retrieved(question, [read_words(i, x, count_words) for i, x in zip(items, leaves, strict=True)], trees,
                          [rng.random(len(t)) for t in trees], lexical=lexical)
