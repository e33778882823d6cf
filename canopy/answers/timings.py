"""What #Tok hides: seconds a question of search and node encoding, cold and cached, and every system's latency.

These figures go to sidecars alone, never to hashed outputs.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import numpy as np

from canopy.answers.journal import Journal
from canopy.answers.rows import CellColumns, Seconds
from canopy.answers.run import Run
from canopy.answers.workbench import Workbench
from canopy.embeddings.build import node_request
from canopy.llm.roles import Trace

COLD_QUESTIONS = 3  # enough for a mean; each of them encodes all nodes of k items


class SystemSeconds(CellColumns):
    """A system's latency: mean, median and 95th percentile, and the mean of each activity and role."""

    answers: int
    mean: float
    median: float
    p95: float
    activities: dict[str, float]
    roles: dict[str, float]
    answers_from_cached_calls: int


class TimingsFile(TypedDict):
    """What the sidecar holds: latencies of systems, and steps of retrieval by corpus scope (`time_retrieval`)."""

    systems: list[SystemSeconds]
    retrieval: dict[str, dict[str, float]]


def measure_timings(run: Run, journal: Journal) -> TimingsFile:
    """The timings of a run whose answers are all in the journal."""
    answers = [(cell, q.id) for cell in run.cells for q in run.questions(cell)]
    systems = summarise_seconds((cell.columns, journal.get(cell.key(q))["seconds"]) for cell, q in answers)
    retrieval: dict[str, dict[str, float]] = {}
    if run.bench.questions:
        k, hierarchy = run.config.answers.k, run.config.hierarchy
        for scope in dict.fromkeys(c.corpus_scope for c in run.cells if c.corpus_scope != "gold"):
            retrieval[scope] = time_retrieval(run.bench, scope, k, hierarchy.branching, hierarchy.segment_seconds)
    return {"systems": systems, "retrieval": retrieval}


def time_retrieval(bench: Workbench, corpus_scope: str, k: int, branching: int,
                   segment_seconds: float) -> dict[str, float]:
    """Mean seconds a question of each step of retrieval and refinement, over a few test questions, on one thread.

    Returns
    -------
    dict
        ``query_encoding``: f0 of the question. ``search``: the index. ``node_encoding_cold``: all nodes of the
        retrieved items by f_theta, as if nothing were stored. ``node_scores_cached``: their scores out of the node
        store. ``nodes``: how many nodes there are. ``questions``: how many questions the means are over.
    """
    questions = bench.questions[:COLD_QUESTIONS]
    searcher = bench.searchers[corpus_scope]
    spent: dict[str, list[float]] = defaultdict(list)
    for q in questions:
        started = time.perf_counter()
        vector = bench.f0.encode_queries([q.question])[0]
        spent["query_encoding"].append(time.perf_counter() - started)
        searcher.vector(q.question)  # so that what follows is the search alone
        started = time.perf_counter()
        items = [i for i, _ in searcher.search(q.question, k, Trace())]
        spent["search"].append(time.perf_counter() - started)
        requests = [node_request(bench.library.item(i), branching, segment_seconds) for i in items]
        started = time.perf_counter()
        bench.tuned.encode_nodes(requests)
        spent["node_encoding_cold"].append(time.perf_counter() - started)
        started = time.perf_counter()
        bench.scorers["f_theta"].scores(items, vector)
        spent["node_scores_cached"].append(time.perf_counter() - started)
        spent["nodes"].append(float(sum(len(r.lo) for r in requests)))
    return {name: float(np.mean(v)) for name, v in spent.items()} | {"questions": float(len(questions))}


def summarise_seconds(answers: Iterable[tuple[CellColumns, Seconds]]) -> list[SystemSeconds]:
    """Latency by (reader, corpus_scope, system, variant).

    Parameters
    ----------
    answers : iterable of (columns, seconds)
        Columns of a cell, and the seconds of one of its answers (`canopy.answers.scorekeeping.seconds_of`). Calls that
        the reply cache answered count as long as they took the first time.
    """
    groups: dict[tuple[str, str, str, str], list[Seconds]] = {}
    for c, seconds in answers:
        groups.setdefault((c["reader"], c["corpus_scope"], c["system"], c["variant"]), []).append(seconds)
    rows: list[SystemSeconds] = []
    for (reader, corpus_scope, system, variant), group in groups.items():
        total = np.array([s["total"] for s in group])
        rows.append({
            "reader": reader, "corpus_scope": corpus_scope, "system": system, "variant": variant,
            "answers": len(total), "mean": float(total.mean()), "median": float(np.median(total)),
            "p95": float(np.percentile(total, 95)), "activities": _means([s["activities"] for s in group]),
            "roles": _means([s["roles"] for s in group]),
            "answers_from_cached_calls": sum(bool(s["cached_calls"]) for s in group),
        })
    return rows


def _means(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = sorted({n for p in parts for n in p})
    return {n: float(np.mean([p.get(n, 0.0) for p in parts])) for n in names}
