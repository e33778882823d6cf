"""Checks tables against a suite of rules; a broken blocking rule stops the stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from canopy.validation.outcomes import CheckOutcome, ValidationFailed, is_blocked, record_outcome
from canopy.validation.rules import OneOf, Rule, Test, Unique
from canopy.validation.suites import SOURCES, SUITES
from canopy.validation.tables import TABLES

EXAMPLE_ROWS = 20
_ROWS_IN_MESSAGE = 3


def find_broken(test: Test, column: pa.Array) -> pa.Array:
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


def rules_for(suite: str, tables: Mapping[str, pa.Table], source: str = "") -> tuple[Rule, ...]:
    """The rules of a suite that the tables suffice for; of tables read from a ``source``, only the blocking ones."""
    return tuple(r for r in SUITES[suite] if set(SOURCES[r.table]) <= set(tables) and (r.blocking or not source))


def tabulate(rules: Sequence[Rule], tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables whose rows the rules check, each made once."""
    return {name: TABLES[name](tables) for name in dict.fromkeys(r.table for r in rules)}


def check_rules(rules: Sequence[Rule], checked: Mapping[str, pa.Table],
                most_examples: int = EXAMPLE_ROWS) -> list[CheckOutcome]:
    """The outcome of each rule; ``examples`` are rows of its table with their number there as ``row``."""
    outcomes = []
    for rule in rules:
        table = checked[rule.table]
        broken = find_broken(rule.test, table[rule.test.column].combine_chunks())
        rows = np.flatnonzero(broken.to_numpy(zero_copy_only=False))
        first = rows[:most_examples]
        columns = list(dict.fromkeys((*rule.labels, rule.test.column)))
        examples = table.select(columns).take(first).to_pylist()
        numbered = [{"row": n, **r} for n, r in zip(first.tolist(), examples, strict=True)]
        outcomes.append(record_outcome(rule, len(rows), numbered))
    return outcomes


def refuse_broken(suite: str, outcomes: Sequence[CheckOutcome], source: str = "", more: str = "") -> None:
    """Raise if a blocking rule is broken.

    Parameters
    ----------
    source : str
        Where the tables were read from, for what a stage did not write itself.
    more : str
        Where all failing rows are to be seen.

    Raises
    ------
    ValidationFailed
        If a blocking rule is broken: names the first one, its first rows and the other broken rules.
    """
    blocked = [o for o in outcomes if is_blocked(o)]
    if not blocked:
        return
    first, others = blocked[0], [repr(o["rule"]) for o in blocked[1:]]
    rows = [", ".join(f"{k} {v!r}" for k, v in r.items() if k != "row") for r in first["examples"][:_ROWS_IN_MESSAGE]]
    failing = f"{first['failing']} row{'s' * (first['failing'] != 1)}"
    message = f"{source or suite}: rule {first['rule']!r} fails for {failing}: "
    message += "; ".join(rows) + (" ..." if first["failing"] > _ROWS_IN_MESSAGE else "")
    if others:
        message += f"; so do {', '.join(others)}"
    if source:
        message += "; it was changed since its stage wrote it: `canopy run` makes it again"
    if more:
        message += f"; {more}"
    raise ValidationFailed(message, suite=suite, outcomes=outcomes, source=source)


class RuleValidator:
    """A validator that checks the rules and nothing else (see `canopy.validation.protocol.Validator`)."""

    def check(self, suite: str, tables: Mapping[str, pa.Table], source: str = "") -> list[CheckOutcome]:
        """Outcomes of every rule of a suite that the tables suffice for.

        Raises
        ------
        ValidationFailed
            If a blocking rule fails; the message names the rule and the first failing rows.
        """
        rules = rules_for(suite, tables, source)
        outcomes = check_rules(rules, tabulate(rules, tables))
        refuse_broken(suite, outcomes, source)
        return outcomes
