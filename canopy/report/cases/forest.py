"""An item's hierarchy as refinement left it: which nodes were kept, split and dropped, from the kept regions alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from canopy.hierarchy.tree import child_spans

State = Literal["kept", "split", "dropped"]


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node that the rule looked at: fragments ``[lo, hi)``, its depth, and what became of it."""

    lo: int
    hi: int
    depth: int
    state: State


def judged_nodes(count: int, branching: int, kept: Iterable[tuple[int, int]]) -> list[NodeState]:
    """The nodes that the rule looked at, from the root down, left to right.

    A node is kept if it is one of the kept regions, split if it holds one, otherwise dropped. What lies under a kept or
    dropped node was not looked at.

    Parameters
    ----------
    count : int
        The item's fragments.
    kept : iterable of (lo, hi)
        Its kept regions. One that is no node of the hierarchy (another selector's) is taken apart into the largest
        nodes inside it.
    """
    regions = sorted(set(kept))
    exact, nodes = set(regions), []
    level, depth = [(0, count)], 0
    while level:
        below = []
        for lo, hi in level:
            inside = any(a <= lo and hi <= b for a, b in regions)
            holds = any(a < hi and lo < b for a, b in regions)
            state: State = "kept" if (lo, hi) in exact or inside else "split" if holds else "dropped"
            nodes.append(NodeState(lo, hi, depth, state))
            if state == "split":
                below += child_spans(lo, hi, branching)
        level, depth = below, depth + 1
    return nodes
