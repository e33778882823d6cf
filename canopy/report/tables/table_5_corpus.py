"""Table 5: the items that are searched, beside what the paper searches, and what was folded."""

from __future__ import annotations

from canopy.corpus.folds import KINDS
from canopy.report.model import Column, Row, Table
from canopy.report.paper import CORPUS_SIZES
from canopy.report.results import Summary

_FOLDED_NOTE = ("A duplicate is searched through the first item that says the same; finding that one counts as finding "
                "it. Equal ones "
                "differ in spacing, quotes or dashes alone; near ones have words added, or another title of the same "
                "text, in benchmarks that ask for it. Exact duplicates share their nodes, the others have their own.")
_COUNTS = ("read", *(f"{kind} duplicates" for kind in KINDS), "searched")


def corpus_table(corpus: Summary) -> Table:
    """Items searched by modality."""
    counts: dict[str, int] = {}
    for row in _item_rows(corpus):
        modality, searched = str(row["modality"]), row["searched"]
        counts[modality] = counts.get(modality, 0) + (int(searched) if isinstance(searched, int | float) else 0)
    rows: list[Row] = [{"modality": m, "searched": n, "paper": CORPUS_SIZES.get(m)} for m, n in sorted(counts.items())]
    if rows:
        rows.append({"modality": "all", "searched": sum(counts.values()), "paper": CORPUS_SIZES["all"]})
    columns = [Column("modality", "modality"), Column("searched", "items searched", "count"),
               Column("paper", "the paper: items, rounded", "count")]
    return Table("corpus-summary", "The unified corpus by modality", columns, rows)


def items_table(corpus: Summary) -> Table:
    """Items of the corpus by benchmark and modality."""
    columns = [Column("benchmark", "benchmark"), Column("modality", "modality"),
               *(Column(k, k, "count") for k in _COUNTS if any(k in r for r in _item_rows(corpus)))]
    return Table("corpus", "The corpus", columns, _item_rows(corpus), _FOLDED_NOTE)


def folded_table(corpus: Summary) -> Table:
    """What was folded into what, by pair of benchmarks."""
    rows: list[Row] = list(corpus.get("tables", {}).get("folded", ()))
    columns = [Column("benchmark", "benchmark"), Column("into", "into an item of"),
               *(Column(kind, kind, "count") for kind in KINDS if any(kind in r for r in rows))]
    return Table("folded", "Duplicates folded", columns, rows)


def _item_rows(corpus: Summary) -> list[Row]:
    return [r for r in corpus.get("tables", {}).get("items", ()) if "searched" in r]
