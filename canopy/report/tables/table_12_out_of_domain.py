"""Table 12: the main comparison on benchmarks that the paper trains nothing on."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.report.answered import Answered
from canopy.report.choices import main_systems
from canopy.report.groups import VANILLA, View
from canopy.report.model import Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import systems_table

TEXT = ("The benchmarks that the paper trains nothing on. The paper's three share one pool of their own; here each has "
        "the corpora of the "
        "other tables.")


def out_of_domain_table(view: View) -> Table:
    """A row a system; the paper's figures are of the unified corpus."""
    places = ("Table 12",) if view.corpus_scope == "unified" else ()
    return systems_table(view, "out-of-domain", "Out of domain", main_systems, VANILLA, places=places,
                         beside=("rounds", "calls"),
                         mean=True)


def out_of_domain_section(views: Sequence[View]) -> Section | None:
    """Table 12, with a note if f_theta was trained on questions of one of the benchmarks."""
    answers: dict[str, Answered] = {g.answered.name: g.answered for v in views for g in v.groups}
    trained = [n for n, a in answers.items() if a.trained]
    text = [TEXT]
    if trained:
        text.append(f"In this run f_theta was trained on questions of {', '.join(trained)} too: for it they are not "
                    f"out of domain, and "
                    "the paper's figures are.")
    return part("out-of-domain", "Out of domain", text, tables_of(views, out_of_domain_table, ("unified", "own")), (),
                ("Table 12",))
