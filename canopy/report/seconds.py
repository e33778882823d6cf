"""Seconds of search, node encoding and systems, as a page beside the report.

Seconds differ from run to run, so they stand in no hashed output: the report's page shows this one in a frame.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from canopy.config import CORPUS_SCOPES
from canopy.formatting import number
from canopy.report.model import Column, Row, Table
from canopy.report.page import table_html

# Steps of retrieval and refinement, as `canopy.answers.timings.time_retrieval` names them.
STEPS = {"query_encoding": "question encoded", "search": "search", "node_encoding_cold": "nodes encoded (cold)",
         "node_scores_cached": "node scores (cached)"}
PAGE = "seconds.html"
_HEAD = Markup('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" '
               'content="light dark"><title>canopy · seconds</title><style>\n'
               "body { margin: 0; font: 15px/1.5 system-ui, sans-serif; }\n"
               "table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }\n"
               "th, td { padding: 4px 10px; text-align: left; border-bottom: 1px solid #8886; }\n"
               "td.n, th.n { text-align: right; } .scroll { overflow-x: auto; } .note { font-size: .86rem; }\n"
               "</style></head><body>\n")


def seconds_page(folder: Path, benchmarks: Mapping[str, str] | list[str]) -> str:
    """The page of all benchmarks whose seconds lie in ``folder`` (``.canopy/timings``)."""
    steps: list[Row] = []
    systems: list[Row] = []
    for benchmark in benchmarks:
        try:
            timings = json.loads((folder / f"answers-{benchmark}.json").read_text("utf-8"))
            for scope, seconds in timings["retrieval"].items():
                steps.append({"benchmark": benchmark, "corpus": CORPUS_SCOPES.get(scope, scope),
                              **{s: show_seconds(seconds[s]) for s in STEPS}, "nodes": seconds["nodes"]})
            systems += [{"benchmark": benchmark, "corpus": CORPUS_SCOPES.get(s["corpus_scope"], s["corpus_scope"]),
                         "reader": s["reader"], "system": s["system"],
                         **{k: show_seconds(s[k]) for k in ("mean", "median", "p95")}}
                        for s in timings["systems"] if not s["variant"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # the answers came out of the cache of outputs, or an earlier version wrote the file
    if not steps and not systems:
        return _HEAD + Markup("<p>No seconds were measured here: the answers came out of the cache of outputs. "
                              "<code>canopy run --force answers</code> measures them.</p></body></html>\n")
    first = [Column("benchmark", "benchmark"), Column("corpus", "corpus")]
    tables = [
        Table("seconds-steps", "Search and node encoding", [*first, *(Column(k, v) for k, v in STEPS.items()),
                                                            Column("nodes", "nodes", "count")], steps,
              "Means over a few test questions, on one thread of this machine; cold: as if no node were stored."),
        Table("seconds-systems", "Systems", [*first, Column("reader", "read by"), Column("system", "system"),
                                             *(Column(k, k) for k in ("mean", "median", "p95"))], systems,
              "Seconds an answer. A question is encoded once for all systems.")]
    body = Markup("").join(Markup("<h3>{}</h3>{}").format(t.title, Markup(table_html(t))) for t in tables if t.rows)
    return f"{_HEAD}{body}</body></html>\n"


def show_seconds(seconds: float) -> str:
    """Seconds in their unit, with three digits: ``1.3 s``, ``12 ms``."""
    if seconds >= 1:
        return f"{number(float(f'{seconds:.3g}'))} s"
    return f"{number(float(f'{1000 * seconds:.3g}'))} ms"
