"""What answers took: rounds, calls, tokens, and what differed from the protocol on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from canopy.config import CorpusScope
from canopy.report.groups import View
from canopy.report.model import Column, Frame, Row, Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import columns_of
from canopy.scoring.measure import label_of

MEASURES = ("rounds", "calls", "prompt_tokens", "completion_tokens", "tokens", "kept_share", "pruned",
            "duplicate_share", "cap_cut",
            "fallbacks", "parse_failed")
TEXT = ("Rounds, calls, tokens, and what was counted on the way. Seconds differ from run to run: they stand in a page "
        "beside this one, which is shown here, and in the tracker.")
SECONDS = Frame("Seconds of search, node encoding and systems", "../../.canopy/timings/seconds.html")
_SCOPES: tuple[CorpusScope, ...] = ("unified", "own", "gold")


def cost_table(view: View) -> Table:
    """What every system cost: rounds, calls, tokens, duplicates, cuts, and what could not be used."""
    rows: list[Row] = []
    for group in view.groups:
        for name in (n for n in group.names if not n[1]):
            values: Row = {m: group.value(name, m) for m in MEASURES}
            rows.append({"benchmark": group.answered.name, "system": name[0], **values})
    columns = columns_of(view, MEASURES)
    keys = {c.key for c in columns}
    absent = [label_of(m) for m in ("calls", "cap_cut", "fallbacks", "parse_failed") if m not in keys]
    note = "Means over questions; shares are pooled over them."
    if absent:
        note += f" None for any system: {', '.join(absent)}."
    columns = [Column("benchmark", "benchmark"), Column("system", "system"), *columns]
    return Table(view.key("cost"), "What it took", columns, rows, note, {**view.about})


def notes_table(view: View) -> Table:
    """What differed from the protocol, by system: counted, never hidden."""
    rows: list[Row] = []
    for group in view.groups:
        notes = group.answered.notes
        notes = notes[(notes["reader"] == view.reader) & (notes["corpus_scope"] == view.corpus_scope)]
        for system, note, count in zip(notes["system"], notes["note"], notes["count"], strict=True):
            rows.append({"benchmark": group.answered.name, "system": str(system), "note": str(note),
                         "count": int(count),
                         "share": int(count) / group.questions})
    columns = [Column("benchmark", "benchmark"), Column("system", "system"), Column("note", "note"),
               Column("count", "times", "count"),
               Column("share", "a question", "number")]
    return Table(view.key("notes"), "What was noted on the way", columns, rows, "", {**view.about})


def cost_section(views: Sequence[View]) -> Section | None:
    """Both tables of every view, folded away."""
    costs, notes = tables_of(views, cost_table, _SCOPES), tables_of(views, notes_table, _SCOPES)
    tables = [*costs[:1], *notes[:1], *costs[1:], *notes[1:]]
    section = part("cost", "What it took", [TEXT], tables, unfolded=0, cited=("",))
    return None if section is None else replace(section, blocks=(section.blocks[0], SECONDS, *section.blocks[1:]))
