"""Asset checks: the rules that a stage's tables must meet, with the rows that break them, and those of its inputs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import dagster as dg

from assets.metadata import table
from canopy.stages.registry import PER_BENCHMARK, STAGES
from canopy.validation.outcomes import CheckOutcome, ValidationFailed, is_blocked
from canopy.validation.suites import SUITES

Metadata: TypeAlias = dict[str, dg.MetadataValue | int | str]
INPUTS = "inputs_meet_their_rules"


def check_name(rule: str) -> str:
    """A rule's name as Dagster takes it: ``item ids are unique`` becomes ``item_ids_are_unique``."""
    return re.sub(r"\W+", "_", rule).strip("_")


def _reads(stage: str) -> Mapping[str, tuple[str, ...]]:
    return STAGES[stage].reads if stage in STAGES else {}


def check_specs(stage: str, partitions: dg.PartitionsDefinition | None = None) -> list[dg.AssetCheckSpec]:
    """One check a rule, and one that what the stage reads still meets its rules, in each of the stage's partitions.

    A blocking rule also stops the stage itself: Dagster's checks block within one run only.
    """
    rules = {check_name(r.name): (r.says, r.blocking) for r in SUITES.get(stage, ())}
    if suites := [s for s in _reads(stage) if s != stage]:
        rules[INPUTS] = (f"What the stage reads meets the rules of {', '.join(suites)} when it starts. "
                         "A stage that is run alone stops here.", True)
    with warnings.catch_warnings():
        # Without partitions one benchmark's green outcome hides another's red one.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [dg.AssetCheckSpec(name, asset=stage, description=says, blocking=blocking, partitions_def=partitions)
                for name, (says, blocking) in rules.items()]


def check_results(stage: str, outcomes: Sequence[CheckOutcome], docs: Path | None = None, *,
                  read: bool = True) -> list[dg.AssetCheckResult]:
    """The outcome of each rule, as the stage recorded it; a rule that was not checked does not pass.

    Parameters
    ----------
    docs : Path, optional
        The page with all failing rows.
    read : bool
        Whether what the stage reads passed its checks.
    """
    by_rule, results = {o["rule"]: o for o in outcomes}, []
    for rule in SUITES.get(stage, ()):
        outcome = by_rule.get(rule.name)
        results.append(dg.AssetCheckResult(
            asset_key=stage, check_name=check_name(rule.name), passed=bool(outcome and outcome["passed"]),
            severity=dg.AssetCheckSeverity.ERROR if rule.blocking else dg.AssetCheckSeverity.WARN,
            description=None if outcome else "the stage recorded no outcome for this rule",
            metadata=_rows(outcome, docs) if outcome else {}))
    if read and any(s != stage for s in _reads(stage)):
        results.append(dg.AssetCheckResult(asset_key=stage, check_name=INPUTS, passed=True, metadata={
            "suites": ", ".join(f"{s} ({', '.join(t)})" for s, t in _reads(stage).items())}))
    return results


def failed_results(stage: str, error: ValidationFailed, docs: Path) -> list[dg.AssetCheckResult]:
    """Results of a stage that validation stopped: every outcome of its own suite, or that its inputs break theirs."""
    if error.suite == stage:
        return check_results(stage, error.outcomes, docs, read=not error.source)
    broken = [o for o in error.outcomes if is_blocked(o)]
    if not broken or not any(s != stage for s in _reads(stage)):
        return []
    rows = {f"failing rows: {o['rule']}": table(o["examples"]) for o in broken}
    return [dg.AssetCheckResult(asset_key=stage, check_name=INPUTS, passed=False, description=str(error),
                                metadata={"suite": error.suite, **rows, **_page(docs)})]


def source_evaluations(error: ValidationFailed) -> list[dg.AssetCheckEvaluation]:
    """The broken rules of an output that a later stage found broken, as events of the asset that the output is of."""
    if not error.source or error.suite not in STAGES:
        return []
    partition = Path(error.source).name if error.suite in PER_BENCHMARK else None
    description = f"{error.source} was changed since it was written"
    return [dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(error.suite), check_name=check_name(o["rule"]), passed=False, partition=partition,
        severity=dg.AssetCheckSeverity.ERROR, description=description, metadata=_rows(o, None))
        for o in error.outcomes if is_blocked(o)]


def check_evaluations(stage: str, outcomes: Sequence[CheckOutcome],
                      partition: str | None = None) -> list[dg.AssetCheckEvaluation]:
    """The same outcomes as events of their own, for a stage that ran outside Dagster."""
    return [dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(stage), check_name=str(r.check_name), passed=r.passed, severity=r.severity,
        description=r.description, metadata=r.metadata, blocking=None, partition=partition)
        for r in check_results(stage, outcomes)]


def _rows(outcome: CheckOutcome, docs: Path | None) -> Metadata:
    rows: Metadata = {"failing rows": outcome["failing"]}
    if outcome["examples"]:
        rows["first failing rows"] = table(outcome["examples"])
    return rows | (_page(docs) if docs else {})


def _page(docs: Path) -> Metadata:
    if not docs.is_file():
        return {}
    return {"data docs": dg.MetadataValue.path(str(docs)), "data docs page": dg.MetadataValue.url(docs.as_uri())}
