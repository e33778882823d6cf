"""Formulas in MathML and Word's OMML on one line: fractions by a slash, powers by ``^``, indices by ``_``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_MANY = 2_000  # elements; a deeper or larger formula is read as its bare words
_DEPTH = 60


def linear_formula(root: Any, name_of: Callable[[Any], str], children_of: Callable[[Any], Sequence[Any]],
                   words_of: Callable[[Any], str], sign_of: Callable[[Any], str] = lambda _: "") -> str:
    """A formula on one line.

    Parameters
    ----------
    root : object
        The element of the formula.
    name_of, children_of, words_of : callable
        An element's local name, the elements in it, and all of its words: the two kinds of trees differ in these.
    sign_of : callable, optional
        The sign of a large operator that stands in an attribute (Word's sums and integrals).
    """
    count = 0

    def write(node: Any, depth: int) -> str:
        nonlocal count
        count += 1
        name, children = name_of(node), children_of(node)
        if depth > _DEPTH or count > _MANY or not children:
            return words_of(node).strip()
        parts = [write(child, depth + 1) for child in children if not name_of(child).endswith("Pr")]
        if name in ("mfrac", "f") and len(parts) == 2:
            return f"{_grouped(parts[0])}/{_grouped(parts[1])}"
        if name in ("msup", "sSup") and len(parts) == 2:
            return f"{_grouped(parts[0])}^{_grouped(parts[1])}"
        if name in ("msub", "sSub") and len(parts) == 2:
            return f"{_grouped(parts[0])}_{_grouped(parts[1])}"
        if name in ("msubsup", "sSubSup") and len(parts) == 3:
            return f"{_grouped(parts[0])}_{_grouped(parts[1])}^{_grouped(parts[2])}"
        if name == "msqrt":
            return f"√({_joined(parts)})"
        if name == "mroot" and len(parts) == 2:  # MathML's root has its degree last, Word's first, if it has one
            return f"{parts[1]}√({parts[0]})"
        if name == "rad":
            return f"{_joined(parts[:-1])}√({_joined(parts[-1:])})"
        if name == "d":
            return f"({', '.join(parts)})"
        if name in ("mtr", "mr"):
            return ", ".join(parts)
        if name in ("mtable", "m"):
            return f"[{'; '.join(parts)}]"
        if name == "nary":
            return _joined([sign_of(node), *parts])
        return _joined(parts)

    return " ".join(write(root, 0).split())


def _grouped(part: str) -> str:
    return part if len(part) < 2 or part.isalnum() else f"({part})"


def _joined(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)
