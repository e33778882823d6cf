"""What the paper says, in boxes of their own, so that no figure of it can be taken for one of this run."""

from __future__ import annotations

from canopy.report.model import Column, Quotation, Row, Table
from canopy.report.paper import BENCHMARKS, CLAIMS, MAIN, MEAN, NOTE, READER, SHORT_NOTE, TITLES, find_published

BOX = "The paper's figures, not this run's"
_IN_TEXT = "in its text"


def quote(*places: str) -> Quotation | None:
    """What the paper says in words at the given tables and figures; None if it says nothing there."""
    table = claims_table(*places)
    return Quotation(BOX, (table,), SHORT_NOTE) if table.rows else None


def quote_everything() -> Quotation:
    """The paper's main table, and everything that it says in words."""
    return Quotation(BOX, (main_table(), all_claims_table()), NOTE)


def claims_table(*places: str) -> Table:
    """What the paper says at the given tables and figures, in words."""
    rows: list[Row] = [{"place": c.place or _IN_TEXT, "what": c.what, "paper": c.says} for c in CLAIMS
                       if c.place in places]
    key = "-".join(p.lower().replace(" ", "") for p in places) or "text"
    columns = [Column("place", "where"), Column("what", "what"), Column("paper", "the paper")]
    return Table(f"paper-{key}", "The paper says", columns, rows)


def main_table() -> Table:
    """The paper's main table."""
    columns = [Column("system", "system")]
    for benchmark in BENCHMARKS:
        if benchmark == "LVBench":
            columns.append(Column(f"{benchmark}_accuracy", f"{benchmark} accuracy", "percent"))
        else:
            columns += [Column(f"{benchmark}_{m}", f"{benchmark} {m.upper()}", "percent") for m in ("em", "f1")]
    columns.append(Column(MEAN, "mean of EM and accuracy", "percent"))
    rows: list[Row] = []
    for system in MAIN:
        row: Row = {"system": system, MEAN: find_published(("Table 1",), MEAN, system)["accuracy"]}
        for benchmark in BENCHMARKS:
            row |= {f"{benchmark}_{m}": v for m, v in find_published(("Table 1",), benchmark, system).items()}
        rows.append(row)
    return Table("paper-main", f"The paper's Table 1 ({READER} as reader, unified corpus)", columns, rows)


def all_claims_table() -> Table:
    """Everything the paper says in words, in the order of its tables and figures."""
    order = [*TITLES, _IN_TEXT]
    table = claims_table(*TITLES, "")
    rows = sorted(table.rows, key=lambda r: order.index(str(r["place"])))
    return Table("paper-claims", "What else the paper published", table.columns, rows)
