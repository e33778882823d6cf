"""A metric is one declaration: its module's ``MEASURES`` is found, measured, shown in the report, and may decide
promotion."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from canopy.answers.summary import columns_read
from canopy.config import Evaluation
from canopy.errors import DataError
from canopy.evaluation.cases import Words
from canopy.evaluation.measurement import measure
from canopy.evaluation.rows import Tables
from canopy.evaluation.systems import TUNED
from canopy.report.build import build_report
from canopy.report.results import TABLES, Results, Settings
from canopy.scoring import measures
from canopy.scoring.measure import EVALUATION, measures_of
from canopy.stages.evaluation import summarize
from orchestration.models.quality import find_measure, read_scores
from tests.evaluation.made_up import make_cases, make_gold, make_scores

MODULE = '''
from canopy.scoring.measure import ANSWERS, Measure

MEASURES = (
    Measure("tokens_a_decision", "tokens a decision", "kept_tokens", "decisions", higher_is_better=False,
            unit="number"),
    Measure("tokens_a_round", "tokens a round", "tokens", "rounds", source=ANSWERS, unit="number", summary=True),
)
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with one more module of measures, for the time of a test."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "rates.py").write_text(MODULE)
    monkeypatch.setattr(measures, "__path__", [*measures.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, "canopy.scoring.measures.rates", raising=False)
    monkeypatch.delattr(measures, "rates", raising=False)


def _evaluate(questions: int = 12) -> tuple[Tables, dict[str, float]]:
    """The evaluation's tables of made-up gold, and its metrics."""
    cases, _, _ = make_cases(3, questions=questions)
    rng = np.random.default_rng(3)
    first = cases.layout.fragments[:-1]
    words = Words(rng.integers(0, 4, cases.layout.pairs), rng.integers(1, 9, int(cases.layout.fragments[-1])), first,
                  first + 1,
                  cases.pair_question)
    scores = {s: make_scores(cases, k, levels=50) for k, s in enumerate(("f0-one-pass", "f0-separate", TUNED))}
    tables = measure(cases, words, scores, Evaluation())
    tables.retrieval = [{"question_id": q, "k": k, "recall": 1.0, "rank": 1} for q in cases.questions
                        for k in Evaluation().recall_at]
    return tables, summarize(cases, tables, Evaluation(resamples=100)).metrics


def test_a_declaration_more_is_a_metric_more(package: None) -> None:
    tables, metrics = _evaluate()
    rows = pd.DataFrame(tables.systems)
    tuned = rows[rows["system"] == TUNED]
    rate = tuned["kept_tokens"].sum() / tuned["decisions"].sum()
    assert metrics["f_theta.tokens_a_decision"] == pytest.approx(rate) and "difference.tokens_a_decision.low" in metrics

    frames = {t: pd.DataFrame(getattr(tables, t)) for t in TABLES}
    results = Results("made", **frames, splits=pd.DataFrame(make_gold(3, questions=12)[1]))
    files = build_report([results], {}, None, Settings(100, 13, 0.95)).files
    assert "tokens a decision" in files["report.html"]
    assert "tokens_a_decision" in files["tables/selectors.csv"].splitlines()[0]
    line = next(x for x in files["tables/quality.csv"].splitlines() if ",tokens a decision," in x)
    assert f"{rate:.4f}"[:5] in line
    assert json.loads(files["metrics.json"])["made"][TUNED]["tokens_a_decision"] == pytest.approx(rate, abs=1e-5)

    assert find_measure("tokens_a_decision").label == "tokens a decision"
    assert read_scores(rows, "tokens_a_decision", None)
    assert {"tokens",
            "rounds"} <= set(columns_read(["em"])), "the answers' summary reads what its metric is computed from"


def test_a_metric_that_nobody_declares_is_none() -> None:
    assert "tokens_a_decision" not in measures_of(EVALUATION)
    with pytest.raises(DataError, match="decision_accuracy"):
        find_measure("tokens_a_decision")


def test_a_name_is_declared_once(package: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more" / "twice.py").write_text(MODULE)
    with pytest.raises(ValueError, match="already called 'tokens_a_decision'"):
        measures_of(EVALUATION)
    monkeypatch.delitem(sys.modules, "canopy.scoring.measures.twice")
