"""The tables of `canopy evaluate`: systems side by side on each benchmark, and why others did not run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canopy.config import CORPUS_SCOPES
from canopy.errors import DataError
from orchestration.cli.shared import print_whole, say, width_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from canopy.answers.summary import Line
    from canopy.config import Config
    from canopy.report.model import Kind

_CORPORA: dict[str, str] = dict(CORPUS_SCOPES.items())
_LABELS = {"answer_in_evidence": "answer kept", "gold_recall": "gold kept", "em": "EM", "f1": "F1"}


def show_answers(root: Path, config: Config, console: Console) -> int:
    """Print a table for every benchmark and corpus scope, and what was not run and why.

    Returns
    -------
    int
        How many systems answered on some benchmark.
    """
    names: set[str] = set()
    for benchmark in config.benchmarks:
        lines, listing = read_lines(root, config, benchmark)
        for scope in dict.fromkeys(x.corpus_scope for x in lines):
            title = f"{benchmark}, {_CORPORA[scope]}"
            if scope == "own" and listing["own_is_unified"]:
                say(console, f"{title}: it is all there is, so its figures are those of the unified corpus.")
                continue
            _print_fitting(console, title, [x for x in lines if x.corpus_scope == scope], listing["metric"]["primary"])
        readers = ", ".join(r["label"] for r in listing["readers"])
        how = "no language model took part" if listing["llm_free"] else "with a language model"
        say(console, f"{benchmark}: read by {readers}; {how}. {listing['metric']['rules']}")
        if listing.get("gold", {}).get("pseudo_gold_questions"):
            say(console, f"{benchmark}: {_gold_words(listing['gold'])}", "yellow")
        names |= {s["name"] for s in listing["systems"] if s["ran"]}
        for system in listing["systems"]:
            if not system["ran"]:
                say(console, f"  not run: {system['name']}: {'; '.join(system['why_not'])}", "yellow")
    return len(names)


def _gold_words(gold: Mapping[str, float]) -> str:
    pseudo, annotated = int(gold["pseudo_gold_questions"]), int(gold["annotated_questions"])
    return (f"pseudo-gold, located by the answer and annotated by nobody: {pseudo} of {pseudo + annotated} questions "
            f"({gold['pseudo_gold_share']:.0%}).")


def read_lines(root: Path, config: Config, benchmark: str) -> tuple[list[Line], dict[str, Any]]:
    """Systems side by side on a benchmark, as the stage wrote them, and its systems.json.

    Raises
    ------
    DataError
        If the stage has not run.
    """
    import pyarrow.parquet as pq

    from canopy.answers.gold import leave_out
    from canopy.answers.summary import columns_read, compare_systems
    from canopy.gold.kinds import read_kinds

    folder = root / "data" / "answers" / benchmark
    try:
        listing = json.loads((folder / "systems.json").read_text("utf-8"))
        primary = listing["metric"]["primary"]
        rows = pq.read_table(folder / "answers.parquet", columns=columns_read(primary)).to_pylist()
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise DataError(f"{folder}: no answers that can be read ({type(e).__name__}); run `canopy evaluate`") from None
    settings = config.evaluation
    kinds = read_kinds(root / "data" / "gold_spans" / benchmark / "gold.parquet")
    left_out = kinds.among({r["question_id"] for r in rows}).left_out
    lines = compare_systems(leave_out(rows, left_out), primary, resamples=settings.resamples,
                            seed=config.answers.seeds[0], confidence=settings.confidence)
    return lines, listing


def _print_fitting(console: Console, title: str, lines: Sequence[Line], primary: Sequence[str]) -> None:
    """Print the whole table if there is room for it (always in a file or a pipe); otherwise a narrower one."""
    table = _table(title, lines, primary, wide=True)
    if console.is_terminal and width_of(table, console) > console.width:
        table = _table(title, lines, primary, wide=False)
    print_whole(console, table)


def _table(title: str, lines: Sequence[Line], primary: Sequence[str], *, wide: bool) -> Table:
    """Systems side by side.

    The narrow table has intervals only at the first measure and the difference. Measures beyond the first two, calls
    and rounds are left to the report.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    from canopy.report.values import show, show_interval

    several_readers = len({x.reader for x in lines}) > 1
    reference = next((x.reference for x in lines if x.reference), "")
    shares = (*(primary if wide else primary[:2]), "gold_recall", "answer_in_evidence")
    measures: list[tuple[str, Kind]] = [(m, "percent") for m in shares]
    measures.append(("tokens", "count"))
    if wide:
        measures += [("calls", "number"), ("rounds", "number")]

    def joined(value: str, interval: str) -> str:
        return f"{value}{' ' if wide else chr(10)}{interval}".strip().replace(", ", ",\u00a0")

    def cell(line: Line, measure: str, kind: Kind) -> str:
        with_interval = kind == "percent" and (wide or measure == primary[0])
        value = line.values[measure]
        return joined(show(value.estimate, kind), show_interval(value, kind) if with_interval else "")

    def right(label: str) -> Column:
        return Column(label, justify="right", no_wrap=wide, min_width=max(map(len, label.split())))

    columns = [Column("reader", no_wrap=True)] if several_readers else []
    columns += [Column("system", no_wrap=True), *(right(_LABELS.get(m, m.replace("_", " "))) for m, _ in measures)]
    columns += [right(f"{_LABELS.get(primary[0], primary[0])} - {reference}'s")] if reference else []
    table = Table(*columns, title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for line in lines:
        cells = [line.reader] if several_readers else []
        cells += [f"{line.system} {line.variant}".strip(), *(cell(line, m, kind) for m, kind in measures)]
        if reference:
            difference = line.difference
            cells.append(joined(show(difference.estimate, "points"), show_interval(difference, "points"))
                         if difference else "")
        table.add_row(*cells)
    return table
