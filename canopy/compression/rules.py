"""Which refinement rules there are, and the margin that each is run with."""

from __future__ import annotations

import math

from canopy.config import REFINEMENT_RULES, Options
from canopy.errors import DataError


def check_rule(rule: str, margin: float | None) -> float:
    """The margin that a rule is run with: the one given, otherwise the pipeline's default; 0 under ``parent``.

    Raises
    ------
    DataError
        If there is no such rule, or the margin does not fit it.
    """
    if rule not in REFINEMENT_RULES:
        raise DataError(f"rule: there is no rule {rule!r}; there are {' and '.join(REFINEMENT_RULES)}")
    if rule == "parent":
        if margin:
            raise DataError("margin: it belongs to the rule `lookahead`; the rule `parent` has none")
        return 0.0
    if margin is None:
        return Options().lookahead_margin
    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0 <= margin < math.inf:
        raise DataError(f"margin: a number of at least 0 is expected, not {margin!r}")
    return float(margin)
