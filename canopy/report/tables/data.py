"""The data: what became of every record, how much gold was located, what was folded, what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canopy.gold.expected import PAPER_TRAINING
from canopy.report.model import Column, Paragraph, Row, Section, Table, section
from canopy.report.quotations import quote
from canopy.report.results import Results, Summary
from canopy.report.tables.table_5_corpus import corpus_table, folded_table, items_table

FATES = ("mapped", "fallback", "waiting", "quarantined")
PLACES = ("Table 5",)
_RECORDS_NOTE = ("Every record read is mapped, mapped with a stated fallback, waiting for a document, or quarantined "
                 "with a reason.")
_COVERAGE_NOTE = ("By modality: gold of a question in an item, once an alternative. Questions are located where all "
                  "gold of one alternative "
                  "is; an image or an item of one fragment has no parts to look in and counts there.")
_EXPECTED_NOTE = ("Published counts are those of the benchmarks' publishers and of the paper, to compare with: a "
                  "folder may hold a slice. "
                  "None of them is a figure of this run.")
_SHARED_NOTE = ("All benchmarks are split at once: what hangs together through gold that says the same, or that stands "
                "inside other gold, is on one side.")
_EXAMPLES = "Twenty random examples of each benchmark, their gold marked, to judge the mapping by eye: "


def records_table(results: Sequence[Results]) -> Table:
    """What became of the records read, one row a benchmark.

    The note says if the four fates do not add up to what was read.
    """
    rows: list[Row] = []
    incomplete = []
    keys = ("read", *FATES, "items", "questions", "annotations")
    for r in results:
        counts = r.benchmark_summary.get("metrics", {})
        rows.append({"benchmark": r.name, **{k: counts.get(k) for k in keys}})
        if all(k in counts for k in ("read", *FATES)) and counts["read"] != sum(counts[k] for k in FATES):
            incomplete.append(r.name)
    labels = {"read": "records read", "fallback": "mapped with a fallback", "waiting": "waiting for a document"}
    columns = [Column("benchmark", "benchmark"), *(Column(k, labels.get(k, k), "count") for k in keys)]
    note = _RECORDS_NOTE
    if incomplete:
        note += f" These do not add up for {', '.join(incomplete)}: a record was lost or counted twice."
    return Table("records", "Records", columns, rows, note)


def coverage_table(results: Sequence[Results]) -> Table:
    """Gold located, whole and absent, by modality and by question."""
    rows: list[Row] = [{"benchmark": r.name, **row} for r in results
                       for row in r.gold_summary.get("tables", {}).get("coverage", ()) if "of" in row]
    labels = {"located": "located inside", "whole item": "whole item", "none": "no gold",
              "pseudo": "pseudo gold among them"}
    columns = [Column("benchmark", "benchmark"), Column("of", "gold in"),
               *(Column(k, v, "count") for k, v in labels.items())]
    return Table("coverage", "Gold coverage", columns, rows, _COVERAGE_NOTE)


def expected_table(results: Sequence[Results], training: Mapping[str, object]) -> Table:
    """Published counts beside the counts here, and the paper's training set beside this run's."""
    rows: list[Row] = [{"benchmark": r.name, **row} for r in results for summary in (r.gold_summary, r.split_summary)
                       for row in summary.get("tables", {}).get("expected", ())]
    if rows:
        for key, count in PAPER_TRAINING.items():
            value = training.get(key)
            rows.append({"benchmark": "all together", "what": f"training {key}", "published": count,
                         "source": "the paper",
                         "found": value if isinstance(value, int | float) else None})
    columns = [Column("benchmark", "benchmark"), Column("what", "count of"), Column("published", "published", "count"),
               Column("source", "says"), Column("found", "found here", "count")]
    return Table("expected", "Expected and found", columns, rows, _EXPECTED_NOTE)


def gold_table(results: Sequence[Results]) -> Table:
    """The counts of ``gold_spans`` and ``split`` as the stages named them, without those that the coverage shows."""
    hidden = ("located_", "whole_", "questions_without")
    metrics = {r.name: {n: v for summary in (r.gold_summary, r.split_summary)
                        for n, v in summary.get("metrics", {}).items() if not n.startswith(hidden)} for r in results}
    names = dict.fromkeys(n for m in metrics.values() for n in m)
    rows: list[Row] = [{"count": n.replace("_", " "), **{b: m.get(n) for b, m in metrics.items()}} for n in names]
    return Table("gold", "Gold and split", [Column("count", "count"),
                                            *(Column(r.name, r.name, "number") for r in results)], rows)


def shared_gold_table(results: Sequence[Results]) -> Table:
    """Gold that two benchmarks share, and the questions that changed side for it; the note says what else moved."""
    rows: list[Row] = [{"benchmark": r.name, **row} for r in results
                       for row in r.split_summary.get("tables", {}).get("shared", ())]
    labels = {"gold items": "gold items that both have", "questions": "questions that both have",
              "hang together": "questions that hang together with it", "moved": "of them on another side than alone"}
    columns = [Column("benchmark", "benchmark"), Column("with", "with"),
               *(Column(k, v, "count") for k, v in labels.items())]
    notes = [n for r in results for n in r.split_summary.get("notes", ())]
    return Table("shared-gold", "Gold across benchmarks", columns, rows, " ".join([_SHARED_NOTE, *notes]))


def data_section(results: Sequence[Results], training: Mapping[str, object], corpus: Summary) -> Section:
    """Every count of the stages before this one, and links to the pages of examples."""
    tables = [corpus_table(corpus), records_table(results), expected_table(results, training), coverage_table(results),
              gold_table(results), shared_gold_table(results),
              items_table(corpus), folded_table(corpus)]
    part = section("data", "Data", ["What the stages before this one counted."], [t for t in tables if t.rows],
                   places=PLACES,
                   quotation=quote(*PLACES))
    links = tuple((r.name, r.examples) for r in results if r.examples)
    if not links:
        return part
    return Section(part.key, part.title, (Paragraph(_EXAMPLES, links), *part.blocks), part.places)
