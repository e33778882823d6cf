"""Great Expectations suites, generated from canopy's rules and run by Great Expectations itself; what they say stands beside the rules' own word.

The library takes seconds to import, so that happens where a stage has tables to be checked and nowhere else. It looks at the small tables of
``canopy.validation.tables``, so a rule that spans several tables is a column like any other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from canopy.validation.checker import EXAMPLE_ROWS
from canopy.validation.outcomes import CheckOutcome, record_outcome
from canopy.validation.rules import Between, OneOf, Rule, Unique

if TYPE_CHECKING:
    import great_expectations as gx
    import pandas as pd
    from great_expectations.data_context import EphemeralDataContext

_ROW = "row"


def expectations_of(rule: Rule) -> list[gx.expectations.Expectation]:
    """The expectations that say what a rule says: its test, and that there is a value, which Great Expectations' tests pass over."""
    import great_expectations as gx

    made = gx.expectations
    about: dict[str, Any] = {"meta": {"rule": rule.name}, "severity": "critical" if rule.blocking else "warning"}
    test, told = rule.test, f"{rule.name}: {rule.says}"
    if isinstance(test, Unique):
        tested = made.ExpectColumnValuesToBeUnique(column=test.column, description=told, **about)
    elif isinstance(test, OneOf):
        tested = made.ExpectColumnValuesToBeInSet(column=test.column, value_set=list(test.values), description=told, **about)
    elif isinstance(test, Between):
        tested = made.ExpectColumnValuesToBeBetween(column=test.column, min_value=test.low, max_value=test.high, description=told, **about)
    return [tested, made.ExpectColumnValuesToNotBeNull(column=test.column, description=f"{rule.name}: there is a value.", **about)]


def frame_of(table: pa.Table) -> pd.DataFrame:
    """A judged table as Great Expectations reads it, each row with its number; lists become text."""
    lists = [n for n, f in enumerate(table.schema) if pa.types.is_list(f.type)]
    for n in lists:
        table = table.set_column(n, table.schema.names[n], pa.array([None if v is None else str(v) for v in table.column(n).to_pylist()], pa.string()))
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
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False), progress_bars=ProgressBarsConfig(globally=False)))


def run_suites(suite: str, rules: tuple[Rule, ...], judged: Mapping[str, pa.Table], site: Path | None = None,
               most_examples: int = EXAMPLE_ROWS) -> list[CheckOutcome]:
    """Run one generated suite for each judged table, and build the data docs of all.

    Parameters
    ----------
    site : Path, optional
        An empty folder that takes the data docs as Great Expectations writes them.

    Returns
    -------
    list of dict
        An outcome for each rule, as ``canopy.validation.checker.check_rules`` gives them, with the rows that Great Expectations found.
    """
    import great_expectations as gx

    context = _context()
    source, found = context.data_sources.add_pandas("canopy"), {}
    if site is not None:
        context.add_data_docs_site("canopy", {"class_name": "SiteBuilder", "show_how_to_buttons": False,
                                              "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(site)}})
    for name, table in judged.items():
        of = [r for r in rules if r.table == name]
        batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all rows")
        made = context.suites.add(gx.ExpectationSuite(name=f"{suite}_{name}", expectations=[e for r in of for e in expectations_of(r)]))
        definition = context.validation_definitions.add(gx.ValidationDefinition(name=made.name, data=batch, suite=made))
        tested = {r.test.column for r in of}
        keys = [_ROW, *dict.fromkeys(c for r in of for c in r.shown if c not in tested)]
        told = definition.run(batch_parameters={"dataframe": frame_of(table)}, result_format={
            "result_format": "SUMMARY", "partial_unexpected_count": most_examples, "unexpected_index_column_names": keys})
        for r in of:
            found[r.name] = _outcome(r, [x for x in told.results if x.expectation_config.meta.get("rule") == r.name], table, most_examples)
    if site is not None:
        context.build_data_docs(site_names=["canopy"])
    return [found[r.name] for r in rules]


def _outcome(rule: Rule, results: list[Any], table: pa.Table, most_examples: int) -> CheckOutcome:
    for r in results:
        if r.exception_info and (r.exception_info.get("raised_exception") or any(
                isinstance(e, Mapping) and e.get("raised_exception") for e in r.exception_info.values())):
            raise RuntimeError(f"Great Expectations could not judge rule {rule.name!r}: {r.exception_info}")
    failing = sum(int(r.result.get("unexpected_count") or 0) for r in results)
    numbers = sorted({int(i[_ROW]) for r in results for i in r.result.get("partial_unexpected_index_list") or ()})[:most_examples]
    rows = table.select(list(dict.fromkeys((*rule.shown, rule.test.column)))).take(pa.array(numbers, pa.int64())).to_pylist()
    said = record_outcome(rule, failing, [{_ROW: n, **r} for n, r in zip(numbers, rows, strict=True)])
    return {**said, "passed": all(r.success for r in results)}
