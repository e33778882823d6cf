"""The stage `answers` over a tiny corpus.

Every system, deterministic bytes, and a run that a failing server or a kill interrupts and another one ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from canopy.errors import DataError, ServerError
from canopy.llm.cache import request_key
from canopy.pipelines.base import all_systems
from tests.answer_workspace import QUESTIONS, answer, copy_answer_workspace, make_answer_workspace, outputs, table
from tests.llm.scripted_server import Request, ScriptedServer, answer_plainly, prompt_of

ROOT = Path(__file__).resolve().parents[2]
LLM = ("answers: {k: 3, budgets: [0.3]}",
       'language: {base_url: "URL", model: tiny, concurrency: 4, tries: 2, timeout_seconds: 20}\nanswers: {k: 3, '
       'systems: SYSTEMS}')


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace, nothing answered."""
    return make_answer_workspace(tmp_path_factory.mktemp("answers") / "w")


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user set must not reach these tests."""
    for name in ("BASE_URL", "MODEL", "API_KEY"):
        monkeypatch.delenv(f"CANOPY_LLM_{name}", raising=False)


@pytest.fixture(scope="module")
def answered(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every system that can run without a language model."""
    root = copy_answer_workspace(base, tmp_path_factory.mktemp("answered") / "w")
    answer(root)
    return root


def journals(root: Path) -> list[Path]:
    return sorted((root / ".canopy" / "work" / "answers").glob("*.jsonl"))


def over(server: ScriptedServer, systems: str) -> list[tuple[str, str]]:
    return [(LLM[0], LLM[1].replace("URL", server.url).replace("SYSTEMS", systems))]


def test_every_system_that_can_run_answers_every_question(answered: Path) -> None:
    listed = json.loads(outputs(answered)["systems.json"])
    assert (
        [s["name"] for s in listed["systems"]] == list(all_systems())
        and listed["llm_free"]
        and listed["questions"] == {"test": 6, "asked": {"13": 6}}
    )
    not_run = {s["name"]: s["why_not"] for s in listed["systems"] if not s["ran"]}
    assert {"ircot", "s2g-rag",
            "canopy-per-modality"} <= set(not_run) and all(not_run.values()) and "canopy" not in not_run
    rows = table(answered).to_pylist()
    ran = Counter((r["system"], r["corpus_scope"]) for r in rows if not r["variant"])
    assert ran == {(s["name"], corpus_scope): 6 for s in listed["systems"] for corpus_scope in s["corpus_scopes"]}
    assert {r["question_id"] for r in rows} == {q.id for q in QUESTIONS} and all(r["answer_in_evidence"] is None
                                                                                 for r in rows if r["question_id"]
                                                                                 == "tiny/verdict")
    gold = [r for r in rows if r["system"] == "gold-span"]
    assert {r["corpus_scope"] for r in gold} == {"gold"} and all(r["gold_recall"] == 1.0 for r in gold)
    assert all(r["calls"] == [] for r in rows)  # no language model took part
    whole = {r["question_id"]: r for r in rows if r["system"] == "vanilla" and r["corpus_scope"] == "unified"}
    assert all(r["tokens"] == r["whole_tokens"] and r["retrieved"] == 3 and r["rounds"] == 1 for r in whole.values())
    assert all(r["tokens"] <= whole[r["question_id"]]["tokens"] for r in rows if r["system"] == "flat-leaf-m1"
               and r["corpus_scope"] == "unified")


def test_the_own_corpus_is_all_there_is_so_its_rows_are_the_unified_ones(answered: Path) -> None:
    listed, rows = json.loads(outputs(answered)["systems.json"]), table(answered).to_pylist()
    assert listed["own_is_unified"]
    unified, own = ([{k: v for k, v in r.items() if k != "corpus_scope"} for r in rows if r["corpus_scope"] == s]
                    for s in ("unified", "own"))
    assert unified == own


def test_rounds_say_what_each_retrieved_and_kept(answered: Path) -> None:
    rows = [r for r in table(answered, "rounds").to_pylist() if r["system"] == "canopy" and r["corpus_scope"]
            == "unified"]
    counted = Counter(r["question_id"] for r in rows)
    assert counted == {r["question_id"]: r["rounds"] for r in table(answered).to_pylist() if r["system"] == "canopy"
                       and r["corpus_scope"] == "unified" and not r["variant"]}
    assert all({k["item_id"] for k in r["kept"]} == set(r["new"]) <= set(r["retrieved"]) for r in rows)
    assert {r["query"] for r in rows if r["round"] == 1} == {q.question for q in QUESTIONS}


def test_again_gives_the_same_bytes_and_answers_nothing_again(answered: Path) -> None:
    before, lines = outputs(answered), journals(answered)[0].read_bytes()
    answer(answered)
    assert outputs(answered) == before and journals(answered)[0].read_bytes() == lines
    summary = json.loads(before["summary.json"])
    assert not any("second" in k for k in (*summary["metrics"],
                                           *(c for rows in summary["tables"].values() for r in rows for c in r)))
    timings = json.loads((answered / ".canopy" / "timings" / "answers-tiny.json").read_text())
    assert {"query_encoding", "search", "node_encoding_cold",
            "node_scores_cached"} <= set(timings["retrieval"]["unified"]) and timings["systems"]


def test_more_systems_and_other_samples_add_to_what_is_there_and_other_sizes_do_not(base: Path, tmp_path: Path) -> None:
    root = copy_answer_workspace(base, tmp_path / "w", [("budgets: [0.3]}",
                                                         "systems: [vanilla], corpus_scopes: [unified], questions: 2, "
                                                         "seeds: [1, 2]}")])
    answer(root)
    rows = table(root).to_pylist()
    assert Counter(r["seed"] for r in rows) == {1: 2, 2: 2} and {r["question_id"] for r in rows if r["seed"]
                                                                 == 1} != {r["question_id"] for r in rows if r["seed"]
                                                                           == 2}
    (first,), lines = journals(root), journals(root)[0].read_bytes()

    def change(old: str, new: str) -> None:
        text = (root / "params.yaml").read_text()
        assert old in text
        (root / "params.yaml").write_text(text.replace(old, new))
        answer(root)

    change("systems: [vanilla], corpus_scopes: [unified], questions: 2",
           "systems: [vanilla, flat-leaf-m1], corpus_scopes: [unified, gold], questions: 0")
    assert journals(root) == [first] and first.read_bytes().startswith(lines)
    keys = [tuple(json.loads(x)[0]) for x in first.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 4 * 6
    change("k: 3", "k: 2")
    assert len(journals(root)) == 1 and journals(root) != [first]
    assert {r["k"] for r in table(root).to_pylist()} == {2}


def test_a_system_that_does_not_exist_is_named(base: Path, tmp_path: Path) -> None:
    root = copy_answer_workspace(base, tmp_path / "w", [("budgets: [0.3]", "systems: [canopie]")])
    with pytest.raises(DataError, match="no system 'canopie'; there are"):
        answer(root)


def test_over_a_server_every_call_is_counted(base: Path, tmp_path: Path) -> None:
    def script(request: Request) -> str:
        return (
            '{"sufficient": false, "missing": "more", "query": "rivers"}'
            if prompt_of(request) == "critic"
            else answer_plainly(request)
        )

    with ScriptedServer(script) as server:
        root = copy_answer_workspace(base, tmp_path / "w", over(server, "[canopy, vanilla, no-retrieval]"))
        answer(root)
        listed, rows = json.loads(outputs(root)["systems.json"]), table(root).to_pylist()
        assert (
            not listed["llm_free"]
            and listed["readers"][0]["kind"] == "llm"
            and all(s["ran"] for s in listed["systems"])
        )
        calls = {(r["system"], r["corpus_scope"], r["question_id"]): {c["role"]: c["count"] for c in r["calls"]}
                 for r in rows}
        assert all(c["critic"] == 2 and c["reader"] == 1 and c.get("classifier", 0) <= 1 for (s, where, _),
                   c in calls.items() if s == "canopy" and where == "unified")
        assert all(c == {"reader": 1} for (s, where, _), c in calls.items() if s in ("vanilla", "no-retrieval"))
        assert all("critic" not in c for (s, where, _), c in calls.items() if where == "gold")
        counts = Counter(request_key(r) for r in server.requests)
        answer(root)
        # the same question is asked once, whoever asks
        assert Counter(request_key(r) for r in server.requests) == counts and max(counts.values()) == 1


def test_another_reader_leaves_what_is_answered_be(base: Path, tmp_path: Path) -> None:
    root = copy_answer_workspace(base, tmp_path / "w", [("budgets: [0.3]}",
                                                         "systems: [vanilla, canopy], corpus_scopes: [unified]}")])
    answer(root)
    (first,), lines = journals(root), journals(root)[0].read_bytes()

    def change(old: str, new: str) -> None:
        text = (root / "params.yaml").read_text()
        assert old in text
        (root / "params.yaml").write_text(text.replace(old, new))
        answer(root)

    with ScriptedServer() as server:
        reader = f"readers: [{{base_url: '{server.url}', model: tiny}}]"
        change("corpus_scopes: [unified]", f"corpus_scopes: [unified], {reader}")
        assert (
            journals(root) == [first]
            and first.read_bytes().startswith(lines)
            and first.read_bytes().count(b"\n") == 2 * len(lines.splitlines())
        )
        assert Counter(r["reader"] for r in table(root).to_pylist() if r["corpus_scope"]
                       == "unified") == {"extractive": 12, "tiny": 12}
        calls = len(server.requests)
        # it answers otherwise: its answers are made anew, and no others
        change("model: tiny", "model: tiny, temperature: 0.5")
        assert (
            journals(root) == [first]
            and first.read_bytes().count(b"\n") == 3 * len(lines.splitlines())
            and len(server.requests) == 2 * calls
        )


def test_the_critic_reads_no_more_than_the_reader_may(base: Path, tmp_path: Path) -> None:
    def script(request: Request) -> str:
        return (
            '{"sufficient": false, "missing": "more", "query": "rivers"}'
            if prompt_of(request) == "critic"
            else answer_plainly(request)
        )

    with ScriptedServer(script) as server:
        root = copy_answer_workspace(base, tmp_path / "w", [("answers: {k: 3, budgets: [0.3]}",
                                                             f"language: {{base_url: '{server.url}', model: tiny}}\n"
                                                             "answers: {k: 6, systems: [canopy-no-projection], "
                                                             "corpus_scopes: [unified], evidence_tokens: 100}")])
        answer(root)
        rows = table(root).to_pylist()
        assert any(r["cap_cut"] for r in rows) and any(n["note"] == "regions the critic had no room for" for r in rows
                                                       for n in r["notes"])


def test_a_failing_server_stops_the_run_and_the_next_one_goes_on(base: Path, tmp_path: Path) -> None:
    broken = threading.Event()
    broken.set()

    def faults(request: Request, before: int) -> str:
        return "500" if broken.is_set() and "neon" in json.dumps(request) else ""

    with ScriptedServer(faults=faults) as server:
        root = copy_answer_workspace(base, tmp_path / "w", over(server, "[vanilla, canopy]"))
        with pytest.raises(ServerError,
                           match=r"answers@tiny: \S+ \(\w+\) stopped at question tiny/neon: .*500.*; \d+ finished "
                                 r"answers are kept"):
            answer(root)
        assert not (root / "data" / "answers").exists() or not list((root / "data" / "answers").glob("[!.]*"))
        answered, kept = Counter(server.answered), journals(root)[0].read_bytes()
        broken.clear()
        answer(root)
        assert journals(root)[0].read_bytes().startswith(kept) and all(server.answered[k] == n == 1 for k,
                                                                       n in answered.items())
        assert Counter(r["question_id"] for r in table(root).to_pylist() if r["corpus_scope"]
                       == "unified") == {q.id: 2 for q in QUESTIONS}


def test_requests_that_fail_for_long_are_asked_again_after_the_others(base: Path, tmp_path: Path) -> None:
    """All tries of every reader's request about one question fail: the run ends as one without faults, in one go."""
    def faults(request: Request, before: int) -> str:
        return (
            "429 now"
            if before < 3
            and prompt_of(request).startswith("reader")
            and "Aswan High Dam on the Nile finished?" in json.dumps(request)
            else ""
        )

    results = []
    for fault in (lambda request, before: "", faults):
        with ScriptedServer(faults=fault) as server:
            root = copy_answer_workspace(base, tmp_path / f"w{len(results)}",
                                         over(server, "[vanilla, canopy, s2g-rag, flat-leaf-m2]"))
            answer(root)
            results.append(outputs(root))
            repeated = Counter(server.asked.values())
    assert results[0] == results[1] and set(repeated) == {1, 4}  # two tries a turn


@pytest.mark.slow
def test_processes_answer_as_one_does(answered: Path, base: Path, tmp_path: Path,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("canopy.answers.answering.MIN_ANSWERS_FOR_PROCESSES", 1)
    monkeypatch.setattr("canopy.answers.answering.usable_cores", lambda: 2)
    root = copy_answer_workspace(base, tmp_path / "w")
    answer(root)
    assert outputs(root) == outputs(answered)


RUN = """
import sys
from pathlib import Path
from tests.answer_workspace import answer
answer(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_killed_in_its_middle_and_started_again(base: Path, tmp_path: Path) -> None:
    """No call that was answered is made twice, no finished answer is made again, and the output is that of a run
    nobody interrupted."""
    with ScriptedServer(delay=0.05) as server:
        root = copy_answer_workspace(base, tmp_path / "w", over(server, "[canopy, canopy-lookahead, vanilla, ircot]"))
        command: dict[str, Any] = {"args": [sys.executable, "-c", RUN, str(root)], "cwd": ROOT,
                                   "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
        first = subprocess.Popen(**command)
        until = time.monotonic() + 120
        while sum(f.read_bytes().count(b"\n") for f in journals(root)) < 8:
            assert first.poll() is None and time.monotonic() < until
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        assert first.wait(30) == -signal.SIGKILL and not (root / "data" / "answers" / "tiny").exists()
        time.sleep(0.3)  # what was on its way when the process died
        finished, answered = journals(root)[0].read_bytes(), Counter(server.answered)
        subprocess.run(**command, check=True, timeout=120)
        lines = journals(root)[0].read_bytes()
        assert lines.startswith(finished[:finished.rindex(b"\n") + 1])
        keys = [tuple(json.loads(x)[0]) for x in lines.splitlines()]
        assert len(keys) == len(set(keys)) == 6 * (3 * 2 + 1)
        repeated = [k for k in answered if server.answered[k] > 1]
        assert len(repeated) <= 4  # answered into the dead process's hands: at most what was in flight
        undisturbed = copy_answer_workspace(base, tmp_path / "u",
                                            over(server, "[canopy, canopy-lookahead, vanilla, ircot]"))
        answer(undisturbed)
        assert outputs(undisturbed) == outputs(root)
