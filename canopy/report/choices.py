"""Which systems of a group stand in which table: by what their declarations say of them, in the order of tables."""

from __future__ import annotations

from canopy.answers.comparison import Name
from canopy.report.answered import Answered
from canopy.report.groups import CANOPY, LOOKAHEAD, VANILLA, Group

_NOT_BUDGETS = ("k=", "R=", "B=")  # sizes of the loop and the tree, which are no budgets of a compressor


def family(group: Group, name: str) -> list[Name]:
    """The systems of a group that belong to a family, in its order."""
    members = {s["name"] for s in group.answered.systems if s["family"] == name}
    return [(s, "") for s in group.systems if s in members]


def main_order(answered: Answered) -> list[str]:
    """The systems of the paper's main table in its order, then whatever else counts itself among them."""
    placed = sorted((s for s in answered.systems if s["main"] is not None), key=lambda s: s["main"] or 0)
    more = [s["name"] for s in answered.systems if s["family"] == "main" and s["main"] is None]
    return [*(s["name"] for s in placed), *more]


def main_systems(group: Group) -> list[Name]:
    """The rows of the main table."""
    there = set(group.systems)
    return [(s, "") for s in main_order(group.answered) if s in there]


def component_systems(group: Group) -> list[Name]:
    """CANOPY, and without or with another one of its parts."""
    components = [(s["name"], "") for s in group.answered.systems if s["component"]]
    return [CANOPY, *(n for n in components if n != CANOPY)]


def option_systems(group: Group) -> list[Name]:
    """Departures from the paper's loop that ran, the look-ahead rule first."""
    components = {s["name"] for s in group.answered.systems if s["component"]}
    options = [(s["name"], "") for s in group.answered.systems if s["family"] == "ablation"
               and s["name"] not in components]
    return [n for n in (LOOKAHEAD, *options) if n in group]


def selection_systems(group: Group) -> list[Name]:
    """The oracles, CANOPY's rules and scores, and the selectors without a rule."""
    oracles = [(s["name"], "") for s in group.answered.systems if s["oracle"]]
    return [n for n in (*oracles, CANOPY, LOOKAHEAD, ("canopy-f0", ""), *family(group, "selection")) if n in group]


def flat_systems(group: Group) -> list[Name]:
    """CANOPY in one round and in several, and the selectors without a rule."""
    return [("canopy-no-iteration", ""), CANOPY, LOOKAHEAD, *family(group, "selection")]


def compressor_systems(group: Group) -> list[Name]:
    """CANOPY, whole items, and every compressor at every budget."""
    systems = [VANILLA, CANOPY, LOOKAHEAD, *family(group, "compressor"), ("flat-leaf-share", "")]
    names: list[Name] = []
    for system, _ in systems:
        names += sorted((n for n in group.names if n[0] == system and not n[1].startswith(_NOT_BUDGETS)), key=size_of)
    return names


def swept_systems(group: Group, sweep: str) -> list[str]:
    """The systems that are swept over ``k``, ``rounds`` or ``branching``, CANOPY's first."""
    order = [CANOPY[0], LOOKAHEAD[0]]
    names = [s["name"] for s in group.answered.systems if sweep in s["sweeps"]]
    return sorted(names, key=lambda n: order.index(n) if n in order else len(order))


def variants(group: Group, system: str, prefix: str) -> list[Name]:
    """A system at its own size and at the sizes that begin with ``prefix``, smallest first."""
    sizes = [n for n in group.names if n[0] == system and n[1].startswith(prefix)]
    return [*([(system, "")] if sizes and (system, "") in group else []), *sorted(sizes, key=size_of)]


def size_of(name: Name) -> float:
    """What to sort a system's variants by: its own size first, then the numbers in their names."""
    try:
        return float(name[1].partition("=")[2]) if name[1] else float("-inf")
    except ValueError:
        return float("inf")
