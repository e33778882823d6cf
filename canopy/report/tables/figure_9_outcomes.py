"""Figure 9: what refinement decides, of the items that were retrieved and of the nodes that the rule looked at."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from canopy.evaluation.systems import TUNED
from canopy.report.drawing import OUTCOMES, file_name, shares_plot
from canopy.report.groups import CANOPY, LOOKAHEAD, Group, View
from canopy.report.model import Figure, Section, section
from canopy.report.parts import figures_of, part
from canopy.report.quotations import quote
from canopy.report.results import Results

PLACES = ("Figure 9",)
ITEMS_TEXT = ("Of the retrieved items, by modality: kept whole, split into regions that lose nothing together, or "
              "pruned. An image has no "
              "parts.")
NODES_TEXT = ("A node that the rule looks at is kept whole, split into its children, or dropped because it scores "
              "below its parent.")


def decided_section(views: Sequence[View]) -> Section | None:
    """What became of retrieved items, in the answers."""
    def draw(view: View, group: Group) -> str:
        return items_plot(view, group, (CANOPY[0], LOOKAHEAD[0], "canopy-f0"))

    figures = figures_of(views, "decided", "what became of retrieved items.", draw, ("unified", "own", "gold"))
    return part("decided", "What refinement decides", [ITEMS_TEXT], [], figures, PLACES)


def items_plot(view: View, group: Group, systems: Sequence[str]) -> str:
    """Items kept whole, split without loss, or pruned, by modality; an empty text if none of the systems ran."""
    outcomes = group.answered.outcomes
    outcomes = outcomes[(outcomes["reader"] == view.reader) & (outcomes["corpus_scope"] == view.corpus_scope)
                        & outcomes["system"].isin(systems)]
    rows = [(m, s, _counts(outcomes, m, s)) for m in sorted(set(outcomes["modality"])) for s in systems]
    rows = [r for r in rows if sum(r[2])]
    if not rows:
        return ""
    name = file_name("decided", view.corpus_scope + view.suffix, group.answered.name)
    return shares_plot(rows, ("kept whole", "split, nothing lost", "pruned"), "retrieved items", name)


def _counts(rows: pd.DataFrame, modality: str, system: str) -> list[int]:
    part = rows[(rows["modality"] == modality) & (rows["system"] == system)]
    return [int(part[o].sum()) for o in ("kept", "split", "pruned")]


def nodes_section(results: Sequence[Results]) -> Section:
    """What became of the nodes of gold items, in the evaluation."""
    figures = [Figure(file_name("outcomes", r.name), r.name, "what became of each node that the rule looked at.",
                      nodes_plot(r))
               for r in results]
    return section("outcomes", "Kept, split and dropped nodes", [NODES_TEXT], [], figures, places=PLACES,
                   quotation=quote(*PLACES))


def nodes_plot(results: Results) -> str:
    """Nodes kept whole, split and dropped, by modality, f0 beside f_theta."""
    names = [o for o, _ in OUTCOMES]
    rows = []
    for modality in sorted(set(results.regions["modality"])):
        for system in (results.better, TUNED):
            part = results.regions[(results.regions["modality"] == modality) & (results.regions["system"] == system)]
            rows.append((modality, system, [int(part[f"nodes_{o}"].sum()) for o in names]))
    return shares_plot(rows, names, "judged nodes", file_name("outcomes", results.name))
