"""The stage `answers` with baselines that load models of their own.

What their rows say, whose answers a changed model makes anew, and where they are loaded.
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest

from canopy.answers import answering
from canopy.answers.fingerprint import fingerprint
from canopy.config import load_config
from canopy.errors import DataError
from canopy.paths import Paths
from canopy.pipelines import recomp
from canopy.pipelines.availability import folder_mark
from canopy.stages.code import CODE_ROOT, code_deps
from tests.answer_workspace import PARAMS, answer, copy_answer_workspace, make_answer_workspace, outputs, table
from tests.tiny_baselines import build_bert, build_causal, build_t5

ASKED = PARAMS.splitlines()[-1]
BASELINES = ["recomp-extractive", "recomp-abstractive", *(["longllmlingua"] if importlib.util.find_spec("llmlingua")
                                                          else [])]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace with the models' folders, nothing answered."""
    root = make_answer_workspace(tmp_path_factory.mktemp("answers") / "w")
    for name, build in {"bert": build_bert, "t5": build_t5, "causal": build_causal}.items():
        build(root / "models" / name)
    return root


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server that a user set, and short summaries: a random model never writes their end."""
    for name in ("BASE_URL", "MODEL", "API_KEY"):
        monkeypatch.delenv(f"CANOPY_LLM_{name}", raising=False)
    monkeypatch.setattr(recomp, "SUMMARY_TOKENS", 12)


def workspace(base: Path, target: Path, systems: list[str], **models: str) -> Path:
    """A copy that runs some systems over the unified corpus."""
    folders = {"recomp_extractive": "models/bert", "recomp_abstractive": "models/t5",
            "longllmlingua": "models/causal"} | models
    entries = ", ".join(f"{k}: {v}" for k, v in folders.items())
    return copy_answer_workspace(base, target,
                                 [(ASKED, "answers: {k: 3, budgets: [0.3], corpus_scopes: [unified], systems: "
                                          f"[{', '.join(systems)}], models: {{{entries}}}}}")])


def test_a_text_in_the_evidences_place_has_no_fragments_and_no_outcomes(base: Path, tmp_path: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where nothing was written.

    An empty summary beside others that are not counted would be all that the mean is made of.
    """
    summaries = iter(["A summary of it.", ""] * 3)
    monkeypatch.setattr(recomp.Summariser, "summarise", lambda self, question, documents: (next(summaries), False))
    root = workspace(base, tmp_path / "w", ["vanilla", *BASELINES])
    answer(root)
    rows = [r for r in table(root).to_pylist() if not r["variant"]]
    of = {s: [r for r in rows if r["system"] == s] for s in ("vanilla", *BASELINES)}
    assert all(len(group) == 6 for group in of.values())
    for system in BASELINES[1:]:
        assert all(r["gold_recall"] is None and r["outcomes"] == [] and r["items_refinable"] == r["items_pruned"] == 0
                   for r in of[system])
        assert all(r["retrieved"] == 3 and r["whole_tokens"] == v["whole_tokens"] for r,
                   v in zip(of[system], of["vanilla"], strict=True))
    assert sorted(r["tokens"] > 0 for r in of["recomp-abstractive"]) == [False] * 3 + [True] * 3
    assert all(r["gold_recall"] is not None and r["items_pruned"] > 0 and len(r["evidence"]) == 1
               for r in of["recomp-extractive"])
    sizes = {r["variant"] for r in table(root).to_pylist() if r["system"] == "recomp-extractive"}
    assert sizes == {"", "N=2", "N=5", "N=10", "N=20"}


def test_a_model_that_is_not_there_is_a_row_that_says_what_to_download(base: Path, tmp_path: Path) -> None:
    root = workspace(base, tmp_path / "w", ["no-retrieval", "recomp-extractive"], recomp_extractive="models/none")
    answer(root)
    (row,) = [s for s in json.loads(outputs(root)["systems.json"])["systems"] if s["name"] == "recomp-extractive"]
    assert (
        not row["ran"]
        and "'models/none'" in row["why_not"][0]
        and "fangyuan/nq_extractive_compressor" in row["why_not"][0]
    )
    assert {r["system"] for r in table(root).to_pylist()} == {"no-retrieval"}


def test_a_folder_of_another_model_stops_with_a_line_and_keeps_what_was_answered(base: Path, tmp_path: Path) -> None:
    root = workspace(base, tmp_path / "w", ["no-retrieval", "recomp-extractive"], recomp_extractive="models/t5")
    with pytest.raises(DataError, match=r"recomp-extractive \(unified\) stopped at question "
                                        r".*answers.models.recomp_extractive: .*6 finished answers are kept"):
        answer(root)


def test_the_fingerprint_follows_what_is_in_the_models_folders(base: Path, tmp_path: Path) -> None:
    root = workspace(base, tmp_path / "w", ["recomp-extractive"])

    def mark() -> str:
        code = code_deps(CODE_ROOT, "answers")
        return fingerprint(load_config(root / "params.yaml"), Paths(root), "tiny", CODE_ROOT, code)

    seen = [mark()]
    config = root / "models" / "bert" / "config.json"
    content = config.read_text()
    config.write_text(content.replace('"vocab_size"', '"vocab_size" '))
    seen.append(mark())
    config.write_text(content)
    assert mark() == seen[0]
    (root / "models" / "t5" / "more.json").write_text("{}")
    seen.append(mark())
    (root / "models" / "t5" / ".git").mkdir()
    (root / "models" / "t5" / ".git" / "index").write_text("of no matter")
    assert mark() == seen[-1] and len(set(seen)) == 3


def test_large_files_are_told_apart_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("canopy.pipelines.availability.SMALL", 10)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"x" * 100)
    before = folder_mark(tmp_path)
    assert folder_mark(tmp_path) == before
    os.utime(weights, ns=(1, 1))
    assert folder_mark(tmp_path) != before
    assert folder_mark(weights) == folder_mark(weights) and folder_mark(tmp_path / "none") == folder_mark(
        tmp_path / "nothing"
    )


def test_baselines_models_are_loaded_in_one_process(base: Path, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """In every process they would fill the memory."""
    root, sent = workspace(base, tmp_path / "w", ["vanilla", "recomp-extractive"]), list[str]()

    def here(run: Any, paths: Paths, tasks: list[tuple[int, str]], take: Any, workers: int) -> None:
        for n, q in tasks:
            sent.append(run.cells[n].spec.name)
            take((run.cells[n].key(q), run.answer(run.cells[n], next(x for x in run.bench.questions if x.id == q))))

    monkeypatch.setattr(answering, "MIN_ANSWERS_FOR_PROCESSES", 1)
    monkeypatch.setattr(answering, "usable_cores", lambda: 2)
    monkeypatch.setattr(answering, "answer_in_processes", here)
    answer(root)
    assert set(sent) == {"vanilla"} and {r["system"]
                                         for r in table(root).to_pylist()} == {"vanilla", "recomp-extractive"}
