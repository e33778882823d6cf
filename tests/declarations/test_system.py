"""A system is one file.

Its module's ``SYSTEMS`` is found, it answers in the stage `answers`, and systems.json says what the report needs of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from canopy import pipelines
from canopy.pipelines.availability import model_hints
from canopy.pipelines.base import all_systems
from tests.answer_workspace import QUESTIONS, answer, copy_answer_workspace, make_answer_workspace, outputs, table

MODULE = '''
from canopy.pipelines.base import Needs, Round, SystemSpec
from canopy.pipelines.compression import keep_whole
from canopy.pipelines.evidence import answer_from

MODELS = {"first_item_model": "download it anywhere"}


class FirstItems:
    """Reads the best items, at most ``k``."""

    def __init__(self, k):
        self.k = k

    def answer(self, question, tools, trace):
        ids = tuple(i for i, _ in tools.find(question.id, question.question, self.k, trace))
        return answer_from(question, tools, trace, [Round(question.question, ids, ids, tuple(keep_whole(ids, tools)))])


SYSTEMS = (
    SystemSpec("first-items", "the best items, whole", lambda answers: FirstItems(min(answers.k, 2)), paper="First",
               family="main", main=8, component=True, sweeps=("k",), sizes=lambda answers: {"size=1": FirstItems(1)}),
    SystemSpec("first-item-search", "another search", lambda answers: FirstItems(1), searcher=True),
    SystemSpec("first-item-model", "needs a model", lambda answers: FirstItems(1), Needs(models=("first_item_model",))),
)
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with one more module of systems, for the time of a test."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "first_items.py").write_text(MODULE)
    monkeypatch.setattr(pipelines, "__path__", [*pipelines.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, "canopy.pipelines.first_items", raising=False)
    monkeypatch.delattr(pipelines, "first_items", raising=False)


def test_a_module_more_is_a_system_more(package: None, tmp_path: Path) -> None:
    assert {"first-items", "first-item-search", "first-item-model", "canopy"} <= set(all_systems())
    made = make_answer_workspace(tmp_path / "made")
    systems = "systems: [vanilla, first-items, first-item-search, first-item-model], sweep_k: [1], k: 3"
    root = copy_answer_workspace(made, tmp_path / "w", [("k: 3, budgets: [0.3]", systems)])
    answer(root)

    listed = {s["name"]: s for s in json.loads(outputs(root)["systems.json"])["systems"]}
    first, search, model = listed["first-items"], listed["first-item-search"], listed["first-item-model"]
    described = {k: first[k] for k in ("says", "paper", "family", "main", "component", "oracle", "searcher", "sweeps",
                                       "ran")}
    assert described == {"says": "the best items, whole", "paper": "First", "family": "main", "main": 8,
                         "component": True, "oracle": False,
                         "searcher": False, "sweeps": ["k"], "ran": True}
    assert search["searcher"] and "gold" in first["corpus_scopes"] and "gold" not in search["corpus_scopes"]
    assert not model["ran"] and "download it anywhere" in model["why_not"][0] and "first_item_model" in model_hints()

    rows = [r for r in table(root).to_pylist() if r["system"] == "first-items"]
    assert {(r["corpus_scope"], r["variant"]) for r in rows} >= {("unified", ""), ("unified", "k=1"),
                                                                 ("unified", "size=1"), ("gold", "")}
    assert {r["question_id"] for r in rows if not r["variant"]} == {q.id for q in QUESTIONS}
    assert {r["retrieved"] for r in rows if (r["corpus_scope"], r["variant"]) == ("unified", "")} == {2}


def test_without_the_folder_it_is_gone() -> None:
    assert "first-items" not in all_systems() and "first_item_model" not in model_hints()


def test_the_systems_say_where_the_paper_has_them() -> None:
    systems = all_systems().values()
    main = sorted((s for s in systems if s.main is not None), key=lambda s: s.main or 0)
    assert [s.name for s in main] == ["no-retrieval", "vanilla", "universal-rag", "ircot", "canopy",
                                      "canopy-lookahead", "canopy-routed"]
    assert [s.main for s in main] == list(range(1, len(main) + 1))
    assert [s.name for s in systems if s.component] == ["canopy", "canopy-no-projection", "canopy-no-iteration",
                                                        "canopy-f0"]
    assert {s.name for s in systems if s.oracle} == {s.name for s in systems if s.needs.gold} == {"gold-item",
                                                                                                  "gold-span"}
