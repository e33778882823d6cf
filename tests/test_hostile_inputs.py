"""Damaged releases of every benchmark: no traceback, no hang, no unbounded memory, and every record counted once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
RELEASES = {"hotpotqa": "hotpotqa", "two_wiki": "two_wiki", "musique": "musique",
            "natural_questions": "natural_questions_full", "ott_qa": "ott-qa",
            "hybridqa": "hybridqa", "tat_qa": "tat-qa", "multimodalqa": "multimodalqa", "lvbench": "lvbench",
            "longvideobench": "longvideobench",
            "universalrag": "universalrag"}
CASES = 110


@pytest.mark.slow
def test_a_hundred_damaged_releases() -> None:
    there = {a: str(DATA / f) for a, f in RELEASES.items()}
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "tests.hostile", json.dumps(there), str(CASES)],
                          cwd=Path(__file__).parents[1],
                          capture_output=True, text=True, timeout=600, check=False)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"after case {outcomes[-1] if outcomes else None}: {done.stderr[-2000:]}"
    assert len(outcomes) == CASES
    for o in outcomes:
        if "error" in o:
            assert "Traceback" not in o["error"] and len(o["error"]) < 2000, o
        else:
            c = o["counts"]
            assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"], o
    # The damages bite: some files are refused whole, some records are quarantined, and the bombs are seen for what they
    # are.
    assert sum("error" in o for o in outcomes) > 10
    assert sum(o.get("counts", {}).get("quarantined", 0) > 0 for o in outcomes) > 10
    assert all("not a release file" in o["error"] for o in outcomes if o["damage"] == "bomb")
    assert Counter(o["damage"] for o in outcomes)["bomb"] == 2
