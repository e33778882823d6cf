"""What came out of each rule, as summaries keep it, and the error that a broken blocking rule raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from canopy.errors import CanopyError
from canopy.validation.rules import Rule


class CheckOutcome(TypedDict):
    """What is recorded of one rule.

    ``failing`` counts the rows that break it, ``examples`` are the first of them with their number in the table as
    ``row``. A stage's summary adds ``suite`` and ``source`` to outcomes of other suites than its own: those of its
    inputs.
    """

    rule: str
    says: str
    blocking: bool
    passed: bool
    failing: int
    examples: Sequence[Mapping[str, Any]]
    suite: NotRequired[str]
    source: NotRequired[str]


class ValidationFailed(CanopyError):
    """A blocking data rule does not hold, so nothing downstream may be built from this data.

    ``suite`` and ``outcomes`` are what was checked and what came out for every rule, so that whoever shows the
    failure can show the rows; ``source`` is the output they were read from, empty if the stage was about to write
    them.
    """

    def __init__(self, message: str, suite: str = "", outcomes: Sequence[CheckOutcome] = (), source: str = "") -> None:
        super().__init__(message)
        self.suite, self.outcomes, self.source = suite, tuple(outcomes), source


def record_outcome(rule: Rule, failing: int, examples: Sequence[Mapping[str, Any]]) -> CheckOutcome:
    """The outcome of a rule that so many rows break."""
    return {"rule": rule.name, "says": rule.says, "blocking": rule.blocking, "passed": not failing, "failing": failing,
            "examples": examples}


def is_blocked(outcome: CheckOutcome) -> bool:
    """Whether a blocking rule is broken."""
    return outcome["blocking"] and not outcome["passed"]
