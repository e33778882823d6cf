"""What is measured without a language model: decisions, gold recall, tokens, pruning, answers still in evidence,
retrieval.

Alternatives: gold annotations of one question with different ``group`` are alternatives, any one of which suffices. A
decision counts once per (question, item, node) and holds if it holds under any alternative that has the node in its V;
a question's gold recall is that of its best alternative, joint over the items in it; tokens count each item once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from canopy.evaluation.rows import Level, QuestionRecall
from canopy.scoring.metric import answer_words
from canopy.selection.layout import Layout

DEPTH_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Instances (q, v) over flat node indices: ``children`` of instance i are ``offsets[i]:offsets[i + 1]``."""

    node: np.ndarray
    fully_gold: np.ndarray
    offsets: np.ndarray
    children: np.ndarray
    child_gold: np.ndarray


def decisions_held(decisions: Decisions, scores: np.ndarray) -> np.ndarray:
    """For each instance, whether every one of its preferences holds.

    Ties follow the refinement rule, so that a decision that holds is what the rule does: a child with its parent's
    score is explored, hence "child beats v" is s(child) >= s(v) and "v beats child" is s(v) > s(child). Then
    "gold-overlapping children beat the others" follows strictly from the other two, and needs no convention of its own.
    """
    if not len(decisions.node):
        return np.zeros(0, dtype=bool)
    child, gold, start = scores[decisions.children], decisions.child_gold, decisions.offsets[:-1]
    to_explore = gold & ~np.repeat(decisions.fully_gold, np.diff(decisions.offsets))
    lowest_explored = np.minimum.reduceat(np.where(to_explore, child, np.inf), start)
    highest_other = np.maximum.reduceat(np.where(to_explore, -np.inf, child), start)
    v = scores[decisions.node]
    return (lowest_explored >= v) & (v > highest_other)


def gold_recall(kept: np.ndarray, gold: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hits and sizes of gold rows, whose fragments (flat indices) are ``gold[offsets[i]:offsets[i + 1]]``."""
    total = np.zeros(len(gold) + 1, dtype=np.int64)
    np.cumsum(kept[gold], out=total[1:])
    return total[offsets[1:]] - total[offsets[:-1]], np.diff(offsets)


def best_alternative(hits: np.ndarray, sizes: np.ndarray, question: np.ndarray, group: np.ndarray,
                     questions: int) -> np.ndarray:
    """Per question, the recall of its best group: hits over sizes, summed over the group's rows (its items) first."""
    if not len(hits):
        return np.full(questions, np.nan)
    keys, inverse = np.unique(np.stack([question, group]), axis=1, return_inverse=True)
    inverse = np.reshape(inverse, -1)
    recall = np.bincount(inverse, hits) / np.bincount(inverse, sizes)
    out = np.full(questions, -np.inf)
    np.maximum.at(out, keys[0], recall)
    return np.where(np.isfinite(out), out, np.nan)


def kept_tokens(layout: Layout, kept: np.ndarray, once: np.ndarray, each: np.ndarray) -> np.ndarray:
    """Tokens of each pair's evidence: ``once`` a pair of which anything is kept, plus ``each`` kept fragment's."""
    total = np.zeros(len(each) + 1, dtype=np.int64)
    np.cumsum(np.where(kept, each, 0), out=total[1:])
    count = np.zeros(len(kept) + 1, dtype=np.int64)
    np.cumsum(kept, out=count[1:])
    start, end = layout.fragments[:-1], layout.fragments[1:]
    return total[end] - total[start] + np.where(count[end] > count[start], once, 0)


def find_answers(answers: Iterable[Sequence[str]], once: str, each: Sequence[str],
                 across: bool) -> list[tuple[int, int]]:
    """Where an item states an accepted answer, as fragment ranges ``[lo, hi)`` that must all be kept.

    Parameters
    ----------
    answers : iterable of list of str
        Each answer by its ``answer_words``.
    once, each : str, list of str
        ``item_words``; an answer found in ``once`` comes with whatever is kept and has the range (0, 0).
    across : bool
        Whether an answer may run over a fragment's end (sentences of a text, not rows of a table).
    """
    by_first: dict[str, list[list[str]]] = {}
    for words in answers:
        if words:
            by_first.setdefault(words[0], []).append(list(words))
    pieces = [answer_words(t) for t in each]
    runs = [([w for p in pieces for w in p], [i for i, p in enumerate(pieces) for _ in p])] if across else \
        [(p, [i] * len(p)) for i, p in enumerate(pieces)]
    head = answer_words(once)
    ranges = {(0, 0) for i, w in enumerate(head) for a in by_first.get(w, ()) if head[i:i + len(a)] == a}
    for words, at in runs:
        ranges |= {(at[i], at[i + len(a) - 1] + 1) for i, w in enumerate(words) for a in by_first.get(w, ())
                  if words[i:i + len(a)] == a}
    return sorted(ranges)


def matchable(answers: Iterable[str]) -> list[list[str]]:
    """Accepted answers that evidence can state: yes and no are verdicts, not words to look for."""
    cut = [answer_words(a) for a in answers]
    return [a for a in cut if a and a not in (["yes"], ["no"])]


def answers_kept(kept: np.ndarray, lo: np.ndarray, hi: np.ndarray, question: np.ndarray, questions: int) -> np.ndarray:
    """Per question 1.0 if some statement of its answer is kept entirely, 0.0 if none is, NaN if its items state none.

    ``lo``/``hi`` are flat fragment indices of the statements and ``question`` their questions. Every item keeps at
    least one fragment under every system, so a statement with ``lo == hi`` (in the words that come once) is always
    kept.
    """
    total = np.zeros(len(kept) + 1, dtype=np.int64)
    np.cumsum(kept, out=total[1:])
    out = np.full(questions, np.nan)
    out[question] = 0.0
    out[question[total[hi] - total[lo] == hi - lo]] = 1.0
    return out


def retrieval_ranks(rankings: Sequence[Sequence[str]], gold: Sequence[Mapping[int, Iterable[str]]],
                    depths: Sequence[int]) -> list[QuestionRecall]:
    """Recall of gold items at each depth, one row per (question, k), best over the question's alternatives.

    Parameters
    ----------
    rankings : list of list of str
        Item ids retrieved for each question, best first.
    gold : list of dict
        For each question, group -> gold item ids.

    Returns
    -------
    list of dict
        ``question`` (its position), ``k``, ``recall``, and ``rank`` of the first gold item: 1 is best, None if none was
        retrieved.
    """
    rows: list[QuestionRecall] = []
    for q, (ids, groups) in enumerate(zip(rankings, gold, strict=True)):
        rank = {i: r for r, i in reversed(list(enumerate(ids, 1)))}
        ranks_of = {g: sorted(rank.get(i, 0) for i in set(items)) for g, items in groups.items()}
        first = min((r for ranks in ranks_of.values() for r in ranks if r), default=None)
        for k in depths:
            recall = max(sum(0 < r <= k for r in ranks) / len(ranks) for ranks in ranks_of.values())
            rows.append({"question": q, "k": int(k), "rank": first, "recall": recall})
    return rows


def level_rows(layout: Layout, scores: np.ndarray, gold_node: np.ndarray, modality: np.ndarray,
               takes_part: np.ndarray, sample: int = 200) -> list[Level]:
    """Distribution of root-relative scores s(v) - s(root) below the root, by modality ('all' too), depth and goldness.

    Parameters
    ----------
    gold_node, modality, takes_part : ndarray
        Per node: overlaps the gold; its item's modality; whether its item takes part (located gold only: where the
        whole item is gold there is nothing to tell apart).
    sample : int
        At most this many values are kept a row: evenly spaced order statistics, hence the same every time.
    """
    depth = layout.forest.depth
    relative = scores - scores[layout.nodes[:-1]][layout.owner]
    rows: list[Level] = []
    for kind in ["all", *sorted(set(modality[takes_part].tolist()))]:
        inside = takes_part & (depth > 0) & ((modality == kind) | (kind == "all"))
        for d in np.unique(depth[inside]).tolist():
            for is_gold in (True, False):
                values = np.sort(relative[inside & (depth == d) & (gold_node == is_gold)].astype(np.float64))
                if not len(values):
                    continue
                order = np.unique(np.linspace(0, len(values) - 1, min(sample, len(values))).round().astype(np.int64))
                rows.append({"modality": kind, "depth": int(d), "gold": is_gold, "n": len(values),
                             "mean": float(values.mean()),
                             "quantiles": np.quantile(values, DEPTH_QUANTILES).tolist(),
                             "sample": values[order].tolist()})
    return rows
