"""The report's parts on answers: the paper's comparisons, drawn from our runs; one corpus and one reader a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from canopy.config import CORPUS_SCOPES
from canopy.report import answer_plots as plots
from canopy.report.answer_tables import (
    CANOPY,
    KEPT,
    LOOKAHEAD,
    VANILLA,
    cost_table,
    notes_table,
    size_of,
    systems_table,
    variants,
)
from canopy.report.answered import MAIN, Answered, Group, Name, View
from canopy.report.drawing import file_name
from canopy.report.option_tables import COMPONENTS, options_table
from canopy.report.sections import Drawn, Section, section
from canopy.report.tables import Table

_UP = "Up and left is better. Crosses: 95% intervals."


def family(group: Group, *families: str) -> list[str]:
    """The systems of a group that belong to the given families, in its order."""
    of = {s["name"]: s["family"] for s in group.answered.listed["systems"]}
    return [s for s in dict.fromkeys(s for s, _ in group.names) if of.get(s) in families]


def main_systems(group: Group) -> list[Name]:
    """The rows of the main table, in the paper's order, and whatever else counts itself among them."""
    there = family(group, "main")
    return [(s, "") for s in (*(s for s in MAIN if s in there), *(s for s in there if s not in MAIN))]


def selection_systems(group: Group) -> list[Name]:
    """The oracles, CANOPY and its rivals in selection."""
    return [(s, "") for s in ("gold-item", "gold-span", "canopy", "canopy-lookahead", "canopy-f0", *family(group, "selection")) if (s, "") in group]


def compressor_systems(group: Group) -> list[Name]:
    """CANOPY, whole items, and every compressor at every size."""
    wanted = ["vanilla", "canopy", "canopy-lookahead", *family(group, "compressor"), "flat-leaf-share"]
    return [n for s in wanted for n in sorted((n for n in group.names if n[0] == s and not n[1].startswith(("k=", "R=", "B="))), key=size_of)]


def answer_sections(views: Sequence[View], compression: Section | None = None) -> list[Section]:
    """Every part on answers that has anything to show; the one on compression alone stands beside the compressors."""
    inside = [v.only([g for g in v.groups if not g.answered.out_of_domain]) for v in views]
    outside = [v.only([g for g in v.groups if g.answered.out_of_domain]) for v in views]
    parts = [_main(inside), _components(views), _options(views), _selection(views), _flat(views), _compressors(views), compression, _aks(views), *_sweeps(views), _routed(views),
             _outside(outside), _decided(views), _cost(views)]
    return [p for p in parts if p is not None]


def _tables(views: Sequence[View], make: Callable[[View], Table], settings: Sequence[str]) -> list[Table]:
    """A table of each view that has rows; its corpus, and who read where there are several, in its title."""
    several = len({v.reader for v in views}) > 1
    made = []
    for corpus_scope in settings:
        for view in (v for v in views if v.corpus_scope == corpus_scope):
            table = make(view)
            if table.rows:
                table.title += f", {CORPUS_SCOPES[corpus_scope]}" + (f", read by {view.reader}" if several else "")
                made.append(table)
    return made


def _draw(views: Sequence[View], kind: str, caption: str, make: Callable[[View, Group], str], settings: Sequence[str]) -> list[Drawn]:
    """A figure of every group of the first reader that has anything to show; of the unified and a benchmark's own corpus only the first named."""
    drawn, searched = [], set()
    for view in (v for s in settings for v in views if v.corpus_scope == s and not v.suffix):
        for group in view.groups:
            if (view.corpus_scope == "gold" or group.answered.name not in searched) and (svg := make(view, group)):
                searched |= {group.answered.name} if view.corpus_scope != "gold" else set()
                drawn.append(Drawn(file_name(kind, view.corpus_scope + view.suffix, group.answered.name), f"{group.answered.name}, {CORPUS_SCOPES[view.corpus_scope]}:", caption, svg))
    return drawn


def _part(key: str, title: str, text: Sequence[str], tables: list[Table], drawn: Sequence[Drawn] = (), places: tuple[str, ...] = (), opened: int = 1) -> Section | None:
    """A part with its first tables open and the others folded away; None where there is nothing."""
    if not tables and not drawn:
        return None
    return section(key, title, text, tables[:opened], drawn, places=places, folded=tables[opened:], headed=True)


def _quality(group: Group) -> list[str]:
    return [group.answered.primary[0], *KEPT]


def _main(views: Sequence[View]) -> Section | None:
    tables = _tables(views, lambda v: systems_table(v, "main", "Main comparison", main_systems, VANILLA, places=("Table 1", "Figure 2") if v.corpus_scope == "unified" else (),
                                                    beside=("rounds", "calls"), mean=True), ("unified", "own"))
    drawn = _draw(views, "tokens", f"quality against tokens. {_UP}", lambda v, g: plots.tokens_plot(v, g, main_systems(g), _quality(g), "tokens"), ("unified", "own"))
    return _part("main", "Main comparison", ["Every system answers the same test questions. The unified corpus holds the items of all configured benchmarks; a benchmark's own "
                                             "corpus holds its items alone. The two are never mixed in a table."], tables, drawn, ("Table 1", "Figure 2"))


def _components(views: Sequence[View]) -> Section | None:
    tables = _tables(views, lambda v: systems_table(v, "components", "Components", lambda g: COMPONENTS, CANOPY, beside=("rounds", "gold_item_recall"), best=False), ("unified", "own"))
    return _part("components", "Components", ["What each part of CANOPY does: without projection items stay whole, without iteration there is one round, with f0 the frozen "
                                              "encoder scores the nodes."], tables, (), ("Table 2",))


def _options(views: Sequence[View]) -> Section | None:
    return _part("options", "Which options win", ["Departures from the paper's loop, each alone, against CANOPY as the paper has it. The default stays the paper's."],
                 _tables(views, options_table, ("unified", "own", "gold")))


def _selection(views: Sequence[View]) -> Section | None:
    tables = _tables(views, lambda v: systems_table(v, "selection", "Selection", selection_systems, ("gold-item", ""), places=("Figure 5",) if v.corpus_scope == "gold" else ()), ("gold",))
    drawn = _draw(views, "selection", "the same annotated items, cut by each system.", lambda v, g: plots.selection_plot(v, g, selection_systems(g), _quality(g)), ("gold",))
    return _part("selection", "Selection on the annotated items", ["The annotated items are given, so that nothing but the choice of regions differs. Gold item and gold span are "
                                                                   "oracles: they know the annotation."], tables, drawn, ("Figure 5",))


def _flat(views: Sequence[View]) -> Section | None:
    drawn = _draw(views, "flat-m", "flat selection by m (the numbers), beside the hierarchy's.", lambda v, g: plots.flat_plot(v, g, _quality(g)), ("unified", "gold"))
    tables = _tables(views, lambda v: systems_table(v, "flat-m", "Flat selection by m", lambda g: [(s, "") for s in ("canopy-no-iteration", "canopy", "canopy-lookahead",
                     *family(g, "selection"))], CANOPY if v.corpus_scope == "gold" else ("canopy-no-iteration", "")), ("unified", "own", "gold"))
    return _part("flat-m", "Flat and any-level selection by m", ["Selectors without a stop rule of their own keep m leaves, or m nodes of any level, of every item. They retrieve "
                                                                 "once, so that in a corpus CANOPY without iteration is their like."], tables, drawn, ("Figure 7",))


def _compressors(views: Sequence[View]) -> Section | None:
    tables = _tables(views, lambda v: systems_table(v, "compressors", "Compressors", compressor_systems, CANOPY, beside=("calls",)), ("own", "unified", "gold"))
    drawn = _draw(views, "compressors", f"compressors, sizes of one joined (the numbers). {_UP}", lambda v, g: plots.tokens_plot(v, g, compressor_systems(g), _quality(g), "compressors"),
                  ("own", "unified"))
    return _part("compressors", "Compressors, at their sizes", ["Every compressor over the same k items, at its own size and at others; compare at equal tokens."], tables, drawn,
                 ("Figure 4", "Table 7"))


def _aks(views: Sequence[View]) -> Section | None:
    def choose(group: Group) -> list[Name]:
        return [("vanilla", ""), CANOPY, LOOKAHEAD, *variants(group, "aks", "M=")] if "video" in set(group.answered.outcomes["modality"]) else []
    return _part("aks", "AKS at other budgets", ["Adaptive keyframe sampling shows M frames of the retrieved videos; benchmarks without videos are left out."],
                 _tables(views, lambda v: systems_table(v, "aks", "AKS by M", choose, CANOPY), ("own", "unified", "gold")), (), ("Table 6",))


def _sweeps(views: Sequence[View]) -> list[Section | None]:
    """Sensitivity to k, R and B: sizes that the matrix swept over."""
    def sized(prefixes: Sequence[str], systems: Sequence[str]) -> Callable[[Group], list[Name]]:
        return lambda g: list(dict.fromkeys(n for s in systems for p in prefixes for n in variants(g, s, p)))

    def swept(key: str, title: str, prefixes: Sequence[str], systems: Sequence[str], reference: Name) -> list[Table]:
        return _tables(views, lambda v: systems_table(v, key, title, sized(prefixes, systems), reference, beside=("rounds", "gold_item_recall"), best=False), ("unified", "own"))

    curves = _draw(views, "by-k", "by the items a round retrieves, k.", lambda v, g: plots.sizes_plot(v, g, ("canopy", "canopy-lookahead", "vanilla"), "k=", [*_quality(g), "tokens"],
                                                                                                "items a round, k"), ("unified",))
    return [
        _part("sensitivity", "Sensitivity", ["CANOPY at other sizes: k items a round, R rounds, B children a node."],
              swept("sensitivity", "Sensitivity", ("k=", "R=", "B="), ("canopy", "canopy-lookahead"), CANOPY), (), ("Table 3",)),
        _part("branching", "Branching B", [], swept("branching", "Branching B", ("B=",), ("canopy", "canopy-lookahead"), CANOPY), (), ("Table 9",)),
        _part("by-k", "Items a round, k", ["CANOPY at few items against whole items at many."], swept("by-k", "By k", ("k=",), ("canopy", "canopy-lookahead", "vanilla"), VANILLA),
              curves, ("Table 10",)),
    ]


def _routed(views: Sequence[View]) -> Section | None:
    rows = [("universal-rag", ""), ("canopy-routed", ""), CANOPY, VANILLA]
    return _part("routed", "Routed components", ["UniversalRAG routes and reads whole items of one round; CANOPY routed adds compression and follow-ups to the same router; "
                                                 "CANOPY searches everything."],
                 _tables(views, lambda v: systems_table(v, "routed", "Routed", lambda g: rows if ("canopy-routed", "") in g else [], ("universal-rag", ""), beside=("rounds", "calls"),
                                                        best=False), ("unified", "own")), (), ("Table 8",))


def _outside(views: Sequence[View]) -> Section | None:
    names: dict[str, Answered] = {g.answered.name: g.answered for v in views for g in v.groups}
    trained = [n for n, a in names.items() if a.trained]
    text = ["The benchmarks that the paper trains nothing on. The paper's three share one pool of their own; here each has the corpora of the other tables."]
    if trained:
        text.append(f"In this run f_theta was trained on questions of {', '.join(trained)} too: for it they are not out of domain, and the paper's figures are.")
    tables = _tables(views, lambda v: systems_table(v, "out-of-domain", "Out of domain", main_systems, VANILLA, places=("Table 12",) if v.corpus_scope == "unified" else (),
                                                    beside=("rounds", "calls"), mean=True), ("unified", "own"))
    return _part("out-of-domain", "Out of domain", text, tables, (), ("Table 12",))


def _decided(views: Sequence[View]) -> Section | None:
    return _part("decided", "What refinement decides", ["Of the retrieved items, by modality: kept whole, split into regions that lose nothing together, or pruned. An image has no parts."],
                 [], _draw(views, "decided", "what became of retrieved items.", lambda v, g: plots.decided_plot(v, g, ("canopy", "canopy-lookahead", "canopy-f0")), ("unified", "own", "gold")),
                 ("Figure 9",))


def _cost(views: Sequence[View]) -> Section | None:
    tables = _tables(views, cost_table, ("unified", "own", "gold"))
    noted = _tables(views, notes_table, ("unified", "own", "gold"))
    return _part("cost", "What it took", ["Rounds, calls, tokens, and what was counted on the way. Seconds are no part of this page, which is the same for the same answers: "
                                          "they lie in .canopy/timings and in the tracker."], [*tables[:1], *noted[:1], *tables[1:], *noted[1:]], (), ("",), opened=0)
