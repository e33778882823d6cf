"""What answers took, as the stage `answers` measured it when it last ran.

Seconds are in no report: the report is the same for the same answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from orchestration.cli.shared import print_whole, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STEPS = {"query_encoding": "question encoded", "search": "index searched",
          "node_encoding_cold": "nodes encoded (cold)", "node_scores_cached": "node scores (cached)"}
_ACTIVITIES = {"encode": "encode", "search": "search", "score": "score", "compress": "compress", "read": "read",
               "llm": "model"}


class SystemSeconds(TypedDict):
    """Seconds a question of one system, as the timings file has them (among other fields)."""

    reader: str
    corpus_scope: str
    system: str
    variant: str
    mean: float
    median: float
    p95: float
    activities: Mapping[str, float]


def show_seconds(root: Path, benchmark: str, console: Console) -> None:
    """Print the seconds a question takes.

    First those of retrieval and refinement by corpus, cold and cached; then those of every system at its own size over
    the first corpus. The column ``other`` is the time of no named step, such as judging without a language model, and
    putting evidence together.
    """
    path = root / ".canopy" / "timings" / f"answers-{benchmark}.json"
    try:
        tables = _read_tables(path, benchmark)
    except FileNotFoundError:
        say(console, f"{benchmark}: no seconds were measured here: the answers came out of the cache of outputs.")
        return
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        say(console, f"{path}: no seconds that can be read; `canopy run --force answers` measures anew")
        return
    for table in tables:
        print_whole(console, table)
    say(console, f"A question is encoded once for all systems. Seconds of every corpus, size and role: {path}")


def _read_tables(path: Path, benchmark: str) -> list[Table]:
    timings = json.loads(path.read_text("utf-8"))
    retrieval = dict(timings["retrieval"])
    systems: list[SystemSeconds] = [s for s in timings["systems"] if not s["variant"]]
    tables = [_steps(benchmark, retrieval)] if retrieval else []
    if systems:
        scope = systems[0]["corpus_scope"]
        title = f"{benchmark}, {scope}: milliseconds a question"
        tables.append(_systems(title, [s for s in systems if s["corpus_scope"] == scope]))
    return tables


def show_time(seconds: float) -> str:
    """Seconds in the unit that people use for them: ``0``, ``0.42 ms``, ``12 ms``, ``1.3 s``, ``90 s``."""
    if seconds >= 0.9995:
        return f"{seconds:,.1f} s" if seconds < 99.95 else f"{seconds:,.0f} s"
    if seconds >= 0.00995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds * 1000:.2g} ms" if seconds > 0 else "0"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f}" if seconds >= 0.00095 else f"{seconds * 1000:.2f}" if seconds > 0 else "0"


def _steps(benchmark: str, retrieval: Mapping[str, Mapping[str, float]]) -> Table:
    n = next(iter(retrieval.values())).get("questions", 0)
    table = _table(f"{benchmark}: search and node encoding, a question (mean of {n:.0f}, one thread)", "corpus",
                   [*_STEPS.values(), "nodes"])
    for corpus_scope, seconds in retrieval.items():
        table.add_row(corpus_scope, *(show_time(seconds[s]) for s in _STEPS), f"{seconds['nodes']:.0f}")
    return table


def _systems(title: str, rows: Sequence[SystemSeconds]) -> Table:
    several_readers = len({r["reader"] for r in rows}) > 1
    activities = [a for a in _ACTIVITIES if any(r["activities"].get(a) for r in rows)]
    table = _table(title, "system", ["mean", "median", "p95", *(_ACTIVITIES[a] for a in activities), "other"])
    for r in rows:
        named = [r["activities"].get(a, 0.0) for a in activities]
        name = f"{r['system']} ({r['reader']})" if several_readers else r["system"]
        seconds = (r["mean"], r["median"], r["p95"], *named, max(0.0, r["mean"] - sum(named)))
        table.add_row(name, *(_milliseconds(s) for s in seconds))
    return table


def _table(title: str, first: str, columns: Sequence[str]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    return Table(Column(first, no_wrap=True), *(Column(c, justify="right") for c in columns), title=title,
                 title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
