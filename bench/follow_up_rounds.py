"""Two rounds of k against one round of 2k without a language model: supporting paragraphs retrieved on HotpotQA.

Usage: python bench/follow_up_rounds.py RELEASE_FOLDER [--questions N] [--k 2 5 10]

Retrieval and the LLM-free critic use f0 alone. Nothing is trained or compressed: whole paragraphs are kept, so that
only the follow-up query differs. All paragraphs of all questions make one pool; each question has two supporting
ones. The critic's query rule and thresholds were chosen on the questions of the training file; the questions of the
development file were looked at once.

Rows: ``always`` writes a follow-up for every question; ``stops`` follows the critic's stop rule, so it retrieves less.
Items of the first round may come again (the paper's loop), or are left out of the second search (option exclude_seen).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from canopy.benchmarks.registry import load_benchmark_adapter
from canopy.encoder.base import NodeEncoder, NodeRequest
from canopy.encoder.minilm import MiniLMEncoder
from canopy.hierarchy.leaves import cut_item
from canopy.index.item_index import ItemIndex
from canopy.ingest.sink import Sink
from canopy.items import Item, Question
from canopy.llm.plain.critic import EvidenceCritic, is_sufficient
from canopy.llm.plain.sentences import Likeness
from canopy.llm.roles import RegionView, Trace
from canopy.pipelines.tools import Searcher
from canopy.scoring.bootstrap import Interval, paired_bootstrap


@dataclass(frozen=True, slots=True)
class Pool:
    """Questions, all their paragraphs as one corpus with its search, and each question's supporting paragraphs."""

    questions: list[Question]
    items: dict[str, Item]
    gold: dict[str, frozenset[str]]
    searcher: Searcher
    critic: EvidenceCritic


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Per question: supporting paragraphs among the retrieved, and items retrieved; float64, shape (questions,)."""

    supporting: np.ndarray
    retrieved: np.ndarray


def open_pool(raw: Path, encoder: NodeEncoder, questions: int = 0, splits: Sequence[str] = ("train", "dev")) -> Pool:
    """Read a release folder and index its paragraphs.

    Parameters
    ----------
    questions : int
        If not 0: only so many of each file, the first, in a smaller pool.
    """
    with tempfile.TemporaryDirectory() as folder:
        sink = Sink("hotpotqa", Path(folder))
        load_benchmark_adapter("hotpotqa").read(raw, sink)
    sample = [q for s in splits for q in [q for q in sink.questions.values() if q.split == s][:questions or None]]
    gold = {q.id: frozenset(a.item_id for a in sink.annotations if a.question_id == q.id) for q in sample}
    items = dict(sink.items)
    if questions:  # supporting paragraphs and every tenth of the others: the pool shrinks with the questions
        supporting = frozenset[str]().union(*gold.values())
        items = {i: item for n, (i, item) in enumerate(items.items()) if i in supporting or n % 10 == 0}
    vectors = [encoder.encode_nodes([_root(i)])[0][0] for i in items.values()]
    index = ItemIndex.build(list(items), np.stack(vectors), digest=encoder.digest)
    searcher = Searcher(index, encoder.encode_queries, np.array(["text"] * len(items)))
    return Pool(sample, items, gold, searcher, EvidenceCritic(Likeness(encoder.encode_queries)))


def _root(item: Item) -> NodeRequest:
    leaves = cut_item(item)
    return NodeRequest(item, leaves, np.array([0], dtype=np.int32), np.array([leaves.count], dtype=np.int32))


def one_round(pool: Pool, k: int) -> Retrieval:
    """Retrieve k items with the question."""
    hits = [[i for i, _ in pool.searcher.search(q.question, k, Trace())] for q in pool.questions]
    return Retrieval(_supporting(pool, hits), np.array([float(len(h)) for h in hits]))


def two_rounds(pool: Pool, k: int, *, exclude: bool, stops: bool) -> Retrieval:
    """Retrieve k items with the question, then k with the critic's follow-up."""
    hits = []
    for q in pool.questions:
        first = [i for i, _ in pool.searcher.search(q.question, k, Trace())]
        evidence = [RegionView(i, "text", pool.items[i].title, 0, 1, pool.items[i].text) for i in first]
        stop = stops and is_sufficient(q.question, evidence)
        query = "" if stop else pool.critic.follow_up(q.question, evidence).query
        seen = first if exclude else ()
        second = [i for i, _ in pool.searcher.search(query, k, Trace(), exclude=seen)] if query else []
        hits.append(first + second)
    return Retrieval(_supporting(pool, hits), np.array([float(len(h)) for h in hits]))


def _supporting(pool: Pool, hits: Sequence[Sequence[str]]) -> np.ndarray:
    return np.array([float(len(pool.gold[q.id] & set(h))) for q, h in zip(pool.questions, hits, strict=True)])


def compare(pool: Pool, k: int, *, exclude: bool, stops: bool,
            split: str = "") -> tuple[Retrieval, Retrieval, Interval]:
    """Two rounds of k, one round of 2k, and the difference in supporting paragraphs a question (95% interval)."""
    of_split = np.array([split in ("", q.split) for q in pool.questions])
    both = two_rounds(pool, k, exclude=exclude, stops=stops), one_round(pool, 2 * k)
    two, one = (Retrieval(r.supporting[of_split], r.retrieved[of_split]) for r in both)
    return two, one, paired_bootstrap(two.supporting, one.supporting)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("raw", type=Path)
    parser.add_argument("--questions", type=int, default=0)
    parser.add_argument("--k", type=int, nargs="+", default=[2, 5, 10])
    options = parser.parse_args()
    pool = open_pool(options.raw, MiniLMEncoder("one_pass"), options.questions)
    for split in ("train", "dev", ""):
        count = sum(split in ("", q.split) for q in pool.questions)
        print(f"{split or 'both files'}: {count} questions, {len(pool.items)} paragraphs")
        for k in options.k:
            for stops in (False, True):
                for exclude in (False, True):
                    two, one, gain = compare(pool, k, exclude=exclude, stops=stops, split=split)
                    repeats = "seen left out" if exclude else "repeats count"
                    print(f"  {k}+{k} {'stops' if stops else 'always'}, {repeats}: {two.supporting.mean():.3f} "
                          f"supporting of {two.retrieved.mean():.1f} retrieved; "
                          f"one round of {2 * k}: {one.supporting.mean():.3f}; difference {gain.estimate:+.3f} "
                          f"[{gain.low:+.3f}, {gain.high:+.3f}]")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
