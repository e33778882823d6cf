"""What a stage asks of a validator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

from canopy.validation.outcomes import CheckOutcome


class Validator(Protocol):
    """Checks tables against the rules of ``canopy.validation``."""

    def check(self, suite: str, tables: Mapping[str, pa.Table], source: str = "") -> list[CheckOutcome]:
        """Outcomes of every rule of a suite that the tables suffice for.

        Parameters
        ----------
        source : str
            The output that the tables were read from; empty for what the stage is about to write.

        Raises
        ------
        ValidationFailed
            If a blocking rule fails.
        """
        ...
