"""What a run is: its encoder and readers, its sample sizes, and how intervals are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canopy.evaluation.systems import TUNED
from canopy.formatting import number, round_text
from canopy.report.groups import View
from canopy.report.model import Column, Paragraph, Row, Section, Table, Tabular, Terms
from canopy.report.results import Results, Settings
from canopy.report.words import what_it_sees

_COUNTS = {"train": "train questions", "test": "test questions", "components": "components", "measured": "measured",
           "pairs": "gold items",
           "refinable": "of them refinable", "decisions": "decisions"}
NOTE = ("Questions and gold items of all benchmarks are split by connected component: no gold text is on both sides. A "
        "gold item counts once a question.")


def sizes_table(results: Sequence[Results]) -> Table:
    """Questions on either side of the split, and what of the test side is measured."""
    rows: list[Row] = []
    for r in results:
        sides = r.splits["split"].value_counts()
        whole = r.regions[r.regions["system"] == TUNED]
        rows.append({
            "benchmark": r.name, "train": int(sides.get("train", 0)), "test": int(sides.get("test", 0)),
            "components": int(r.splits["component"].nunique()), "measured": r.questions, "pairs": len(whole),
            "refinable": int((whole["fragments"] > 1).sum()), "decisions": r.decided})
    columns = [Column("benchmark", "benchmark"), *(Column(k, v, "count") for k, v in _COUNTS.items())]
    return Table("sizes", "Sample sizes", columns, rows, NOTE)


def run_section(training: Mapping[str, object], settings: Settings, measured: Sequence[Results],
                views: Sequence[View]) -> Section:
    """Who read, how certain figures are, how large the samples are, and how f_theta was trained."""
    readers = list(dict.fromkeys(v.label for v in views))
    read = f"Answers were read by: {'; '.join(readers)}." if readers else "No answers were read."
    if readers and all(v.kind != "llm" for v in views):
        read += " No language model took part, and no figure below is a language model's."
    encoder = ("f0 is the frozen pretrained encoder, f_theta the same encoder with a LoRA adapter trained on the "
               "training split's gold. "
               f"Both are {what_it_sees(training)[0]}. {read}")
    intervals = (f"Intervals are {100 * settings.confidence:g}% percentile intervals of {settings.resamples:,} paired "
                 f"bootstrap resamples "
                 f"of the test questions (seed {settings.seed}): question ids are resampled once for all systems that "
                 f"are compared.")
    facts = Terms(_facts(training), "The tuned encoder")
    return Section("run", "What this run is", (Paragraph(encoder), Paragraph(intervals), Tabular(sizes_table(measured)),
                                               facts))


def _facts(values: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """A nested mapping's leaves, as they are."""
    flat: dict[str, object] = {}
    for key, value in values.items():
        flat |= value if isinstance(value, dict) else {key: value}
    return tuple((k.replace("_", " "), number(v) if isinstance(v, float) else round_text(str(v)))
                 for k, v in flat.items())
