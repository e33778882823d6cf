"""Checks tables against a suite of rules; a broken blocking rule stops the stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from canopy.errors import ValidationFailed
from canopy.validation.rules import MADE_FROM, SUITES, OneOf, Rule, Test, Unique
from canopy.validation.tables import JUDGED, Tables

SHOWN_ROWS = 20


def broken(test: Test, column: pa.Array) -> pa.Array:
    """Which values break a test, as booleans without null; a null value breaks every test."""
    if isinstance(test, Unique):
        counted = column.value_counts()
        often = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
        fine = pc.invert(pc.is_in(column, value_set=often))
    elif isinstance(test, OneOf):
        fine = pc.is_in(column, value_set=pa.array(test.values, type=column.type))
    else:
        fine = pc.is_valid(column)
        if test.low is not None:
            fine = pc.and_kleene(fine, pc.greater_equal(column, test.low))
        if test.high is not None:
            fine = pc.and_kleene(fine, pc.less_equal(column, test.high))
    return pc.or_(pc.is_null(column), pc.invert(pc.fill_null(fine, False)))


def rules_for(suite: str, tables: Tables, source: str = "") -> tuple[Rule, ...]:
    """The rules of a suite that the given tables suffice for; of what was read from a ``source``, those that stop a run."""
    return tuple(r for r in SUITES[suite] if set(MADE_FROM[r.judged]) <= set(tables) and (r.blocking or not source))


def judge(rules: tuple[Rule, ...], tables: Tables) -> dict[str, pa.Table]:
    """The tables whose rows the rules judge, each made once."""
    return {name: JUDGED[name](tables) for name in dict.fromkeys(r.judged for r in rules)}


def outcome(rule: Rule, failing: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What is recorded of a rule: ``rule``, ``says``, ``blocking``, ``passed``, ``failing`` (how many rows) and ``examples`` (the first)."""
    return {"rule": rule.name, "says": rule.says, "blocking": rule.blocking, "passed": not failing, "failing": failing, "examples": rows}


def check_rules(rules: tuple[Rule, ...], judged: Mapping[str, pa.Table], shown: int = SHOWN_ROWS) -> list[dict[str, Any]]:
    """The outcome of each rule; ``examples`` are rows of the judged table with their number there as ``row``."""
    outcomes = []
    for rule in rules:
        table = judged[rule.judged]
        rows = np.flatnonzero(broken(rule.test, table[rule.test.column].combine_chunks()).to_numpy(zero_copy_only=False))
        first = table.select(list(dict.fromkeys((*rule.shown, rule.test.column)))).take(rows[:shown])
        outcomes.append(outcome(rule, len(rows), [{"row": n, **r} for n, r in zip(rows[:shown].tolist(), first.to_pylist(), strict=True)]))
    return outcomes


def refuse_broken(suite: str, outcomes: list[dict[str, Any]], source: str = "", more: str = "") -> None:
    """Raise where a blocking rule is broken.

    Parameters
    ----------
    source : str
        Where the tables were read from, for what a stage did not write itself.
    more : str
        Where all failing rows are to be seen.

    Raises
    ------
    ValidationFailed
        Naming the first broken rule, its first rows and the other broken rules.
    """
    blocked = [o for o in outcomes if o["blocking"] and not o["passed"]]
    if not blocked:
        return
    first, others = blocked[0], [repr(o["rule"]) for o in blocked[1:]]
    rows = "; ".join(", ".join(f"{k} {v!r}" for k, v in r.items() if k != "row") for r in first["examples"][:3])
    raise ValidationFailed(f"{source or suite}: rule {first['rule']!r} fails for {first['failing']} row{'s' * (first['failing'] != 1)}: {rows}"
                           + (" ..." if first["failing"] > 3 else "") + (f"; so do {', '.join(others)}" if others else "")
                           + ("; it was changed since its stage wrote it: `canopy run` makes it again" if source else "") + (f"; {more}" if more else ""),
                           suite=suite, outcomes=outcomes, source=source)


class RuleValidator:
    """The validator that stages are given (see `canopy.validation.protocol.Validator`)."""

    def check(self, suite: str, tables: Mapping[str, pa.Table], source: str = "") -> list[dict[str, Any]]:
        """Outcomes of every rule of a suite that the tables suffice for (see ``outcome``).

        Raises
        ------
        ValidationFailed
            Where a blocking rule fails; the message names the rule and the first failing rows.
        """
        rules = rules_for(suite, tables, source)
        outcomes = check_rules(rules, judge(rules, tables))
        refuse_broken(suite, outcomes, source)
        return outcomes
