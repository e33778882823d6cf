"""Made-up answers: the files of the stage ``answers`` with random scores, for the report's tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.answers.rows import ANSWER_SCHEMA, METRICS, ROUND_SCHEMA
from canopy.benchmarks.registry import load_benchmark_adapter
from canopy.pipelines.base import SystemSpec, all_systems
from canopy.report.answered import Answered, read_answered

PLAIN = {"name": "extractive", "label": "extractive reader <LLM-free>", "kind": "plain"}
MODEL = {"name": "qwen", "label": "Qwen3-VL-8B, over an OpenAI-compatible server", "kind": "llm"}
FAMILIES = {"no-retrieval": "main", "vanilla": "main", "universal-rag": "main", "canopy": "main",
            "canopy-lookahead": "main", "canopy-routed": "main",
            "canopy-no-projection": "ablation", "canopy-no-iteration": "ablation", "canopy-f0": "ablation",
            "canopy-exclude-seen": "ablation",
            "flat-leaf-m1": "selection", "flat-leaf-m2": "selection", "any-level-m1": "selection",
            "flat-leaf-share": "selection", "aks": "compressor",
            "recomp-abstractive": "compressor", "gold-item": "oracle", "gold-span": "oracle"}
SEARCHING = ("no-retrieval", "universal-rag", "canopy-routed", "canopy-no-iteration", "canopy-exclude-seen")
SIZES = {"flat-leaf-share": ("budget=0.1", "budget=0.5"), "aks": ("M=4",), "canopy": ("k=5", "k=20", "R=1"),
         "vanilla": ("k=5", "k=20")}


def make_row(question: str, system: str, corpus_scope: str, variant: str, reader: Mapping[str, Any],
             primary: Sequence[str], rng: np.random.Generator, seed: int = 13) -> dict[str, Any]:
    """One answer; its scores and counts are random, its evidence two regions of the question's item."""
    rewrites = system == "recomp-abstractive"
    if system.startswith("canopy") and corpus_scope != "gold":
        rounds = int(rng.integers(1, 4))
    else:
        rounds = int(system != "no-retrieval")
    llm = reader["kind"] == "llm"
    region = {"item_id": f"i{question}", "score": 0.25, "depth": 1, "tokens": 12, "text": "said <b>anew</b>" if rewrites
              else None}
    return {
        "question_id": question, "reader": reader["name"], "system": system, "corpus_scope": corpus_scope,
        "variant": variant, "seed": seed, "k": 10, "rounds_limit": 3,
        "prediction": f"<i>{system}</i>", **dict.fromkeys(METRICS), **{m: float(rng.integers(0, 2)) for m in primary},
        "tokens": int(rng.integers(50, 900)),
        "whole_tokens": 1000, "calls": [{"role": "reader", "count": 1, "prompt_tokens": 100, "completion_tokens": 5,
                                         "fallbacks": int(rng.integers(0, 2))}] * llm,
        "rounds": rounds, "retrieved": 10 * rounds, "follow_up_retrieved": 10 * max(0, rounds - 1),
        "duplicates": 6 * max(0, rounds - 1), "cap_cut": False,
        "gold_items_found": int(rng.integers(0, 3)), "gold_items": 2, "gold_recall": None if rewrites
        else float(rng.integers(0, 5)) / 4,
        "answer_in_evidence": float(rng.integers(0, 2)) if question != "q0" else None, "items_refinable": 8,
        "items_kept": 3, "items_split": 0, "items_pruned": 7,
        "outcomes": [{"modality": "text", "refinable": 8, "kept": 3, "split": 0, "pruned": 5},
                     {"modality": "video", "refinable": 2, "kept": 0, "split": 0, "pruned": 2}],
        "notes": [{"note": "stopped <early>", "count": 2}] * (system == "canopy"),
        "evidence": [{**region, "lo": 0, "hi": 1}, {**region, "lo": 3, "hi": 4}] if system != "no-retrieval" else [],
    }


def _declared(system: str) -> dict[str, Any]:
    """What systems.json takes over from a system's declaration."""
    spec: SystemSpec = all_systems()[system]
    return {"main": spec.main, "component": spec.component, "oracle": spec.oracle, "searcher": spec.searcher,
            "sweeps": list(spec.sweeps)}


def write_answers(folder: Path, *, adapter: str = "hotpotqa", primary: Sequence[str] = ("em", "f1"),
                  questions: int = 12, seed: int = 1, seeds: Sequence[int] = (13,),
                  systems: Sequence[str] = tuple(FAMILIES), corpus_scopes: Sequence[str] = ("unified", "own", "gold"),
                  readers: Sequence[Mapping[str, Any]] = (PLAIN,),
                  missing: Mapping[str, str] | None = None, own_is_unified: bool = False) -> list[dict[str, Any]]:
    """Write answers.parquet, rounds.parquet and systems.json; returns the rows.

    ``missing``: systems that did not run, and why.
    """
    rng, rows = np.random.default_rng(seed), []
    for reader in readers:
        for system in systems:
            family = FAMILIES[system]
            for corpus_scope in corpus_scopes:
                if (corpus_scope == "gold" and system in SEARCHING) or (corpus_scope != "gold" and family == "oracle"):
                    continue
                for variant in ("", *(SIZES.get(system, ()) if corpus_scope != "gold" else ())):
                    rows += [make_row(f"q{q}", system, corpus_scope, variant, reader, primary, rng, s) for s in seeds
                             for q in range(questions)]
    steps = [{**{c: r[c] for c in ("question_id", "reader", "system", "corpus_scope", "variant")}, "round": n + 1,
              "query": f"{r['question_id']} <u>?</u>",
              "retrieved": [f"i{r['question_id']}", "gone"], "new": [f"i{r['question_id']}"] if not n else [],
              "kept": [{k: e[k] for k in ("item_id", "lo", "hi", "score", "depth")} for e in r["evidence"]] if not n
              else []} for r in rows for n in range(r["rounds"])]
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=ANSWER_SCHEMA), folder / "answers.parquet")
    pq.write_table(pa.Table.from_pylist(steps, schema=ROUND_SCHEMA), folder / "rounds.parquet")
    names = [r["name"] for r in readers]
    listed = [{"name": s, "says": f"says {s} & more", "family": FAMILIES[s], "paper": "", "needs": "", "ran": True,
               "readers": names, "corpus_scopes": list(corpus_scopes), "why_not": [], **_declared(s)}
              for s in systems]
    listed += [{"name": s, "says": "", "family": "main", "paper": "IRCoT", "needs": "", "ran": False, "readers": [],
                "corpus_scopes": [], "why_not": [why], **_declared(s)} for s, why in (missing or {}).items()]
    told = {"readers": list(readers), "llm_free": all(r["kind"] == "plain" for r in readers),
            "metric": {"adapter": adapter, "primary": list(primary), "rules": "rules <of> it"},
            "questions": {"test": questions, "asked": {str(s): questions for s in seeds}},
            "corpus_scopes": list(corpus_scopes), "own_is_unified": own_is_unified, "seeds": list(seeds),
            "systems": listed}
    (folder / "systems.json").write_text(json.dumps(told), encoding="utf-8")
    return rows


def make_answered(folder: Path, name: str = "made <up>", **given: Any) -> tuple[Answered, list[dict[str, Any]]]:
    """Written and read back, with the rows."""
    rows = write_answers(folder, **given)
    declaration = load_benchmark_adapter(given.get("adapter", "hotpotqa")).BENCHMARK
    answered = read_answered(folder, name, declaration=declaration)
    assert answered is not None
    return answered, rows
