"""Asset checks: each rule of canopy.validation that a stage's tables must meet, with the rows that break it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from canopy.validation.rules import SUITES


def check_name(rule: str) -> str:
    """A rule's name as Dagster takes it: ``item ids are unique`` becomes ``item_ids_are_unique``."""
    return re.sub(r"\W+", "_", rule).strip("_")


def check_specs(stage: str) -> list[dg.AssetCheckSpec]:
    """One check a rule. A blocking rule also stops the stage itself: Dagster's checks block within one run only."""
    return [dg.AssetCheckSpec(check_name(r.name), asset=stage, description=r.says, blocking=r.blocking) for r in SUITES.get(stage, ())]


def check_results(stage: str, outcomes: Sequence[Mapping[str, Any]]) -> list[dg.AssetCheckResult]:
    """The outcome of each rule, as the stage recorded it; a rule that was not checked does not pass."""
    held, results = {o["rule"]: o for o in outcomes}, []
    for rule in SUITES.get(stage, ()):
        outcome = held.get(rule.name)
        results.append(dg.AssetCheckResult(
            asset_key=stage, check_name=check_name(rule.name), passed=bool(outcome and outcome["passed"]),
            severity=dg.AssetCheckSeverity.ERROR if rule.blocking else dg.AssetCheckSeverity.WARN,
            description=None if outcome else "the stage recorded no outcome for this rule",
            metadata={"failing rows": outcome["failing"], "examples": dg.MetadataValue.md("\n".join(f"- `{e}`" for e in outcome["examples"]) or "none")}
            if outcome else {}))
    return results


def check_evaluations(stage: str, outcomes: Sequence[Mapping[str, Any]]) -> list[dg.AssetCheckEvaluation]:
    """The same outcomes as events of their own, for a stage that ran outside Dagster."""
    return [dg.AssetCheckEvaluation(asset_key=dg.AssetKey(stage), check_name=str(r.check_name), passed=r.passed, severity=r.severity,
                                    description=r.description, metadata=r.metadata, blocking=None)
            for r in check_results(stage, outcomes)]
