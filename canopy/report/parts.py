"""What the parts on answers share: a table of each view, a figure of each group, and what the paper says of the
same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from canopy.config import CORPUS_SCOPES, CorpusScope
from canopy.report.drawing import file_name
from canopy.report.groups import Group, View
from canopy.report.model import Figure, Section, Table, section
from canopy.report.quotations import quote
from canopy.report.systems_table import KEPT

UP = "Up and left is better. Crosses: 95% intervals."


def quality_measures(group: Group) -> list[str]:
    """The measures of quality: the first official one, and what was kept."""
    return [group.first, *KEPT]


def tables_of(views: Sequence[View], make: Callable[[View], Table],
              corpus_scopes: Sequence[CorpusScope]) -> list[Table]:
    """A table of each view that has rows.

    Its title ends with its corpus, and with who read if there are several readers.
    """
    several = len({v.reader for v in views}) > 1
    tables = []
    for corpus_scope in corpus_scopes:
        for view in (v for v in views if v.corpus_scope == corpus_scope):
            table = make(view)
            if table.rows:
                table.title += f", {CORPUS_SCOPES[corpus_scope]}" + (f", read by {view.reader}" if several else "")
                tables.append(table)
    return tables


def figures_of(views: Sequence[View], kind: str, caption: str, make: Callable[[View, Group], str],
               corpus_scopes: Sequence[CorpusScope]) -> list[Figure]:
    """A figure of every group of the first reader that has anything to show.

    Of the unified and a benchmark's own corpus only the first that is named has a figure. ``make`` gives SVG text, or
    an empty text if there is nothing to draw.
    """
    figures: list[Figure] = []
    searched: set[str] = set()
    for view in (v for s in corpus_scopes for v in views if v.corpus_scope == s and not v.suffix):
        for group in view.groups:
            benchmark = group.answered.name
            if view.corpus_scope != "gold" and benchmark in searched:
                continue
            if svg := make(view, group):
                if view.corpus_scope != "gold":
                    searched.add(benchmark)
                name = file_name(kind, view.corpus_scope + view.suffix, benchmark)
                figures.append(Figure(name, f"{benchmark}, {CORPUS_SCOPES[view.corpus_scope]}:", caption, svg))
    return figures


def part(key: str, title: str, text: Sequence[str], tables: Sequence[Table], figures: Sequence[Figure] = (),
         places: tuple[str, ...] = (), unfolded: int = 1, cited: tuple[str, ...] | None = None) -> Section | None:
    """A part with its first tables open and the others folded away; None if there is nothing to show.

    Parameters
    ----------
    places : tuple of str
        The paper's tables and figures that show the same; what it says there is quoted, unless ``cited`` names others.
    """
    if not tables and not figures:
        return None
    quotation = quote(*(places if cited is None else cited))
    return section(key, title, text, tables[:unfolded], figures, folded=tables[unfolded:], headed=True, places=places,
                   quotation=quotation)
