"""What a rule is: a test that every row of a table must pass, as plain data that other tools can be given too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Unique:
    """No value of the column occurs twice; null breaks it, as it breaks every test."""

    column: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """Every value of the column is one of these."""

    column: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """Every value of the column lies between these bounds, which it may equal; None is no bound."""

    column: str
    low: float | None = None
    high: float | None = None


Test = Unique | OneOf | Between


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what every row of a table of ``canopy.validation.tables`` must meet.

    Parameters
    ----------
    name, says : str
        Its name, and a sentence for people.
    blocking : bool
        Whether nothing may be built from data that breaks it; otherwise people get a note.
    table : str
        The table whose rows it checks.
    labels : tuple of str
        Columns that tell people which row it is.
    """

    name: str
    says: str
    blocking: bool
    table: str
    test: Test
    labels: tuple[str, ...]
