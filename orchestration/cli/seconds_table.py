"""What answers took, as the stage `answers` measured it when it last ran: seconds are in no report, which is the same for the same answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestration.cli.shared import print_whole

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STEPS = {"query_encoding": "question encoded", "search": "index searched", "node_encoding_cold": "nodes encoded (cold)", "node_scores_cached": "node scores (cached)"}
_ACTIVITIES = {"encode": "encode", "search": "search", "score": "score", "compress": "compress", "read": "read", "llm": "model"}


def show_seconds(root: Path, benchmark: str, console: Console) -> None:
    """Seconds a question: of retrieval and refinement by corpus, cold and cached, and of every system at its own size over the first corpus.

    ``other``: what none of the named steps took, such as judging without a language model, and putting evidence together.
    """
    path = root / ".canopy" / "timings" / f"answers-{benchmark}.json"
    try:
        told = json.loads(path.read_text("utf-8"))
        retrieval, systems = dict(told["retrieval"]), [s for s in told["systems"] if not s["variant"]]
        tables = [_steps(benchmark, retrieval)] if retrieval else []
        settings = list(dict.fromkeys(s["corpus_scope"] for s in systems))
        if settings:
            tables.append(_systems(f"{benchmark}, {settings[0]}: milliseconds a question", [s for s in systems if s["corpus_scope"] == settings[0]]))
    except FileNotFoundError:
        console.print(f"{benchmark}: no seconds were measured here: the answers came out of the cache of outputs.", highlight=False, soft_wrap=True)
        return
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        console.print(f"{path}: no seconds that can be read; `canopy run --force answers` measures anew", highlight=False, soft_wrap=True)
        return
    for table in tables:
        print_whole(console, table)
    console.print(f"A question is encoded once for all systems. Seconds of every corpus, size and role: {path}", highlight=False, soft_wrap=True)


def show_time(seconds: float) -> str:
    """Seconds as people read them: ``0``, ``0.42 ms``, ``12 ms``, ``1.3 s``, ``90 s``."""
    if seconds >= 0.9995:
        return f"{seconds:,.1f} s" if seconds < 99.95 else f"{seconds:,.0f} s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.00995 else f"{seconds * 1000:.2g} ms" if seconds > 0 else "0"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f}" if seconds >= 0.00095 else f"{seconds * 1000:.2f}" if seconds > 0 else "0"


def _steps(benchmark: str, retrieval: Mapping[str, Mapping[str, float]]) -> Table:
    n = next(iter(retrieval.values())).get("questions", 0)
    table = _table(f"{benchmark}: search and node encoding, a question (mean of {n:.0f}, one thread)", "corpus", [*_STEPS.values(), "nodes"])
    for corpus_scope, spent in retrieval.items():
        table.add_row(corpus_scope, *(show_time(spent[s]) for s in _STEPS), f"{spent['nodes']:.0f}")
    return table


def _systems(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    several = len({r["reader"] for r in rows}) > 1
    done = [a for a in _ACTIVITIES if any(r["activities"].get(a) for r in rows)]
    table = _table(title, "system", ["mean", "median", "p95", *(_ACTIVITIES[a] for a in done), "other"])
    for r in rows:
        other = r["mean"] - sum(r["activities"].get(a, 0.0) for a in done)
        name = r["system"] + (f" ({r['reader']})" if several else "")
        table.add_row(name, *(_milliseconds(s) for s in (r["mean"], r["median"], r["p95"], *(r["activities"].get(a, 0.0) for a in done), max(0.0, other))))
    return table


def _table(title: str, first: str, columns: Sequence[str]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    return Table(Column(first, no_wrap=True), *(Column(c, justify="right") for c in columns), title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
