"""The features of every leaf of a question's retrieved items, as the leaf scorer reads them."""

from __future__ import annotations

import re

import numpy as np

from canopy.leaf_scorer.forest import RetrievedForest
from canopy.leaf_scorer.matching import match_links, match_titles, match_words
from canopy.leaf_scorer.stems import Rarity
from canopy.scoring.metric import answer_words

MODALITIES = ("text", "table", "image", "video")
_KINDS = tuple(map(re.compile, (
    r"\bwho\b|\bwhose\b|\bwhom\b", r"\bwhen\b|\b(what|which) (year|date)\b", r"\bwhere\b", r"\bhow many\b",
    r"\bhow much\b|\bpercentage\b|\bchange\b|\baverage\b", r"^(is|are|was|were|do|does|did|can|has|have)\b",
    r"\bwhich\b", r"\bwhat\b", r"\bwhy\b")))

DENSE = ("score", "score_below_best", "score_root", "score_above_parent", "score_below_item_best",
         "score_item_below_best", "score_rank", "score_path")
WORDS = ("bm25", "bm25_below_best", "overlap", "overlap_with_head", "overlap_with_head_below_best",
         "overlap_new", "rarest", "title_overlap", "title_asked",
         "title_quoted", "item_overlap", "item_overlap_below_best", "new_capitals")
LINKS = ("names", "names_dense", "names_overlap", "named", "named_overlap")
RETRIEVAL = ("dense", "dense_below_best", "dense_rank", "lexical", "lexical_below_best", "lexical_rank")
FORM = ("item_leaves", "place", "tokens", "head", "modality", "question_kind", "digits", "year")
NAMES = (*DENSE, *WORDS, *LINKS, *RETRIEVAL, *FORM)


def leaf_features(forest: RetrievedForest, rarity: Rarity) -> np.ndarray:
    """Features of every leaf, float32, shape (leaves, features), in the order of `NAMES`.

    What an item lacks is NaN: the words of a picture without any, the lexical score where no such search was made.
    """
    columns = [*_dense(forest), *_words_and_links(forest, rarity), *_retrieval(forest), *_form(forest)]
    return np.stack(columns, axis=1).astype(np.float32) if forest.items else np.zeros((0, len(NAMES)), np.float32)


def _dense(r: RetrievedForest) -> list[np.ndarray]:
    """A leaf's score by itself, beside its ancestors, its item and all items."""
    if not r.items:
        return []
    parent, s = r.layout.forest.parent, r.scores
    leaf, up = s[r.leaf], parent[r.leaf]
    above = np.where(up >= 0, s[up], leaf)
    over = np.where(up >= 0, parent[up], -1)
    higher = np.where(over >= 0, s[over], above)
    root = s[r.layout.nodes[:-1]][r.owner]
    best = np.maximum.reduceat(leaf, r.layout.fragments[:-1])
    return [leaf, leaf - leaf.max(), root, leaf - above, leaf - best[r.owner], best[r.owner] - leaf.max(),
            _ranks(leaf), (leaf + above + higher + root) / 4]


def _words_and_links(r: RetrievedForest, rarity: Rarity) -> list[np.ndarray]:
    if not r.items:
        return []
    m = match_words(r.question, r.items, rarity)
    bm25, with_head, title, item = m.bm25(), m.overlap_with_head(), m.title(), m.item()
    new = (with_head - title[r.owner]) / np.maximum(1 - title[r.owner], 1e-6)
    share, quoted = match_titles(r.question, r.items)
    lower = set(answer_words(r.question))
    capitals = np.array([len(c - lower) for i in r.items for c in i.capitals], dtype=np.float64)
    columns = [bm25, bm25 - bm25.max(), m.overlap(), with_head, with_head - with_head.max(), new, m.rarest(),
               title[r.owner], share[r.owner], quoted[r.owner], item[r.owner], (item - item.max())[r.owner], capitals]
    silent = m.words == 0  # a segment in which nobody speaks, a picture without words
    for column in columns[:7]:
        column[silent] = np.nan
    return columns + _links(r, item, np.nan_to_num(with_head))


def _links(r: RetrievedForest, item: np.ndarray, with_head: np.ndarray) -> list[np.ndarray]:
    leaves, items = len(r.leaf), len(r.items)
    names, dense, overlap = np.zeros(leaves), np.full(leaves, np.nan), np.zeros(leaves)
    named, named_overlap = np.zeros(items), np.zeros(items)
    links = match_links(r.question, r.items)
    np.add.at(names, links.leaves, 1)
    np.fmax.at(dense, links.leaves, r.dense[links.items])
    np.maximum.at(overlap, links.leaves[links.new], item[links.items[links.new]])
    np.add.at(named, links.items, 1)
    np.maximum.at(named_overlap, links.items, with_head[links.leaves])
    return [names, dense, overlap, named[r.owner], named_overlap[r.owner]]


def _retrieval(r: RetrievedForest) -> list[np.ndarray]:
    if not r.items:
        return []
    columns = []
    for values in (r.dense, r.lexical):
        known = np.isfinite(values)
        best = values[known].max(initial=-np.inf)
        below = values - best if known.any() else np.full(len(values), np.nan)
        rank = np.where(known, _ranks(np.where(known, values, -np.inf)), np.nan)
        columns += [values[r.owner], below[r.owner], rank[r.owner]]
    return columns


def _form(r: RetrievedForest) -> list[np.ndarray]:
    if not r.items:
        return []
    question = r.question.lower().strip()
    kind = next((n for n, pattern in enumerate(_KINDS) if pattern.search(question)), len(_KINDS))
    first = r.layout.fragments[:-1][r.owner]
    modality = np.array([MODALITIES.index(i.modality) for i in r.items], dtype=np.float64)
    return [np.diff(r.layout.fragments)[r.owner].astype(np.float64), np.arange(len(r.leaf), dtype=np.float64) - first,
            r.tokens, r.heads[r.owner], modality[r.owner], np.full(len(r.leaf), float(kind)),
            np.concatenate([i.digits for i in r.items]).astype(np.float64),
            np.concatenate([i.years for i in r.items]).astype(np.float64)]


def _ranks(values: np.ndarray) -> np.ndarray:
    """Place of each value, the largest first from 0; of equal ones the earlier first."""
    ranks = np.empty(len(values))
    ranks[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return ranks
