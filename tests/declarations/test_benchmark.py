"""Adding a benchmark is adding one file: an adapter from a temporary folder is read, mapped to gold and answered."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import canopy.benchmarks
from canopy.benchmarks.declaration import Benchmark, read_declaration, write_declaration
from canopy.benchmarks.registry import adapter_for, adapter_names, load_benchmark_adapter
from canopy.config import load_config
from canopy.errors import DataError
from canopy.gold.expected import Expected
from canopy.paths import Paths
from canopy.stages import benchmark, gold_spans, split
from canopy.stages.base import NullTracker
from canopy.validation.checker import RuleValidator
from tests.answer_workspace import answer, make_answer_workspace, outputs, table
from tests.tiny_model import BENCHMARK, ITEMS

MODULE = '''
"""A quiz: one JSON list of paragraphs with a question and its sentence."""

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.records import object_of
from canopy.benchmarks.reading.release import require_files
from canopy.gold.expected import Expected
from canopy.ingest.fields import text_of
from canopy.ingest.files import load_json_list
from canopy.items import Annotation, Item, Question

BENCHMARK = Benchmark(
    title="The quiz",
    licence="CC0",
    home="https://example.org/quiz",
    files=(ReleaseFile("questions", ("quiz.json",), "three questions"),),
    needs=(("questions",),),
    aliases=("pub-quiz",),
    metric="hotpotqa",
    supporting_facts=True,
    evidence_cap="video",
    paper_name="Quiz",
    out_of_domain=True,
    expected=(Expected("questions", 3, "the release"),),
)


def read(raw, sink):
    for path in require_files(raw, BENCHMARK)["questions"]:
        for number, record in enumerate(load_json_list(path)):
            with sink.record(path, f"record {number}") as draft:
                name, text = text_of(object_of(record).get("name"), "name"), text_of(record.get("text"), "text")
                item = Item(f"{sink.benchmark}/{name}", sink.benchmark, "text", text=text)
                start = text.index(text_of(record.get("gold"), "gold"))
                span = (float(start), float(start + len(record["gold"])))
                answers = (text_of(record.get("answer"), "answer"),)
                question = Question(f"{item.id}-q", sink.benchmark, record["question"], answers, split="test")
                draft.items.append(item)
                draft.questions.append(question)
                draft.annotations.append(Annotation(question.id, item.id, "chars", (span,)))
'''
GOLD = {
    "tiny/nile": ("The Aswan High Dam was finished in 1970.", "When was the Aswan High Dam finished?", "1970"),
    "tiny/danube": ("Johann Strauss named a waltz after it.", "Who named a waltz after the Danube?", "Johann Strauss"),
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace with the tiny model, whose benchmark is read by the adapter of the temporary folder."""
    folder = tmp_path / "adapters"
    folder.mkdir()
    (folder / "quiz.py").write_text(MODULE)
    monkeypatch.setattr(canopy.benchmarks, "__path__", [*canopy.benchmarks.__path__, str(folder)])
    root = make_answer_workspace(tmp_path / "w")
    records = [{"name": "broken", "text": 3}]
    for item in ITEMS:
        if item.id in GOLD:
            gold, question, reply = GOLD[item.id]
            name = item.id.removeprefix(f"{BENCHMARK}/")
            records.append({"name": name, "text": item.text, "gold": gold, "question": question, "answer": reply})
    (root / "raw" / "quiz.json").write_text(json.dumps(records))
    params = (root / "params.yaml").read_text()
    params = params.replace("adapter: native", "adapter: quiz").replace("budgets: [0.3]", "systems: [vanilla, canopy]")
    (root / "params.yaml").write_text(params + "ingest: {max_quarantined_share: 0.5}\n")
    yield root
    sys.modules.pop("canopy.benchmarks.quiz", None)


def test_a_benchmark_is_one_file(workspace: Path) -> None:
    assert "quiz" in adapter_names() and adapter_for("Pub Quiz") == "quiz"
    config, paths = load_config(workspace / "params.yaml"), Paths(workspace)

    result = benchmark.run(config, paths, NullTracker(), RuleValidator(), BENCHMARK)
    assert (result.metrics["mapped"], result.metrics["quarantined"]) == (2, 1)
    assert result.tables["quarantine"][0]["reason"] == "text must be a string, not int"
    declared = read_declaration(paths.output("benchmark", BENCHMARK))
    assert (declared.title, declared.metric, declared.paper_name) == ("The quiz", "hotpotqa", "Quiz")
    assert declared.expected == load_benchmark_adapter("quiz").BENCHMARK.expected

    result = gold_spans.run(config, paths, NullTracker(), RuleValidator(), BENCHMARK)
    assert result.metrics["located"] == 2 and result.tables["expected"][0]["found"] == 2
    split.run(config, paths, NullTracker(), RuleValidator(), BENCHMARK)

    answer(workspace)
    rows = table(workspace).to_pylist()
    assert len({r["question_id"] for r in rows}) == 2 and {"em", "f1", "sp_f1"} <= set(rows[0])
    assert all(r["sp_f1"] is not None for r in rows)
    metric = json.loads(outputs(workspace)["systems.json"])["metric"]
    assert metric["primary"] == ["em", "f1", "sp_f1", "joint_f1"]


def test_a_declaration_comes_back_and_an_older_output_says_what_to_do(tmp_path: Path) -> None:
    declared = Benchmark("T", metric="options", evidence_cap="video",
                         expected=(Expected("videos", 3, "the paper", "videos"),))
    write_declaration(tmp_path, declared)
    assert read_declaration(tmp_path) == declared
    (tmp_path / "benchmark.json").write_text("[]")
    with pytest.raises(DataError, match=r"benchmark.json: cannot be read .*`canopy run --force benchmark`"):
        read_declaration(tmp_path)
    (tmp_path / "benchmark.json").unlink()
    with pytest.raises(DataError, match=r"benchmark.json: no such file; an earlier version .* `canopy run`"):
        read_declaration(tmp_path)
