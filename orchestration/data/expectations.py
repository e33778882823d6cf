"""Great Expectations suites, generated from canopy's rules and run by Great Expectations itself.

The library takes seconds to import, so that happens only if a stage has tables to be checked. It looks at the small
tables of ``canopy.validation.tables``, so a rule that spans several tables is a column like any other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from canopy.validation.checker import EXAMPLE_ROWS
from canopy.validation.outcomes import CheckOutcome, record_outcome
from canopy.validation.rules import Between, OneOf, Rule, Unique

if TYPE_CHECKING:
    import great_expectations as gx
    import pandas as pd
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.data_context import EphemeralDataContext

_ROW = "row"


def expectations_of(rule: Rule) -> list[gx.expectations.Expectation]:
    """The expectations that state a rule: its test, and that there is a value.

    Great Expectations' tests pass over missing values, which break every test of ours.
    """
    import great_expectations as gx

    kinds, test = gx.expectations, rule.test
    about: dict[str, Any] = {"column": test.column, "meta": {"rule": rule.name},
                             "severity": "critical" if rule.blocking else "warning"}
    sentence = f"{rule.name}: {rule.says}"
    if isinstance(test, Unique):
        expectation = kinds.ExpectColumnValuesToBeUnique(description=sentence, **about)
    elif isinstance(test, OneOf):
        expectation = kinds.ExpectColumnValuesToBeInSet(value_set=list(test.values), description=sentence, **about)
    elif isinstance(test, Between):
        expectation = kinds.ExpectColumnValuesToBeBetween(min_value=test.low, max_value=test.high,
                                                          description=sentence, **about)
    present = kinds.ExpectColumnValuesToNotBeNull(description=f"{rule.name}: there is a value.", **about)
    return [expectation, present]


def frame_of(table: pa.Table) -> pd.DataFrame:
    """A checked table as Great Expectations reads it: each row with its number, lists as text."""
    for n, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            texts = [None if v is None else str(v) for v in table.column(n).to_pylist()]
            table = table.set_column(n, field.name, pa.array(texts, pa.string()))
    frame = table.to_pandas()
    frame.insert(0, _ROW, range(len(frame)))
    return frame


def _context() -> EphemeralDataContext:
    """A context in memory: no project folder, no telemetry, no progress bars."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    return gx.get_context(mode="ephemeral", project_config=DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        progress_bars=ProgressBarsConfig(globally=False)))


def run_suites(suite: str, rules: Sequence[Rule], tables: Mapping[str, pa.Table], site: Path | None = None,
               most_examples: int = EXAMPLE_ROWS) -> list[CheckOutcome]:
    """Run one generated suite for each checked table, and build the data docs of all.

    Parameters
    ----------
    site : Path, optional
        An empty folder that takes the data docs as Great Expectations writes them.

    Returns
    -------
    list of CheckOutcome
        An outcome for each rule, as ``canopy.validation.checker.check_rules`` gives them, with the rows that Great
        Expectations found.

    Raises
    ------
    RuntimeError
        If Great Expectations cannot check a rule.
    """
    context, outcomes = _context(), {}
    if site is not None:
        backend = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(site)}
        context.add_data_docs_site("canopy", {"class_name": "SiteBuilder", "show_how_to_buttons": False,
                                              "store_backend": backend})
    source = context.data_sources.add_pandas("canopy")
    for name, table in tables.items():
        own = [r for r in rules if r.table == name]
        batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all rows")
        results = _run(context, f"{suite}_{name}", own, batch, table, most_examples)
        for rule in own:
            matches = [r for r in results if r.expectation_config.meta.get("rule") == rule.name]
            outcomes[rule.name] = _outcome(rule, matches, table, most_examples)
    if site is not None:
        context.build_data_docs(site_names=["canopy"])
    return [outcomes[r.name] for r in rules]


def _run(context: EphemeralDataContext, name: str, rules: Sequence[Rule], batch: Any, table: pa.Table,
         most_examples: int) -> Sequence[ExpectationValidationResult]:
    """The results of one suite on one table; each names the rows that fail, with the columns that tell them apart."""
    import great_expectations as gx

    expectations = [e for r in rules for e in expectations_of(r)]
    suite = context.suites.add(gx.ExpectationSuite(name=name, expectations=expectations))
    definition = context.validation_definitions.add(gx.ValidationDefinition(name=name, data=batch, suite=suite))
    tested = {r.test.column for r in rules}
    keys = [_ROW, *dict.fromkeys(c for r in rules for c in r.labels if c not in tested)]
    return definition.run(batch_parameters={"dataframe": frame_of(table)}, result_format={
        "result_format": "SUMMARY", "partial_unexpected_count": most_examples,
        "unexpected_index_column_names": keys}).results


def _outcome(rule: Rule, results: Sequence[ExpectationValidationResult], table: pa.Table,
             most_examples: int) -> CheckOutcome:
    for r in results:
        if _has_raised(r.exception_info):
            raise RuntimeError(f"Great Expectations could not check rule {rule.name!r}: {r.exception_info}")
    failing = sum(int(r.result.get("unexpected_count") or 0) for r in results)
    indices = [i for r in results for i in r.result.get("partial_unexpected_index_list") or ()]
    numbers = sorted({int(i[_ROW]) for i in indices})[:most_examples]
    columns = list(dict.fromkeys((*rule.labels, rule.test.column)))
    rows = table.select(columns).take(pa.array(numbers, pa.int64())).to_pylist()
    outcome = record_outcome(rule, failing, [{_ROW: n, **r} for n, r in zip(numbers, rows, strict=True)])
    outcome["passed"] = all(r.success for r in results)
    return outcome


def _has_raised(info: Mapping[str, Any] | None) -> bool:
    """Whether an expectation, or one of the metrics under it, raised instead of giving a result."""
    if not info:
        return False
    return bool(info.get("raised_exception")) or any(
        isinstance(metric, Mapping) and metric.get("raised_exception") for metric in info.values())
