"""The names of what the evaluation compares, all on the same gold items.

``f0-one-pass``   CANOPY's rule on the frozen encoder's scores, nodes pooled from one encoding of the whole item
``f0-separate``   CANOPY's rule on the frozen encoder's scores, every node encoded on its own words (the paper's way)
``f_theta``       CANOPY's rule on the tuned encoder's scores
``flat-leaf-m2``  of each item the two leaves that f_theta scores highest; no hierarchy
``any-level-m2``  of each item the two nodes that f_theta scores highest, of any level
``whole-item``    everything: the ceiling of recall and of cost
``gold-span``     the annotated fragments and nothing else: an oracle, no system
"""

from __future__ import annotations

import re

TUNED = "f_theta"
WHOLE = "whole-item"
GOLD = "gold-span"
FROZEN = "f0-"
FLAT_LEAF = "flat-leaf-m"
ANY_LEVEL = "any-level-m"
ONE_PASS = "f0-one-pass"
_EARLIER = ((r"f0 (\w+)", FROZEN), (r"flat leaf m=(\d+)", FLAT_LEAF), (r"any-level m=(\d+)", ANY_LEVEL))


def frozen(mode: str) -> str:
    """Name of the system that runs the rule on f0 in one encoding mode."""
    return f"{FROZEN}{mode.replace('_', '-')}"


def flat_leaf(m: int) -> str:
    """Name of the flat selector of m leaves an item."""
    return f"{FLAT_LEAF}{m}"


def any_level(m: int) -> str:
    """Name of the selector of m nodes of any level an item."""
    return f"{ANY_LEVEL}{m}"


def current_name(name: str) -> str:
    """A system's name as it is now.

    Evaluations of earlier versions say ``f0 one_pass``, ``flat leaf m=2`` or ``whole item``.
    """
    for pattern, prefix in _EARLIER:
        if match := re.fullmatch(pattern, name):
            return prefix + match[1].replace("_", "-")
    return {"whole item": WHOLE, "gold span": GOLD}.get(name, name)
