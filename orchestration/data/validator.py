"""The validator that stages of a checkout get: canopy's own rules and Great Expectations, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from canopy.validation.checker import check_rules, refuse_broken, rules_for, tabulate
from canopy.validation.outcomes import CheckOutcome, is_blocked
from orchestration.data.data_docs import docs_page, write_docs


class ExpectationsValidator:
    """Checks with canopy's rules, then with Great Expectations, and writes the data docs.

    Great Expectations checks what a stage writes. What a stage reads was checked by it when it was written: it is
    checked again by the rules alone, and by Great Expectations only if they find something, so that the page shows it.
    """

    def __init__(self, workspace: Path, stage: str, benchmark: str | None = None) -> None:
        self._stage, self._workspace, self._benchmark = stage, workspace, benchmark

    def check(self, suite: str, tables: Mapping[str, pa.Table], source: str = "") -> list[CheckOutcome]:
        """See `canopy.validation.protocol.Validator.check`; a rule holds if both say so.

        The message of a failure names the rule, the first failing rows and the page with the others.
        """
        rules = rules_for(suite, tables, source)
        checked = tabulate(rules, tables)
        outcomes, more = check_rules(rules, checked), ""
        if not source or any(map(is_blocked, outcomes)):
            others = write_docs(self._workspace, self._stage, self._benchmark, suite, rules, checked, source)
            outcomes = [ours if not ours["passed"] or theirs["passed"] else theirs
                        for ours, theirs in zip(outcomes, others, strict=True)]
            more = f"all rows: {docs_page(self._workspace, self._stage, self._benchmark)}"
        refuse_broken(suite, outcomes, source, more)
        return outcomes
