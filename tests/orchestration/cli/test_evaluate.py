"""`canopy evaluate` and `canopy sweep`: what they list, write and print; the stages they run are tested elsewhere."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from assets.orchestrator import DagsterOrchestrator
from canopy.answers.rows import ANSWER_SCHEMA, METRICS
from canopy.config import Config, load_config
from canopy.errors import CanopyError, DataError
from canopy.items import write_table
from canopy.pipelines.base import all_systems
from orchestration.cli.answers_table import read_lines, show_answers
from orchestration.cli.evaluate import register, server_of_environment
from orchestration.cli.seconds_table import show_seconds, show_time
from orchestration.cli.sweep import side_by_side
from orchestration.cli.system_listing import show_systems
from orchestration.pipeline.parameter_sweep import compare, plan_points, run_points, write_comparison
from orchestration.pipeline.params_file import set_params
from orchestration.pipeline.sweep_point import Point
from tests.llm.scripted_server import ScriptedServer
from tests.orchestration.project import ROOT

PARAMS = "benchmarks: {tiny: {adapter: native, path: raw}}\nevaluation: {resamples: 100}\n"


def console(width: int = 400, terminal: bool = False) -> Console:
    return Console(record=True, width=width, file=open("/dev/null", "w"), force_terminal=terminal)


def list_systems(root: Path, params: str = PARAMS, out: Console | None = None) -> str:
    (root / "params.yaml").write_text(params)
    out = out or console()
    show_systems(root, load_config(root / "params.yaml"), out)
    return out.export_text()


def paragraph(text: str, system: str) -> str:
    """The paragraph on a system."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"{system}: "))
    return "\n".join([lines[start], *itertools.takewhile(lambda line: line.startswith("    "), lines[start + 1:])])


def test_every_system_is_listed_with_what_it_needs_and_whether_it_can_run(tmp_path: Path) -> None:
    text = list_systems(tmp_path)
    for name, spec in all_systems().items():
        assert f"    {spec.says}\n" in paragraph(text, name) + "\n"
    canopy, ircot = paragraph(text, "canopy"), paragraph(text, "ircot")
    assert canopy.startswith("canopy: can run here\n") and "why not" not in canopy
    assert "    needs gold evidence" in paragraph(text, "gold-item")
    assert ircot.startswith("ircot: cannot run here\n")
    assert "    why not: needs a language model server: set language.base_url" in ircot
    assert ("    why not: needs a model: answers.models.recomp_extractive is not set; "
            in paragraph(text, "recomp-extractive"))
    assert "No language model server is set: the LLM-free roles read" in text


def test_the_list_fits_a_terminal_and_a_pipe_gets_whole_lines(tmp_path: Path) -> None:
    narrow = list_systems(tmp_path, out=console(80, terminal=True))
    piped = list_systems(tmp_path, out=console(80))
    assert max(map(len, narrow.splitlines())) <= 80 and 2 <= len(paragraph(narrow, "ircot").splitlines()) <= 8
    assert "CANOPY_LLM_MODEL" in narrow and "fangyuan/nq_extractive_compressor" in narrow  # not cut, to be copied
    assert len(paragraph(piped, "ircot").splitlines()) == 4
    assert ("    why not: needs a language model server: set language.base_url and language.model in params.yaml, or"
            in piped)
    assert " ".join(narrow.split()) == " ".join(piped.split())


def test_a_server_that_answers_and_one_that_does_not(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        text = list_systems(tmp_path, PARAMS + f"language: {{base_url: '{server.url}'}}\n")
        assert "ircot: can run here" in text and f"Read by the model at {server.url}." in text and not server.requests
        url = server.url
    text = list_systems(tmp_path, PARAMS + f"language: {{base_url: '{url}'}}\n")
    assert "ircot: cannot run here" in text and "no system can run" in text


def test_the_command_lists_and_names_what_does_not_exist() -> None:
    app = typer.Typer()
    register(app)
    app.callback()(lambda: None)  # one command alone would be the program itself
    shown = CliRunner().invoke(app, ["evaluate", "--list", "--workspace", str(ROOT)])
    assert shown.exit_code == 0 and "canopy-lookahead" in shown.output and "systems can run in" in shown.output
    refused = CliRunner().invoke(app, ["evaluate", "--systems", "canopy,canopie", "--workspace", str(ROOT)])
    assert isinstance(refused.exception, DataError) and "no system 'canopie'" in str(refused.exception)


def test_the_environments_server_is_written_down_and_its_key_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config.model_validate({"benchmarks": {"tiny": {"adapter": "native", "path": "raw"}}})
    assert server_of_environment(config, console()) == []
    for name, value in (("BASE_URL", "http://127.0.0.1:1/v1"), ("MODEL", "m"), ("API_KEY", "secret")):
        monkeypatch.setenv(f"CANOPY_LLM_{name}", value)
    assert server_of_environment(config, console()) == ["language.base_url=http://127.0.0.1:1/v1", "language.model=m"]
    language = config.language.model_copy(update={"base_url": "http://127.0.0.1:2/v1", "model": "m"})
    named = config.model_copy(update={"language": language})
    out = console()
    assert server_of_environment(named, out) == []
    text = out.export_text()  # what a user set last is not passed over in silence
    assert ("CANOPY_LLM_BASE_URL (http://127.0.0.1:1/v1) is not used: params.yaml names http://127.0.0.1:2/v1; "
            "--set language.base_url=http://127.0.0.1:1/v1 changes that") in text
    assert "CANOPY_LLM_MODEL" not in text and "secret" not in text


def write_answers(root: Path, em: dict[str, list[float]], primary: Sequence[str] = ("em", "f1"),
                  corpus_scopes: Sequence[str] = ("unified",)) -> Path:
    """What the stage `answers` writes, made up."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "params.yaml").write_text(PARAMS)
    folder = root / "data" / "answers" / "tiny"
    blank: dict[str, Any] = {
        "reader": "words", "variant": "", "seed": 13, "k": 3, "rounds_limit": 1, "prediction": "x",
        **{m: None for m in METRICS}, "tokens": 10, "whole_tokens": 40, "calls": [], "rounds": 1, "retrieved": 3,
        "follow_up_retrieved": 0, "duplicates": 0, "cap_cut": False, "gold_items_found": 1, "gold_items": 2,
        "gold_recall": 0.5, "answer_in_evidence": None, "items_refinable": 1, "items_kept": 1, "items_split": 0,
        "items_pruned": 0, "outcomes": [], "notes": [], "evidence": []}
    rows = [{**blank, "question_id": f"q{n}", "system": system, "corpus_scope": scope, **dict.fromkeys(primary, v)}
            for scope in corpus_scopes for system, values in em.items() for n, v in enumerate(values)]
    write_table(folder / "answers.parquet", rows, ANSWER_SCHEMA)
    about: dict[str, Any] = {"says": "It answers.", "family": "system", "paper": "", "needs": "", "readers": ["words"],
                             "corpus_scopes": list(corpus_scopes), "main": None, "component": False,
                             "oracle": False, "searcher": False, "sweeps": []}
    systems = [{**about, "name": s, "ran": True, "why_not": []} for s in em]
    systems.append({**about, "name": "ircot", "ran": False, "why_not": ["needs a language model server"]})
    (folder / "systems.json").write_text(json.dumps({
        "readers": [{"name": "words", "label": "the word reader", "kind": "plain"}], "llm_free": True,
        "systems": systems, "own_is_unified": False, "corpus_scopes": list(corpus_scopes),
        "questions": {"test": 20, "asked": {"13": 20}}, "seeds": [13],
        "metric": {"primary": list(primary), "rules": "As SQuAD."}}))
    return root


def test_answers_are_shown_with_intervals_and_what_was_not_run_with_why(tmp_path: Path) -> None:
    root, out = write_answers(tmp_path, {"vanilla": [1.0, 0.0] * 10, "canopy": [1.0] * 20}), console()
    assert show_answers(root, load_config(root / "params.yaml"), out) == 2
    text = out.export_text()
    assert "tiny, unified corpus" in text and "50.0% [" in text and "+50.0 [" in text and "EM - vanilla's" in text
    assert "read by the word reader; no language model took part. As SQuAD." in text
    assert "not run: ircot: needs a language model server" in text
    (root / "data" / "answers" / "tiny" / "systems.json").unlink()
    with pytest.raises(CanopyError, match="no answers that can be read"):
        read_lines(root, load_config(root / "params.yaml"), "tiny")


def test_no_figure_is_cut_off_in_a_pipe_or_on_a_terminal(tmp_path: Path) -> None:
    """HotpotQA has four official measures; a system's name may be long."""
    root = write_answers(tmp_path, {"vanilla": [1.0, 0.0] * 10, "canopy-aggregate-all": [1.0] * 20},
                         ["em", "f1", "sp_f1", "joint_f1"])
    for out in (console(80), *(console(width, terminal=True) for width in (80, 120, 160, 240))):
        show_answers(root, load_config(root / "params.yaml"), out)
        text = out.export_text()
        assert "\u2026" not in text and "canopy-aggregate-all" in text
        assert ("sp f1" in text and "calls" in text) is (not out.is_terminal or out.width == 240)


def test_what_answers_took_is_shown_cold_and_cached(tmp_path: Path) -> None:
    root, path = tmp_path, tmp_path / ".canopy" / "timings" / "answers-tiny.json"

    def shown() -> str:
        out = console(80, terminal=True)
        show_seconds(root, "tiny", out)
        return out.export_text().replace(str(path), "FILE")

    assert "no seconds were measured here" in shown()
    path.parent.mkdir(parents=True)
    row = {"reader": "words", "corpus_scope": "unified", "system": "canopy", "variant": "", "answers": 3, "mean": 0.25,
           "median": 0.125, "p95": 3.0, "roles": {}, "activities": {"search": 0.0004, "read": 0.2},
           "answers_from_cached_calls": 0}
    steps = {"query_encoding": 0.011, "search": 0.00042, "node_encoding_cold": 2.31, "node_scores_cached": 0.0012,
             "nodes": 61.0, "questions": 3.0}
    rows = [row, {**row, "variant": "k=5", "mean": 77.0}, {**row, "corpus_scope": "gold", "mean": 88.0}]
    path.write_text(json.dumps({"systems": rows, "retrieval": {"unified": steps, "own": steps}}))
    text = shown()
    lines = text.splitlines()
    assert max(len(line) for line in lines if "FILE" not in line) <= 80
    assert "every corpus, size and role: FILE" in text and "mean of 3, one thread" in text
    for corpus in ("unified", "own"):
        cells = next(line.split() for line in lines if line.startswith(f" {corpus} "))
        assert cells == [corpus, "11", "ms", "0.42", "ms", "2.3", "s", "1.2", "ms", "61"]
    assert ["canopy", "250", "125", "3,000", "0.40", "200", "50"] in [line.split() for line in lines]
    assert "77" not in text and "88" not in text
    path.write_text("[]")
    assert "no seconds that can be read" in shown()
    times = [show_time(s) for s in (0, 0.0000049, 0.0099, 0.9999, 99.96, 1234)]
    assert times == ["0", "0.0049 ms", "9.9 ms", "1.0 s", "100 s", "1,234 s"]


def test_values_are_combined(tmp_path: Path) -> None:
    axes = ["hierarchy.branching=2,4", "answers.k=5", "answers.corpus_scopes=[unified],[own, gold]"]
    points = plan_points(tmp_path, axes, ["answers.systems=[canopy]"])
    names = [f"B={b}, corpus_scopes={s}" for b in (2, 4) for s in ("[unified]", "[own, gold]")]
    assert [p.name for p in points] == names
    assert points[3].assignments == ("answers.systems=[canopy]", "hierarchy.branching=4", "answers.k=5",
                                     "answers.corpus_scopes=[own, gold]")
    assert points[0].axes == ("hierarchy.branching", "answers.corpus_scopes")
    assert len({p.folder for p in points}) == 4
    assert all(p.folder.is_relative_to(tmp_path / ".canopy" / "sweeps") for p in points)
    axes = ["hierarchy.branching=4,2", "answers.k=5", "answers.corpus_scopes=[own, gold],[unified]"]
    again = plan_points(tmp_path, axes)
    assert {p.folder for p in again} == {p.folder for p in points}  # a point keeps its workspace in another sweep


@pytest.mark.parametrize(("assignment", "message"), [
    ("answers.k=5,0", r"^k=0: answers\.k: .* greater than or equal to 1"),
    ("answers.budgets=[0.2],[0]", r"^budgets=\[0\]: answers\.budgets\.0: "),
    ("answers.budgets=[1],[1.5]", r"^budgets=\[1\.5\]: "),
    ("answers.sweep_rounds=[16],[17]", r"^sweep_rounds=\[17\]: "),
    ("answers.foo=1,2", "answers.foo"),
])
def test_values_that_a_parameter_does_not_take_stop_a_sweep_before_it_begins(
        assignment: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(PARAMS)
    with pytest.raises(DataError, match=message):
        run_points(tmp_path, plan_points(tmp_path, [assignment]), DagsterOrchestrator(), console())
    assert [p.name for p in tmp_path.iterdir()] == ["params.yaml"]


@pytest.mark.parametrize("content", [b"benchmarks: [1", b"\xff\xfe\x00junk", b"- a"])
def test_parameters_that_cannot_be_read_are_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_bytes(content)
    with pytest.raises(DataError, match=r"^\S+params\.yaml: ") as error:
        run_points(tmp_path, [Point("k=1", ("answers.k=1",), tmp_path / "p")], DagsterOrchestrator(), console())
    assert "\n" not in str(error.value)
    with pytest.raises(DataError, match=r"^\S+params\.yaml: [^\n]+$"):
        set_params(tmp_path, ["answers.questions=3"])


@pytest.mark.parametrize("assignment", [
    "hierarchy.branching", "hierarchy.branching=2", "=2,3", "answers.k=", "answers.k=5,5", "answers.k=[5,6"])
def test_what_is_no_sweep_is_refused(assignment: str, tmp_path: Path) -> None:
    with pytest.raises(DataError):
        plan_points(tmp_path, [assignment])


def test_points_are_laid_side_by_side_on_the_same_questions_a_corpus_a_table(tmp_path: Path) -> None:
    wins = {2: [0.0] * 20, 4: [0.0] * 15 + [1.0] * 5}
    folders = {b: write_answers(tmp_path / f"b{b}", {"vanilla": [1.0, 0.0] * 10, "canopy": values},
                                corpus_scopes=("unified", "gold")) for b, values in wins.items()}
    points = [Point(f"B={b}", (), f, ("hierarchy.branching",)) for b, f in folders.items()]
    files, tables = compare(points)
    assert [t.about["corpus"] for t in tables] == ["unified corpus", "gold items given"]  # no table mixes corpora
    assert all(len(t.rows) == 4 for t in tables)
    shown = {r["system"]: r for r in tables[0].rows}
    assert list(shown) == ["vanilla B=2", "vanilla B=4", "canopy B=2", "canopy B=4"]
    assert shown["vanilla B=4"]["difference"].estimate == 0.0 and "difference" not in shown["canopy B=2"]
    difference = shown["canopy B=4"]["difference"]
    assert 0.05 <= difference.low < difference.estimate == 0.25 < difference.high
    written = write_comparison(points, files)
    assert {p.name for p in written} == {"comparison.html", "comparison.md"}
    assert all(p.parent == tmp_path for p in written)
    figure = "figures/sweep-unified-tiny.svg"
    assert {"tables/sweep-unified.csv", "tables/sweep-gold.csv", figure} <= set(files)
    assert (tmp_path / figure).is_file()
    page = written[0].read_text()
    assert "Table 9" in page and "little change" in page and "<svg" in page and "<script" not in page
    assert "+25.0" in written[1].read_text()
    out = console(80, terminal=True)
    out.print(side_by_side(tables[0]))
    text = out.export_text()
    assert "\u2026" not in text and "EM, less" in text and "+25.0" in text and "25.0%" in text
    (folders[4] / "data" / "answers" / "tiny" / "systems.json").unlink()
    with pytest.raises(DataError, match="no answers of tiny at B=4: run the same `canopy sweep` again"):
        compare(points)
