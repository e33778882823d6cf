"""What #Tok hides: seconds of search and node encoding a question, cold and cached, and the latency of every system; for sidecars alone."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from canopy.answers.workbench import Workbench
from canopy.embeddings.build import node_request
from canopy.llm.roles import Trace
from canopy.pipelines.tools import Searcher

COLD_QUESTIONS = 3  # enough for a mean; every one of them encodes all nodes of k items


def time_retrieval(bench: Workbench, corpus_scope: str, k: int, branching: int, segment_seconds: float) -> dict[str, float]:
    """Mean seconds a question of each step of retrieval and refinement, over the first few test questions, on one thread.

    Returns
    -------
    dict
        ``query_encoding``: f0 of the question. ``search``: the index. ``node_encoding_cold``: all nodes of the retrieved items by f_theta, as where nothing is
        stored. ``node_scores_cached``: their scores out of the node store. ``nodes``: how many there are. ``questions``: over how many it is the mean.
    """
    questions = bench.questions[:COLD_QUESTIONS]
    searcher: Searcher = bench.searchers[corpus_scope]
    spent: dict[str, list[float]] = defaultdict(list)
    for q in questions:
        started = time.perf_counter()
        vector = bench.f0.encode_queries([q.question])[0]
        spent["query_encoding"].append(time.perf_counter() - started)
        searcher.vector(q.question)  # so that what follows is the search alone
        started = time.perf_counter()
        found = [i for i, _ in searcher.search(q.question, k, Trace())]
        spent["search"].append(time.perf_counter() - started)
        requests = [node_request(bench.library.item(i), branching, segment_seconds) for i in found]
        started = time.perf_counter()
        bench.tuned.encode_nodes(requests)
        spent["node_encoding_cold"].append(time.perf_counter() - started)
        started = time.perf_counter()
        bench.scorers["f_theta"].scores(found, vector)
        spent["node_scores_cached"].append(time.perf_counter() - started)
        spent["nodes"].append(float(sum(len(r.lo) for r in requests)))
    return {name: float(np.mean(v)) for name, v in spent.items()} | {"questions": float(len(questions))}


def summarise_seconds(rows: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Latency by (reader, corpus_scope, system, variant): mean, median and 95th percentile of all, and the mean of each activity and role.

    Parameters
    ----------
    rows : iterable of (columns, seconds)
        Columns of a cell, and `answer_rows.seconds_of` of one of its answers. Of an answer whose calls came out of the reply cache, what they took then.
    """
    held: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for columns, seconds in rows:
        held.setdefault(tuple(columns[c] for c in ("reader", "corpus_scope", "system", "variant")), []).append(seconds)
    out = []
    for key, all_seconds in held.items():
        total = np.array([s["total"] for s in all_seconds])
        out.append({**dict(zip(("reader", "corpus_scope", "system", "variant"), key, strict=True)), "answers": len(total), "mean": float(total.mean()),
                    "median": float(np.median(total)), "p95": float(np.percentile(total, 95)),
                    "activities": _means([s["activities"] for s in all_seconds]), "roles": _means([s["roles"] for s in all_seconds]),
                    "answers_from_cached_calls": sum(bool(s["cached_calls"]) for s in all_seconds)})
    return out


def _means(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = sorted({n for p in parts for n in p})
    return {n: float(np.mean([p.get(n, 0.0) for p in parts])) for n in names}
