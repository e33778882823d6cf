"""Opens the corpus, the index, the node scores and the roles that systems answer a benchmark's questions with."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from canopy.answers.caching import CachingCritic, CachingReader
from canopy.answers.gold import AnswerGold, Places
from canopy.answers.sides import read_side
from canopy.benchmarks.declaration import Benchmark, read_declaration
from canopy.config import Answers, Config, Language
from canopy.corpus.folds import Folds
from canopy.digests import text_sha256
from canopy.embeddings.store import BRANCHING, PER_MODALITY, NodeStore
from canopy.encoder.base import TrainableEncoder
from canopy.encoder.loading import load_encoder
from canopy.errors import DataError
from canopy.index.item_index import ItemIndex
from canopy.items import Question
from canopy.llm.roles import Roles
from canopy.paths import Paths
from canopy.pipelines.availability import Situation, find_models, folder_mark
from canopy.pipelines.tools import Library, Scorer, Searcher, Tools


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
        Whether the benchmark's own corpus is the whole corpus, so that ``unified`` and ``own`` are one.
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
        """What this workspace offers to systems."""
        return Situation(language_model, self.models, self.settings.models, frozenset(self.scorers),
                         bool(self.gold.annotations))

    def tools(self, corpus_scope: str, roles: Roles, answers: Answers) -> Tools:
        """The tools of one corpus scope; ``answers`` has the sizes of the variant that is run."""
        return Tools(self.library, self.searchers[corpus_scope], self.scorers, roles, answers, corpus_scope,
                     self.gold.annotations, self.declaration.evidence_cap, self.models)


def open_workbench(config: Config, paths: Paths, benchmark: str) -> Workbench:
    """Open corpus, index and node stores, each checked against the encoder that made it.

    Raises
    ------
    DataError, EncoderMismatch
        If an output is missing, damaged, or another encoder's.
    """
    side = read_side(config, paths, benchmark, "test")
    corpus, library = side.corpus, side.library
    adapter = paths.output("node_encoder") / "adapter"
    f0 = load_encoder(config.encoder)
    tuned = load_encoder(config.encoder, adapter=adapter, media=paths.media(config))
    folder = paths.output("node_embeddings")
    stores = {"f0": NodeStore.open(folder / "f0", digest=f0.digest),
              "f_theta": NodeStore.open(folder / "f_theta", digest=tuned.digest)}
    if (folder / PER_MODALITY).is_dir():
        stores[PER_MODALITY] = NodeStore.open(folder / PER_MODALITY)
    stores |= {p.name: NodeStore.open(p, digest=tuned.digest) for p in sorted(folder.glob(f"{BRANCHING}*"))}
    index = ItemIndex.open(paths.output("item_index"), dimension=f0.dimension, digest=f0.digest,
                           device=config.index.device)
    modality, own = corpus.modalities(index.ids), _own_rows(paths, benchmark, corpus.folds, index.ids)
    unified = Searcher(index, f0.encode_queries, modality)
    searchers = {"unified": unified, "own": Searcher(index, f0.encode_queries, modality, own), "gold": unified}
    scorers = {n: Scorer(s, library.representative) for n, s in stores.items()}
    models = find_models(config.answers.models, paths.root)
    declaration = read_declaration(paths.output("benchmark", benchmark))
    return Workbench(side.questions, side.gold, side.places, library, searchers, scorers, stores, f0, tuned, models,
                     declaration, config.answers, bool(own.all()))


def _own_rows(paths: Paths, benchmark: str, folds: Folds, ids: Sequence[str]) -> np.ndarray:
    """The rows of the index that are a benchmark's own items or their representatives, as bool a row."""
    items = pq.read_table(paths.output("benchmark", benchmark) / "items.parquet", columns=["id"])
    own = {folds.representative(i) for i in items["id"].to_pylist()}
    return np.array([i in own for i in ids], dtype=bool)


@dataclass(frozen=True, slots=True)
class ConfiguredReader:
    """A reader of params.yaml with all its roles.

    Parameters
    ----------
    sampled : bool
        Whether its model samples its words.
    by_seed : mapping
        The roles of every seed if words are sampled; otherwise one set of roles for all seeds, under the first.
    made_with : str
        Names what its replies depend on.
    """

    name: str
    label: str
    kind: str
    sampled: bool
    by_seed: Mapping[int, Roles]
    made_with: str

    def roles(self, seeds: Sequence[int]) -> Roles:
        """The roles that answer for these seeds."""
        return self.by_seed[seeds[0]] if self.sampled else next(iter(self.by_seed.values()))


def connect_readers(config: Config, paths: Paths, encoder: TrainableEncoder) -> dict[str, ConfiguredReader]:
    """Every configured reader by its name; the first is ``language``'s.

    Raises
    ------
    DataError
        If two readers have one name, so that their rows could not be distinguished.
    ServerError
        If a configured server cannot be used.
    """
    readers: dict[str, ConfiguredReader] = {}
    for language in (config.language, *config.answers.readers):
        reader = _connect(language, config.answers, paths, encoder)
        if reader.name in readers:
            raise DataError(f"params.yaml: answers.readers: two readers are called {reader.name!r}; "
                            "give each another model")
        readers[reader.name] = reader
    return readers


def _connect(language: Language, answers: Answers, paths: Paths, encoder: TrainableEncoder) -> ConfiguredReader:
    from canopy.llm.connect import connect_roles
    from canopy.llm.plain import plain_roles

    def connect(seed: int) -> Roles:
        room = (answers.evidence_tokens, answers.video_evidence_tokens)
        return connect_roles(language, paths.work("llm"), lambda: plain_roles(encoder), seed, room)

    roles, seeds = connect(answers.seeds[0]), answers.seeds
    if roles.kind == "plain":
        roles = replace(roles, reader=CachingReader(roles.reader), critic=CachingCritic(roles.critic))
    sampled = roles.kind == "llm" and language.temperature > 0
    others = {s: connect(s) for s in seeds[1:]} if sampled else {}
    made_with = _identity(language) if roles.kind == "llm" else ""
    return ConfiguredReader(roles.reader.name, roles.label, roles.kind, sampled, {seeds[0]: roles, **others}, made_with)


def _identity(language: Language) -> str:
    """Names a language model and how it is asked; address, concurrency, time-outs and tries do not count."""
    settings = language.model_dump(mode="json", exclude={"base_url", "concurrency", "timeout_seconds", "tries"})
    path = Path(language.tokenizer).expanduser()
    tokenizer = folder_mark(path / "tokenizer.json" if path.is_dir() else path) if language.tokenizer else ""
    return text_sha256(json.dumps([settings, tokenizer, os.environ.get("CANOPY_LLM_MODEL", "")], sort_keys=True))[:16]
