"""The report's tables about data: what became of every record, how much gold was located, what was folded, what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from canopy.gold.expected import PAPER_TRAINING
from canopy.report.paper import CORPUS_SIZES
from canopy.report.tables import Column, Results, Table

FATES = ("mapped", "fallback", "waiting", "quarantined")


def records_table(results: Sequence[Results]) -> Table:
    """What became of the records read, one row a benchmark; a note where the four fates do not add up to what was read."""
    rows, wrong = [], []
    for r in results:
        told = r.benchmark_summary.get("metrics", {})
        rows.append({"benchmark": r.name, **{k: told.get(k) for k in ("read", *FATES, "items", "questions", "annotations")}})
        if all(k in told for k in ("read", *FATES)) and told["read"] != sum(told[k] for k in FATES):
            wrong.append(r.name)
    labels = {"read": "records read", "fallback": "mapped with a fallback", "waiting": "waiting for a document"}
    note = "Every record read is mapped, mapped with a stated fallback, waiting for a document, or quarantined with a reason."
    return Table("records", "Records", [Column("benchmark", "benchmark"), *(
        Column(k, labels.get(k, k), "count") for k in ("read", *FATES, "items", "questions", "annotations"))], rows,
        f"{note} These do not add up for {', '.join(wrong)}: a record was lost or counted twice." if wrong else note)


def coverage_rows(results: Sequence[Results]) -> Table:
    """Gold located, whole and absent, by modality and by question."""
    rows = [{"benchmark": r.name, **row} for r in results for row in r.gold_summary.get("tables", {}).get("coverage", ()) if "of" in row]
    labels = {"located": "located inside", "whole item": "whole item", "none": "no gold", "pseudo": "pseudo gold among them"}
    return Table("coverage", "Gold coverage", [Column("benchmark", "benchmark"), Column("of", "gold in"), *(
        Column(k, v, "count") for k, v in labels.items())], rows,
        "By modality: gold of a question in an item, once an alternative. Questions are located where all gold of one alternative is; an image or an "
        "item of one fragment has no parts to look in and counts there.")


def folding_tables(corpus: Mapping[str, Any]) -> list[Table]:
    """Items of the corpus by benchmark and modality, and what was folded into what, by pair of benchmarks."""
    held = corpus.get("tables", {})
    kinds = {"read": "read", "exact duplicates": "exact duplicates", "near duplicates": "near duplicates", "searched": "searched"}
    items = Table("corpus", "The corpus", [Column("benchmark", "benchmark"), Column("modality", "modality"), *(
        Column(k, v, "count") for k, v in kinds.items())], [r for r in held.get("items", ()) if "searched" in r],
        "A duplicate is searched through the first item that says the same; finding that one counts as finding it. Near-duplicates keep nodes of their "
        "own, exact ones share.")
    pairs = Table("folded", "Duplicates folded", [Column("benchmark", "benchmark"), Column("into", "into an item of"), Column("exact", "exact", "count"),
                                                  Column("near", "near", "count")], list(held.get("folded", ())))
    return [items, pairs]


def expected_table(results: Sequence[Results], training: Mapping[str, Any]) -> Table:
    """Published counts beside what was found here, and the paper's training set beside this run's."""
    rows = [{"benchmark": r.name, **row} for r in results for row in r.gold_summary.get("tables", {}).get("expected", ())]
    if rows:
        rows += [{"benchmark": "all together", "what": f"training {k}", "published": n, "source": "the paper", "found": training.get(k)}
                 for k, n in PAPER_TRAINING.items()]
    return Table("expected", "Expected and found", [Column("benchmark", "benchmark"), Column("what", "count of"), Column("published", "published", "count"),
                                                    Column("source", "says"), Column("found", "found here", "count")], rows,
                 "Published counts are those of the benchmarks' publishers and of the paper, to compare with: a folder may hold a slice. None of them "
                 "is a figure of this run.")


def corpus_table(corpus: Mapping[str, Any]) -> Table:
    """Items searched by modality, beside what the paper searches."""
    counted: dict[str, int] = {}
    for row in corpus.get("tables", {}).get("items", ()):
        if "searched" in row:
            counted[row["modality"]] = counted.get(row["modality"], 0) + int(row["searched"])
    rows: list[dict[str, Any]] = [{"modality": m, "searched": n, "paper": CORPUS_SIZES.get(m)} for m, n in sorted(counted.items())]
    if rows:
        rows.append({"modality": "all", "searched": sum(counted.values()), "paper": CORPUS_SIZES["all"]})
    return Table("corpus-summary", "The unified corpus by modality", [Column("modality", "modality"), Column("searched", "items searched", "count"),
                                                                     Column("paper", "the paper: items, rounded", "count")], rows)
