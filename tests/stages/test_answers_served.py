"""The stage `answers` as its command runs it, over a scripted server.

Every system's calls are its protocol's, and no fault of the server changes a row.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canopy.llm.cache import request_key
from canopy.llm.prompting import load_prompt
from canopy.pipelines.base import all_systems
from canopy.pipelines.ircot import MAX_STEPS
from orchestration.pipeline.params_file import set_params
from orchestration.pipeline.workspace import make_workspace
from tests.answer_workspace import BENCHMARK, QUESTIONS, copy_answer_workspace, make_answer_workspace, outputs, table
from tests.llm.scripted_server import Request, ScriptedServer, prompt_of, sources_of, words_of
from tests.tiny_model import ITEMS

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-very-secret-0123456789"
ROUNDS = 3
TABLES = {i.id for i in ITEMS if i.modality == "table"}
GAP = {"category": "attribute", "target": "Marie Curie", "slot": "Nobel Prize", "description": "who shared the prize"}
FOLLOW_UPS = ("Marie Curie and the prize", "the delta of the Nile", "noble gases and their symbols",
              "the crew of the rocket")
# What happens to the first try of some requests; `slow` is later than the client waits, `reset` ends the connection
# with an RST.
FAULTS = ("429", "429 now", "500", "503", "close", "reset", "cut", "cut chunks", "garbage", "no completion", "null")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything but answers."""
    return make_answer_workspace(tmp_path_factory.mktemp("served") / "w")


def draw(request: Request) -> int:
    """A number that follows from the words of a request alone."""
    return int(hashlib.sha256(words_of(request).encode()).hexdigest()[:8], 16)


def various(request: Request) -> str:
    """Every role's replies can be used, and differ from question to question.

    Some evidence suffices, some tables are read as wholes.
    """
    name, number = prompt_of(request), draw(request)
    if name in ("critic", "critic_memory"):
        enough = number % 3 == 0
        verdict = {"sufficient": enough, "missing": "" if enough else "one more fact", "query": "" if enough
                   else FOLLOW_UPS[number % len(FOLLOW_UPS)]}
        return json.dumps({"facts": [f"Fact {number % 100}."], **verdict} if name == "critic_memory" else verdict)
    if name == "s2g_judge":
        return json.dumps({"sufficient": number % 3 == 0, "gap_items": [] if number % 3 == 0 else [GAP]})
    if name == "ircot":
        return (
            "So the answer is: it."
            if number % 4 == 0
            else f"{FOLLOW_UPS[number % len(FOLLOW_UPS)]} are number {number % 1000}."
        )
    return {"s2g_extract": '{"sentences": [1, 3]}', "classifier": json.dumps({"kind": "aggregate" if number % 2
                                                                              else "lookup"}),
            "router": json.dumps({m: (number + n) % 2 == 0 or n == 0 for n,
                                  m in enumerate(sources_of(request))})}.get(name, f"answer {number % 1000}")


def run(root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What DVC calls, in a process of its own."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CANOPY_LLM_")}
    return subprocess.run([sys.executable, "-m", "orchestration.pipeline.stage", "answers", BENCHMARK], cwd=root,
                          capture_output=True, text=True, timeout=600,
                          env={**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment})


def serve(base: Path, root: Path, server: ScriptedServer, *more: str) -> subprocess.CompletedProcess[str]:
    """A fresh copy, with the graph that the command looks at, answered."""
    make_workspace(copy_answer_workspace(base, root), {BENCHMARK: {"adapter": "native", "path": "raw"}})
    set_params(root, [f"language.base_url={server.url}", "language.model=tiny", "language.timeout_seconds=4",
                      "language.tries=12", "answers.corpus_scopes=[unified, gold]", *more])
    process = run(root, CANOPY_LLM_API_KEY=KEY)
    assert process.returncode == 0, process.stderr[-2000:]
    return process


@pytest.fixture(scope="module")
def sound(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answered over a server without faults, which is asked nothing twice."""
    root = tmp_path_factory.mktemp("sound") / "w"
    with ScriptedServer(various) as server:
        serve(base, root, server)
        assert set(server.asked.values()) == {1} and 1 < server.most_at_once <= 32
        assert {h["Authorization"] for h in server.headers} == {f"Bearer {KEY}"}
    return root


def expected(row: dict[str, Any], rounds: list[dict[str, Any]]) -> dict[str, int]:
    """How often each role is called for a row by its system's protocol, from what its rounds did (``various`` never
    makes a repair necessary)."""
    system, unified, count = row["system"], row["corpus_scope"] == "unified", row["rounds"]
    notes = {n["note"]: n["count"] for n in row["notes"]}
    if system == "universal-rag":
        return {"router": 1, "reader": 1}
    if system == "ircot":
        return {"reasoner": notes["reasoning sentences"], "reader": 1}
    if system == "s2g-rag":
        return {**({"judge": min(count + 1, ROUNDS)} if unified else {}), "extractor": count, "reader": 1}
    if not system.startswith("canopy"):
        return {"reader": 1}
    limit = 1 if system == "canopy-no-iteration" or not unified else ROUNDS
    critics = count - 1 if "stopped: little new" in notes else min(count, limit - 1)
    turned_up = {i for r in rounds for i in r["new"]}
    of_all = {i.id for i in ITEMS if i.modality != "image"}
    classified = system != "canopy-no-projection" and bool(turned_up & (of_all if system == "canopy-aggregate-all"
                                                                        else TABLES))
    return {**({"router": 1} if system == "canopy-routed" else {}), **({"critic": critics} if critics else {}),
            **({"classifier": 1} if classified else {}),
            "reader": 1 + notes.get("reread whole", 0)}


@pytest.mark.slow
def test_every_systems_calls_are_its_protocols(sound: Path) -> None:
    listed = {s["name"]: s for s in json.loads(outputs(sound)["systems.json"])["systems"]}
    assert {n for n, s in listed.items() if not s["ran"]} == {"canopy-per-modality", "longllmlingua",
                                                              "recomp-extractive", "recomp-abstractive"}
    rounds = defaultdict(list)
    for r in table(sound, "rounds").to_pylist():
        rounds[r["system"], r["corpus_scope"], r["variant"], r["question_id"]].append(r)
    rows = table(sound).to_pylist()
    for row in rows:
        key = row["system"], row["corpus_scope"], row["variant"], row["question_id"]
        assert {c["role"]: c["count"] for c in row["calls"]} == expected(row, rounds[key]), key
        assert row["prediction"] and all(c["fallbacks"] == 0 and c["prompt_tokens"] > 0 and c["completion_tokens"] > 0
                                         for c in row["calls"])
    assert Counter((r["system"], r["corpus_scope"]) for r in rows if not r["variant"]) == {
        (n, where): len(QUESTIONS) for n, s in listed.items() for where in s["corpus_scopes"]
    }
    counts = {s: {sum(c["count"] for c in r["calls"] if c["role"] != "reader") for r in rows if r["system"] == s
                 and r["corpus_scope"] == "unified"} for s in all_systems()}
    # critics and the classifier; the questions differ
    assert max(counts["canopy"]) == ROUNDS - 1 + 1 and len(counts["canopy"]) > 1
    assert (
        1 < max(counts["ircot"]) <= MAX_STEPS
        and len(counts["ircot"]) > 1
        and len(counts["s2g-rag"]) > 1
        and counts["vanilla"] == {0}
    )


def at_random(seed: int) -> Callable[[Request, int], str]:
    """Every third request fails once or twice, in ways drawn at random; a few first tries get no reply in time."""
    def fault(request: Request, before: int) -> str:
        generator = random.Random(f"{seed} {request_key(request)}")
        if before < generator.choice((0, 0, 1, 1, 2)) and generator.random() < 0.5:
            return (
                "slow"
                if before == 0 and generator.random() < 0.04
                else random.Random(f"{seed} {before} {request_key(request)}").choice(FAULTS)
            )
        return ""
    return fault


@pytest.mark.slow
def test_no_fault_of_the_server_changes_a_row(sound: Path, base: Path, tmp_path: Path) -> None:
    with ScriptedServer(various, faults=at_random(1), slow=8.0) as server:
        serve(base, tmp_path / "w", server)
        failed = [k for k, n in server.asked.items() if n > 1]
        assert len(failed) > 0.2 * len(server.asked) and set(server.answered) == set(server.asked)
    assert outputs(tmp_path / "w") == outputs(sound)


@pytest.mark.slow
def test_replies_that_are_no_json_are_repaired_once_and_change_no_answer(sound: Path, base: Path,
                                                                         tmp_path: Path) -> None:
    """The server knows no schemas, and half of the structured replies are cut or chatter at first.

    One more call each, the same predictions.
    """
    structured = {load_prompt(n).system for n in ("critic", "critic_memory", "classifier", "router", "s2g_judge",
                                                  "s2g_extract")}

    def careless(request: Request) -> str:
        reply = various(request)
        if request["messages"][0]["content"] not in structured or len(request["messages"]) > 2 or draw(request) % 2:
            return reply
        return ("Let me think about it.", reply[:-4], '{"verdict": "yes"}')[draw(request) // 2 % 3]

    with ScriptedServer(careless, knows_schemas=False) as server:
        process = serve(base, tmp_path / "w", server)
        assert 0 < server.refused < server.count() / 2 and "fallback stood in" not in process.stdout
    plain = [{k: v for k, v in r.items() if k != "calls"} for r in table(sound).to_pylist()]
    rows = table(tmp_path / "w").to_pylist()
    assert [{k: v for k, v in r.items() if k != "calls"} for r in rows] == plain
    repaired = Counter(c["role"] for r in rows for c in r["calls"] if c["role"].endswith("_repair"))
    assert set(repaired) >= {"critic_repair", "classifier_repair", "router_repair",
                             "judge_repair"} and not any(c["fallbacks"] for r in rows for c in r["calls"])
    assert all(c["count"] <= next(d["count"] for d in r["calls"] if d["role"] == c["role"].removesuffix("_repair"))
               for r in rows for c in r["calls"])


@pytest.mark.slow
def test_what_cannot_be_repaired_falls_back_and_is_told(base: Path, tmp_path: Path) -> None:
    def hopeless(request: Request) -> str:
        return (
            "I would rather not say."
            if prompt_of(request) == "critic"
            or "whether collected evidence is enough" in request["messages"][0]["content"]
            else various(request)
        )

    with ScriptedServer(hopeless) as server:
        process = serve(base, tmp_path / "w", server, "answers.systems=[canopy, vanilla]",
                     "answers.corpus_scopes=[unified]")
    rows = [r for r in table(tmp_path / "w").to_pylist() if r["system"] == "canopy"]
    assert len(rows) == len(QUESTIONS) and all(r["rounds"] == 1 and r["prediction"] for r in rows)
    fallbacks = [{c["role"]: (c["count"], c["fallbacks"]) for c in r["calls"]} for r in rows]
    assert all(f["critic"] == (1, 0) and f["critic_repair"] == (1, 1) for f in fallbacks)
    calls = sum(c["count"] for r in table(tmp_path / "w").to_pylist() for c in r["calls"])
    note = f"{len(rows)} of {calls} replies could not be used, and a fallback stood in."
    assert note in process.stdout and note in json.loads(outputs(tmp_path / "w")["summary.json"])["notes"]


@pytest.mark.slow
def test_the_key_is_in_no_file(sound: Path) -> None:
    """Outputs, journal, cache, MLflow's database: nowhere."""
    files = [f for f in sound.rglob("*") if f.is_file() and not f.is_symlink()]
    assert {f.name for f in files} >= {"replies.sqlite", "mlflow.db", "answers.parquet", "systems.json", "params.yaml"}
    assert not [f for f in files if KEY.encode() in f.read_bytes()]
