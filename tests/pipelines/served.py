"""Systems by name over the tiny corpus, their roles played by a scripted server, with the tiny models that baselines
load."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from canopy.config import Answers
from canopy.items import Question
from canopy.llm.classifier import LanguageClassifier
from canopy.llm.client import ChatClient
from canopy.llm.counting import EstimatedTokens
from canopy.llm.critic import LanguageCritic
from canopy.llm.reader import LanguageReader
from canopy.llm.roles import Roles, Trace
from canopy.llm.router import LanguageRouter
from canopy.llm.wire import Server
from canopy.pipelines.base import Result, find_systems
from canopy.pipelines.tools import Library, Tools
from tests.llm.scripted_server import ScriptedServer
from tests.tiny_baselines import build_bert, build_causal, build_t5
from tests.tiny_tools import Corpus

QUESTION = Question("q1", "tiny",
                    "Which gas boils at 119.9 kelvin, and who shared the Nobel Prize in Physics in 1903?", ("Krypton",))
ANSWERS = Answers(k=4, rounds=3)


@dataclass
class Shelf:
    """The corpus, lent with the roles of a server."""

    corpus: Corpus
    root: Path

    @property
    def library(self) -> Library:
        """The items."""
        return self.corpus.library

    @cached_property
    def models(self) -> dict[str, Path]:
        """Folders of the tiny models that baselines load, by their keys."""
        return {"recomp_extractive": build_bert(self.root / "bert"), "recomp_abstractive": build_t5(self.root / "t5"),
                "longllmlingua": build_causal(self.root / "causal")}

    def tools(self, server: ScriptedServer | None = None, answers: Answers = ANSWERS, corpus_scope: str = "unified",
              sees_media: bool = False, **more: Any) -> Tools:
        """Tools over the corpus, all roles played by the server; tokens are estimated, and nothing is cached."""
        chat = ChatClient(Server(server.url if server else "http://127.0.0.1:9/v1", "tiny", timeout_seconds=5.0,
                                 tries=4), None, wait=lambda seconds: None)
        reader = LanguageReader(chat, "tiny", EstimatedTokens(), sees_media)
        roles = Roles(LanguageCritic(chat, reader.count_tokens), LanguageClassifier(chat), LanguageRouter(chat),
                      reader, "scripted", "llm", chat)
        scorers = {n: self.corpus.scorers[n] for n in ("f0", "f_theta")}
        return Tools(self.corpus.library, self.corpus.searcher, scorers, roles, answers, corpus_scope, **more)

    def answer(self, name: str, server: ScriptedServer | None = None, question: Question = QUESTION,
               answers: Answers = ANSWERS,
               **more: Any) -> tuple[Result, Trace]:
        """Answer a question with a system, made as the evaluation makes it."""
        trace, spec = Trace(), find_systems([name])[0]
        models = {k: self.models[k] for k in spec.needs.models}
        return spec.make(answers).answer(question, self.tools(server, answers, models=models, **more), trace), trace
