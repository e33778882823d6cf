"""Systems of one pass: what each keeps of what is retrieved, and the oracles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from canopy.config import Answers
from canopy.items import Evidence, Item
from canopy.llm.roles import Trace
from canopy.pipelines.base import Result, find_systems
from canopy.pipelines.simple import NEAR_BEST
from canopy.pipelines.tools import Library, Tools
from tests import tiny_tools
from tests.tiny_tools import Bench, Corpus, question

corpus = tiny_tools.corpus
DAM = "When was the Aswan High Dam on the Nile finished?"
GOLD = [("tiny/q", (("tiny/curie", (1, 2, 4)), ("tiny/elements", (3,)), ("tiny/diagram", (0,))))]


def run(name: str, bench: Bench, words: str = DAM, k: int = 4) -> Result:
    trace = Trace()
    result = find_systems([name])[0].make(Answers(k=k)).answer(question(words), bench.tools, trace)
    assert (trace.count(), trace.count("reader")) == (1, 1)  # no system of one pass asks anyone but the reader
    assert result.answer == "an answer" and bench.reader.saw == [tuple(result.views)]
    return result


def by_item(corpus: Corpus, result: Result) -> dict[str, tuple[list[Evidence], Any, np.ndarray]]:
    """Of each retrieved item: what was kept, its hierarchy and all its scores."""
    source, vector = corpus.scorers["f_theta"], corpus.searcher.vector(DAM)
    return {i: ([e for e in result.evidence if e.item_id == i], source.tree(i), source.scores([i], vector)[0])
            for i in result.rounds[0].retrieved}


def test_no_retrieval_reads_nothing(corpus: Corpus) -> None:
    result = run("no-retrieval", corpus.bench())
    assert result.evidence == [] and result.rounds == [] and result.tokens == 0 and not result.cap_cut


def test_vanilla_reads_the_k_best_whole(corpus: Corpus) -> None:
    result = run("vanilla", corpus.bench())
    assert [(e.item_id, e.score) for e in result.evidence] == corpus.searcher.search(DAM, 4, Trace())
    assert all((e.lo, e.hi) == (0, corpus.library.leaves(e.item_id).count) for e in result.evidence)
    assert result.tokens == sum(len(s.words().split()) for s in result.views) and len(run("vanilla", corpus.bench(),
                                                                                          k=50).evidence) == 9


@pytest.mark.parametrize("m", [1, 2, 4])
def test_flat_leaves_are_the_m_best_of_each_item(corpus: Corpus, m: int) -> None:
    for kept, tree, scores in by_item(corpus, run(f"flat-leaf-m{m}", corpus.bench(), k=9)).values():
        leaves = sorted((s for s, lo, hi in zip(scores, tree.lo, tree.hi, strict=True) if hi - lo == 1), reverse=True)
        assert sorted((e.score for e in kept), reverse=True) == pytest.approx(leaves[:m]) and all(e.hi - e.lo == 1
                                                                                                  for e in kept)


def test_leaves_near_the_best_stay(corpus: Corpus) -> None:
    regions = by_item(corpus, run("flat-near-best", corpus.bench(), k=9))
    for kept, tree, scores in regions.values():
        leaf = tree.hi - tree.lo == 1
        expected = {int(lo) for lo, s in zip(tree.lo[leaf], scores[leaf], strict=True)
                  if s >= scores[leaf].max() - np.float32(NEAR_BEST)}
        assert {e.lo for e in kept} == expected and all(e.hi - e.lo == 1 for e in kept)
    assert any(len(kept) > 1 for kept, _, _ in regions.values()) and any(len(kept) < (t.hi - t.lo == 1).sum() for kept,
                                                                       t, _ in regions.values())


@pytest.mark.parametrize("m", [1, 2, 4])
def test_any_level_takes_the_m_best_nodes_that_do_not_overlap(corpus: Corpus, m: int) -> None:
    for kept, tree, scores in by_item(corpus, run(f"any-level-m{m}", corpus.bench(), k=9)).values():
        assert max(e.score for e in kept) == scores.max() and 1 <= len(kept) <= m
        assert all(a.hi <= b.lo for a, b in zip(kept[:-1], kept[1:], strict=True))
        free = [n for n in range(len(tree)) if all(tree.hi[n] <= e.lo or tree.lo[n] >= e.hi for e in kept)]
        assert len(kept) == m or not free
        assert not free or scores[free].max() <= min(e.score for e in kept)


def test_gold_items_and_spans(corpus: Corpus) -> None:
    whole, spans = (run(name, corpus.bench(corpus_scope="gold", gold=GOLD)) for name in ("gold-item", "gold-span"))
    assert [(e.item_id, e.lo, e.hi) for e in whole.evidence] == [(i, 0, corpus.library.leaves(i).count)
                                                                 for i in ("tiny/curie", "tiny/elements",
                                                                           "tiny/diagram")]
    # Neighbouring fragments are one region.
    assert [(e.item_id, e.lo, e.hi) for e in spans.evidence] == [("tiny/curie", 1, 3), ("tiny/curie", 4, 5),
                                                                 ("tiny/elements", 3, 4), ("tiny/diagram", 0, 1)]
    text = corpus.library.item("tiny/curie").text
    assert all(text[int(e.span[0]):int(e.span[1])].strip() == s.text for e,
               s in zip(spans.evidence[:2], spans.views[:2], strict=True))
    assert run("gold-span", corpus.bench(corpus_scope="gold")).evidence == [] and spans.tokens < whole.tokens


def test_the_gold_setting_gives_vanilla_the_annotated_items(corpus: Corpus) -> None:
    result = run("vanilla", corpus.bench(corpus_scope="gold", gold=GOLD), k=1)
    assert [e.item_id for e in result.evidence] == ["tiny/curie", "tiny/elements", "tiny/diagram"]


def test_search_restricted_and_excluded_still_gives_k(corpus: Corpus) -> None:
    everything = [i for i, _ in corpus.searcher.search(DAM, 9, Trace())]
    assert [i for i, _ in corpus.searcher.search(DAM, 3, Trace(), exclude=everything[:4])] == everything[4:7]
    texts = [i for i in everything if corpus.library.item(i).modality == "text"]
    assert [i for i, _ in corpus.searcher.search(DAM, 3, Trace(), modalities=["text"], exclude=texts[:1])] == texts[1:4]
    assert (
        corpus.searcher.search(DAM, 3, Trace(), modalities=[]) == []
        and corpus.searcher.search(DAM, 3, Trace(), exclude=everything) == []
    )
    assert corpus.searcher.modalities == ["image", "table", "text", "video"]


def test_a_folded_item_is_scored_by_its_representative(corpus: Corpus) -> None:
    nile = corpus.library.item("tiny/nile")
    twin = Item("tiny/twin", nile.benchmark, "text", nile.title, text=nile.text)
    library = Library({nile.id: nile, twin.id: twin}, 30.0, {twin.id: nile.id})
    scorer = type(corpus.scorers["f_theta"])(corpus.scorers["f_theta"]._store, library.representative)
    bench = corpus.bench(corpus_scope="gold", gold=[("tiny/q", (("tiny/twin", (3,)),))])
    tools = Tools(library, corpus.searcher, {"f_theta": scorer}, bench.tools.roles, Answers(), "gold", bench.tools.gold)
    kept = find_systems(["flat-leaf-m1"])[0].make(Answers()).answer(question(DAM), tools, Trace()).evidence
    usual: Sequence[Evidence] = [e for e in run("flat-leaf-m1", corpus.bench()).evidence if e.item_id == "tiny/nile"]
    assert [(e.item_id, e.lo, e.score) for e in kept] == [("tiny/twin", usual[0].lo, usual[0].score)]


def test_half_a_surrogate_pair_in_a_query_is_a_question_mark(corpus: Corpus) -> None:
    """A model may write one; Python's strings hold it, tokenizers do not."""
    assert corpus.searcher.search("Mars \ud800", 3, Trace()) == corpus.searcher.search("Mars ?", 3, Trace())
