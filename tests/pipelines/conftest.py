"""What systems are tested with: nine items of four modalities in a real store and index, roles over a scripted server, and tiny baseline models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from canopy.config import Answers
from canopy.embeddings.build import build_store
from canopy.embeddings.store import NodeStore
from canopy.index.item_index import ItemIndex
from canopy.items import Question
from canopy.llm.classifier import LanguageClassifier
from canopy.llm.client import ChatClient, Server
from canopy.llm.counting import EstimatedTokens
from canopy.llm.critic import LanguageCritic
from canopy.llm.reader import LanguageReader
from canopy.llm.roles import Roles, Trace
from canopy.llm.router import LanguageRouter
from canopy.pipelines.base import Result, System, find_systems
from canopy.pipelines.tools import Library, Scorer, Searcher, Tools
from tests.llm.scripted_server import ScriptedServer
from tests.tiny_baselines import build_bert, build_causal, build_t5
from tests.tiny_model import ITEMS

QUESTION = Question("q1", "tiny", "Which gas boils at 119.9 kelvin, and who shared the Nobel Prize in Physics in 1903?", ("Krypton",))
ANSWERS = Answers(k=4, rounds=3)


@dataclass
class Shelf:
    """The corpus, opened; ``tools`` lends it with the roles of a server."""

    library: Library
    searcher: Searcher
    scorers: dict[str, Scorer]
    models: dict[str, Path]

    def tools(self, server: ScriptedServer | None = None, answers: Answers = ANSWERS, setting: str = "unified", sees_media: bool = False, **more: Any) -> Tools:
        """Tools over the corpus, all roles played by the server; tokens are estimated."""
        chat = ChatClient(Server(server.url if server else "http://127.0.0.1:9/v1", "tiny", timeout_seconds=5.0, tries=4), None, wait=lambda seconds: None)
        reader = LanguageReader(chat, "tiny", EstimatedTokens(), sees_media)
        roles = Roles(LanguageCritic(chat, reader.count_tokens), LanguageClassifier(chat), LanguageRouter(chat), reader, "scripted", "llm", chat)
        return Tools(self.library, self.searcher, self.scorers, roles, answers, setting, models=self.models, **more)


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory, encoder: Any) -> Shelf:
    """One store serves as f0's and as f_theta's: what a system does with scores is tested, not the scores."""
    root = tmp_path_factory.mktemp("shelf")
    build_store(root / "f0", root / "work", ITEMS, encoder, shards=1, branching=2, segment_seconds=30.0)
    store = NodeStore.open(root / "f0")
    index = ItemIndex.build(store.item_ids, store.roots(), digest=encoder.digest)
    library = Library({i.id: i for i in ITEMS}, 30.0)
    modality = np.array([library.item(i).modality for i in index.ids])
    scorer = Scorer(store, library.representative)
    models = {"recomp_extractive": build_bert(root / "bert"), "recomp_abstractive": build_t5(root / "t5"), "longllmlingua": build_causal(root / "causal")}
    return Shelf(library, Searcher(index, encoder.encode_queries, modality), {"f0": scorer, "f_theta": scorer}, models)


def system(name: str, answers: Answers = ANSWERS) -> System:
    """A system by its name, as the evaluation makes it."""
    return find_systems([name])[0].make(answers)


@pytest.fixture
def run(shelf: Shelf) -> Callable[..., tuple[Result, Trace]]:
    """Answer the question with a system by name."""
    def answer(name: str, server: ScriptedServer | None = None, question: Question = QUESTION, answers: Answers = ANSWERS, **more: Any) -> tuple[Result, Trace]:
        trace = Trace()
        return system(name, answers).answer(question, shelf.tools(server, answers, **more), trace), trace
    return answer
