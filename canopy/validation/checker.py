"""Checks tables against a suite of rules; a broken blocking rule stops the stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from canopy.errors import ValidationFailed
from canopy.validation.rules import SUITES


class RuleValidator:
    """The validator that stages are given (see `canopy.stages.base.Validator`)."""

    def check(self, suite: str, tables: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
        """Outcomes of every rule of a suite.

        Returns
        -------
        list of dict
            ``rule``, ``says``, ``blocking``, ``passed``, ``failing`` (how many rows) and ``examples`` (up to five).

        Raises
        ------
        ValidationFailed
            Where a blocking rule fails; the message names the rule and the first failing rows.
        """
        outcomes = []
        for rule in SUITES[suite]:
            rows = rule.failing(tables)
            outcomes.append({"rule": rule.name, "says": rule.says, "blocking": rule.blocking, "passed": not rows,
                             "failing": len(rows), "examples": [str(r) for r in rows[:5]]})
        broken = [o for o in outcomes if o["blocking"] and not o["passed"]]
        if broken:
            first = broken[0]
            raise ValidationFailed(f"{suite}: rule {first['rule']!r} fails for {first['failing']} rows, e.g. {first['examples'][0]}")
        return outcomes
