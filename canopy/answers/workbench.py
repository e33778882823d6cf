"""Opens what systems answer with: the corpus, the index, the node scores and the roles, for each corpus scope of one benchmark."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from canopy.answers.gold import AnswerGold, Places, build_gold
from canopy.answers.remembering import RememberingCritic, RememberingReader
from canopy.benchmarks.declaration import Benchmark, read_declaration
from canopy.config import Answers, Config, Language
from canopy.corpus.folds import Folds
from canopy.corpus.reader import Corpus
from canopy.digests import text_sha256
from canopy.embeddings.store import BRANCHING, NodeStore
from canopy.encoder.base import TrainableEncoder
from canopy.encoder.loading import load_encoder
from canopy.errors import DataError
from canopy.hierarchy.leaves import Leaves
from canopy.index.item_index import ItemIndex
from canopy.items import Item, Question, read_items, read_questions
from canopy.llm.roles import Roles
from canopy.paths import Paths
from canopy.pipelines.availability import Situation, find_models, folder_mark
from canopy.pipelines.tools import Library, Scorer, Searcher, Tools

PER_MODALITY = "f_theta_per_modality"


@dataclass(slots=True)
class Workbench:
    """What one benchmark's test questions are answered with.

    Attributes
    ----------
    questions : list of Question
        The test questions, in the benchmark's order.
    searchers : mapping
        Corpus scope to its search.
    same_corpus : bool
        Whether the benchmark's own corpus is all there is, so that ``unified`` and ``own`` are one.
    """

    questions: list[Question]
    gold: AnswerGold
    places: Places
    library: Library
    searchers: dict[str, Searcher]
    scorers: dict[str, Scorer]
    stores: dict[str, NodeStore]
    f0: TrainableEncoder
    tuned: TrainableEncoder
    models: dict[str, Path]
    declaration: Benchmark
    settings: Answers
    same_corpus: bool

    def situation(self, language_model: bool) -> Situation:
        """What systems can count on."""
        return Situation(language_model, self.models, self.settings.models, frozenset(self.scorers), bool(self.gold.given))

    def tools(self, corpus_scope: str, roles: Roles, answers: Answers) -> Tools:
        """The tools of one corpus scope. ``answers``: with the sizes of the variant that is run."""
        return Tools(self.library, self.searchers[corpus_scope], self.scorers, roles, answers, corpus_scope, self.gold.given, self.declaration.evidence_cap, self.models)


def read_test_questions(paths: Paths, benchmark: str) -> list[Question]:
    """A benchmark's test questions, in its order."""
    splits = pq.read_table(paths.output("gold_spans", benchmark) / "splits.parquet", filters=[("split", "=", "test")])
    test = set(splits["question_id"].to_pylist())
    return [q for q in read_questions(paths.output("benchmark", benchmark) / "questions.parquet") if q.id in test]


def open_workbench(config: Config, paths: Paths, benchmark: str) -> Workbench:
    """Open corpus, index and node stores, each checked against the encoder that made it.

    Raises
    ------
    DataError, EncoderMismatch
        Where an output is missing, damaged, or another encoder's.
    """
    questions = read_test_questions(paths, benchmark)
    rows = pq.read_table(paths.output("gold_spans", benchmark) / "gold.parquet").to_pylist()
    asked = {q.id for q in questions}
    annotated = sorted({r["item_id"] for r in rows if r["question_id"] in asked})
    own_items = read_items(paths.output("benchmark", benchmark) / "items.parquet", annotated)
    corpus = Corpus.open(paths.output("corpus"), {i.id: i for i in own_items})
    library = Library(corpus, config.hierarchy.segment_seconds, corpus.folds.representatives(), paths.media(config))

    def held(item_id: str) -> tuple[Item, Leaves]:
        return library.item(item_id), library.leaves(item_id)

    places = Places(corpus.folds, held)
    adapter = paths.output("node_encoder") / "adapter"
    f0 = load_encoder(config.encoder)
    tuned = load_encoder(config.encoder, adapter=adapter, media=paths.media(config))
    folder = paths.output("node_embeddings")
    stores = {"f0": NodeStore.open(folder / "f0", digest=f0.digest), "f_theta": NodeStore.open(folder / "f_theta", digest=tuned.digest)}
    if (folder / PER_MODALITY).is_dir():
        stores[PER_MODALITY] = NodeStore.open(folder / PER_MODALITY)
    stores |= {p.name: NodeStore.open(p, digest=tuned.digest) for p in sorted(folder.glob(f"{BRANCHING}*"))}
    index = ItemIndex.open(paths.output("item_index"), dimension=f0.dimension, digest=f0.digest, device=config.index.device)
    modality, own = corpus.modalities(index.ids), _own_rows(paths, benchmark, corpus.folds, index.ids)
    searchers = {"unified": Searcher(index, f0.encode_queries, modality), "own": Searcher(index, f0.encode_queries, modality, own)}
    return Workbench(
        questions, build_gold(rows, questions, places, held), places, library, {**searchers, "gold": searchers["unified"]},
        {n: Scorer(s, library.representative) for n, s in stores.items()}, stores, f0, tuned, find_models(config.answers.models, paths.root),
        read_declaration(paths.output("benchmark", benchmark)), config.answers, bool(own.all()))


def _own_rows(paths: Paths, benchmark: str, folds: Folds, ids: Sequence[str]) -> np.ndarray:
    """The rows of the index that are a benchmark's own items, or stand for one of them."""
    mine = {folds.representative(i) for i in pq.read_table(paths.output("benchmark", benchmark) / "items.parquet", columns=["id"])["id"].to_pylist()}
    return np.array([i in mine for i in ids], dtype=bool)


@dataclass(frozen=True, slots=True)
class Reading:
    """A configured reader with all roles: one for every seed where its model draws its words, else one for all seeds (under the first).

    ``made_with``: names what its replies depend on.
    """

    name: str
    label: str
    kind: str
    drawn: bool
    by_seed: Mapping[int, Roles]
    made_with: str

    def roles(self, seeds: Sequence[int]) -> Roles:
        """The roles that answer for these seeds."""
        return self.by_seed[seeds[0]] if self.drawn else next(iter(self.by_seed.values()))


def connect_readers(config: Config, paths: Paths, encoder: TrainableEncoder) -> dict[str, Reading]:
    """Every configured reader by its name; the first is ``language``'s.

    Raises
    ------
    DataError
        Where two readers have one name, so that their rows could not be told apart.
    ServerError
        Where a server that is named cannot be used.
    """
    found: dict[str, Reading] = {}
    for language in (config.language, *config.answers.readers):
        reading = _connect(language, config.answers, paths, encoder)
        if reading.name in found:
            raise DataError(f"params.yaml: answers.readers: two readers are called {reading.name!r}; give each another model")
        found[reading.name] = reading
    return found


def _connect(language: Language, answers: Answers, paths: Paths, encoder: TrainableEncoder) -> Reading:
    from canopy.llm.connect import connect_roles
    from canopy.llm.plain import plain_roles

    def connect(seed: int) -> Roles:
        return connect_roles(language, paths.work("llm"), lambda: plain_roles(encoder), seed, (answers.evidence_tokens, answers.video_evidence_tokens))

    roles, seeds = connect(answers.seeds[0]), answers.seeds
    if roles.kind == "plain":
        roles = replace(roles, reader=RememberingReader(roles.reader), critic=RememberingCritic(roles.critic))
    drawn = roles.kind == "llm" and language.temperature > 0
    others = {s: connect(s) for s in seeds[1:]} if drawn else {}
    return Reading(roles.reader.name, roles.label, roles.kind, drawn, {seeds[0]: roles, **others}, _identity(language) if roles.kind == "llm" else "")


def _identity(language: Language) -> str:
    """Names a language model as it is asked; where and how patiently does not change what it says."""
    asked = language.model_dump(mode="json", exclude={"base_url", "concurrency", "timeout_seconds", "tries"})
    named = Path(language.tokenizer).expanduser()
    counted = folder_mark(named / "tokenizer.json" if named.is_dir() else named) if language.tokenizer else ""
    return text_sha256(json.dumps([asked, counted, os.environ.get("CANOPY_LLM_MODEL", "")], sort_keys=True))[:16]
