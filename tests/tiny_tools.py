"""Tools over nine items of four modalities with real library, search and node scores, and roles that say what a test
tells them and write down what they see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from canopy.config import Answers
from canopy.embeddings.build import build_store
from canopy.embeddings.store import NodeStore
from canopy.encoder.minilm import MiniLMEncoder
from canopy.index.item_index import ItemIndex
from canopy.items import Item, Question
from canopy.llm.roles import Call, Memory, RegionView, Reply, Roles, Trace, Verdict
from canopy.pipelines.tools import Library, Scorer, Searcher, Tools
from tests.tiny_model import BENCHMARK, ITEMS

ENOUGH = Verdict(True)


def more(query: str, missing: str = "", *facts: str) -> Verdict:
    """Not enough: search for this."""
    return Verdict(False, missing, query, facts)


@dataclass
class ScriptedCritic:
    """Gives its verdicts in turn, then says that it is enough."""

    verdicts: Sequence[Verdict] = ()
    saw: list[tuple[str, tuple[RegionView, ...]]] = field(default_factory=list)
    memories: list[tuple[tuple[str, ...], tuple[str, ...]] | None] = field(default_factory=list)

    def judge(self, question: str, evidence: Sequence[RegionView], memory: Memory | None, trace: Trace) -> Verdict:
        trace.calls.append(Call("critic"))
        self.saw.append((question, tuple(evidence)))
        self.memories.append(None if memory is None else (tuple(memory.facts), tuple(memory.searched)))
        return self.verdicts[len(self.saw) - 1] if len(self.saw) <= len(self.verdicts) else ENOUGH


@dataclass
class FixedClassifier:
    """Always of one opinion."""

    aggregate: bool = False
    asked: list[str] = field(default_factory=list)

    def is_aggregate(self, question: str, trace: Trace) -> bool:
        trace.calls.append(Call("classifier"))
        self.asked.append(question)
        return self.aggregate


@dataclass
class FixedRouter:
    """Always to the same modalities."""

    to: tuple[str, ...] = ("text",)
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def route(self, question: str, available: Sequence[str], trace: Trace) -> tuple[str, ...]:
        trace.calls.append(Call("router"))
        self.asked.append((question, tuple(available)))
        return self.to


@dataclass
class ScriptedReader:
    """Gives its answers in turn, the last one from then on; counts words as tokens."""

    answers: Sequence[str] = ("an answer",)
    sees_media: bool = False
    name: str = "scripted"
    saw: list[tuple[RegionView, ...]] = field(default_factory=list)

    def read(self, question: Question, evidence: Sequence[RegionView], trace: Trace) -> Reply:
        trace.calls.append(Call("reader"))
        self.saw.append(tuple(evidence))
        return Reply(self.answers[min(len(self.saw), len(self.answers)) - 1])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(t.split()) for t in texts]


@dataclass
class Bench:
    """Tools and the roles in them."""

    tools: Tools
    critic: ScriptedCritic
    classifier: FixedClassifier
    router: FixedRouter
    reader: ScriptedReader


@dataclass(frozen=True)
class Corpus:
    """What all tests share.

    The items, and stores of both modes (``f0`` is ``separate`` here, so that the scorers differ).
    """

    library: Library
    searcher: Searcher
    scorers: dict[str, Scorer]

    def bench(self, *verdicts: Verdict, answers: Sequence[str] = ("an answer",), aggregate: bool = False,
              to: tuple[str, ...] = ("text",), k: int = 3,
              rounds: int = 3, corpus_scope: str = "unified",
              gold: Iterable[tuple[str, Sequence[tuple[str, tuple[int, ...]]]]] = (), **sizes: int) -> Bench:
        """Fresh roles over the shared corpus."""
        critic, classifier, router, reader = (
            ScriptedCritic(verdicts),
            FixedClassifier(aggregate),
            FixedRouter(to),
            ScriptedReader(answers),
        )
        roles = Roles(critic, classifier, router, reader, "scripted")
        tools = Tools(self.library, self.searcher, self.scorers, roles, Answers(k=k, rounds=rounds, **sizes),
                      corpus_scope, dict(gold))
        return Bench(tools, critic, classifier, router, reader)


def make_corpus(folder: Path, encoder: MiniLMEncoder, items: Sequence[Item] = ITEMS) -> Corpus:
    """Encode and index the items."""
    scorers = {}
    for name, made in (("f_theta", encoder), ("f0", MiniLMEncoder("separate"))):
        build_store(folder / name, folder / f"{name}-work", items, made, shards=1, branching=2, segment_seconds=30.0)
        scorers[name] = Scorer(NodeStore.open(folder / name), lambda i: i)
    store = NodeStore.open(folder / "f_theta")
    index = ItemIndex.build(store.item_ids, store.roots(), digest=encoder.digest)
    known = {i.id: i for i in items}
    searcher = Searcher(index, encoder.encode_queries, np.array([known[i].modality for i in index.ids]))
    return Corpus(Library(known, 30.0), searcher, {**scorers, "f_theta_per_modality": scorers["f_theta"]})


def question(words: str, **more: object) -> Question:
    """A question of the tiny benchmark."""
    return replace(Question("tiny/q", BENCHMARK, words), **more)  # type: ignore[arg-type]


_MADE: dict[str, Corpus] = {}


@pytest.fixture(scope="session")
def corpus(encoder: MiniLMEncoder, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The tiny corpus; modules import this fixture, and it is encoded once a session all the same."""
    if encoder.digest not in _MADE:
        _MADE[encoder.digest] = make_corpus(tmp_path_factory.mktemp("tiny-tools"), encoder)
    return _MADE[encoder.digest]
