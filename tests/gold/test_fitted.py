"""Questions that canopy itself was fitted on are never tested, and its examples are in no benchmark."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from canopy.digests import text_sha256
from canopy.gold.fitted import fitted_questions
from canopy.gold.joint import BenchmarkGold, join_splits
from canopy.items import Question

LLM = Path(__file__).resolve().parents[2] / "canopy" / "llm"
DATA = os.environ.get("CANOPY_REAL_DATA")
STRETCH = 7  # words


def test_digests_are_of_questions_and_by_role() -> None:
    roles = fitted_questions()
    assert len(roles["LLM-free reader and critic"]) == 150
    assert all(re.fullmatch(r"[0-9a-f]{64}", d) for digests in roles.values() for d in digests)


def test_a_question_of_a_fitted_role_is_in_train_whatever_the_seed() -> None:
    questions = [Question(f"b/{n}", "b", f"Who built mill {n}?", ("Orr",)) for n in range(40)]
    digests = frozenset(text_sha256(q.question) for q in questions[::4])
    for seed in range(5):
        joint = join_splits({"b": BenchmarkGold(questions, [], [])}, test_share=0.5, seed=seed, threshold=0.9,
                            fitted=digests)
        sides = {p.question_id: p.split for p in joint.placements["b"]}
        assert {sides[q.id] for q in questions[::4]} == {"train"} and "test" in sides.values()


def examples() -> list[str]:
    """Example sentences of the roles, and the lines of their prompts."""
    files = [*(LLM / "plain" / "examples").glob("*.md"), *(LLM / "prompts").glob("*.md")]
    return [line.removeprefix("- ") for f in files for line in f.read_text("utf-8").splitlines() if line.strip()]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_there_are_examples_to_compare() -> None:
    assert sum(len(words(e)) >= STRETCH for e in examples()) > 40


@pytest.mark.skipif(not DATA, reason="CANOPY_REAL_DATA is not set")
def test_no_example_is_in_a_slice() -> None:
    stretches: dict[tuple[str, ...], str] = {}
    for example in examples():
        w = words(example)
        for n in range(max(1, len(w) - STRETCH + 1) if len(w) >= 5 else 0):
            stretches[tuple(w[n:n + STRETCH])] = example
    copies = set()
    for file in sorted(Path(str(DATA)).rglob("*.json*")):
        text = words(json.dumps(file.read_text("utf-8", "replace"), ensure_ascii=False))
        for size in {len(s) for s in stretches}:
            copies |= {stretches[s] for s in zip(*(text[n:] for n in range(size)), strict=False) if s in stretches}
    assert copies == set()
