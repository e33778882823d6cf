"""Pins the private resolver: the version it was tested with, and what it must tell apart."""

from __future__ import annotations

import dagster as dg

from assets.staleness import latest_version, stale_states


def test_the_resolver_was_tested_with_this_dagster() -> None:
    assert dg.__version__.startswith("1.13."), (
        "run tests/orchestration against this Dagster, then widen the pin here and in pyproject.toml"
    )


def test_states_are_told_apart_by_partition_and_one_hop_back() -> None:
    letters, versions = dg.StaticPartitionsDefinition(["a", "b"]), {"a": "1", "b": "1"}

    def build(code: str) -> tuple[list, dg.Definitions]:
        @dg.observable_source_asset(partitions_def=letters)
        def raw() -> dg.DataVersionsByPartition:
            return dg.DataVersionsByPartition(dict(versions))

        @dg.asset(deps=[raw], partitions_def=letters, code_version=code)
        def part(context) -> dg.MaterializeResult:
            return dg.MaterializeResult(data_version=dg.DataVersion(f"part {versions[context.partition_key]}"))

        @dg.asset(deps=[part], code_version="1")
        def whole() -> dg.MaterializeResult:
            return dg.MaterializeResult(data_version=dg.DataVersion("whole"))

        assets = [raw, part, whole]
        return assets, dg.Definitions(assets=assets)

    def states() -> dict[str, str]:
        return {f"{a}@{p}" if p else a: s for (a, p), (s, _) in stale_states(definitions, instance).items()}

    def observe() -> None:
        for partition, version in versions.items():
            instance.report_runless_asset_event(dg.AssetObservation("raw", partition=partition,
                                                                    tags={"dagster/data_version": version}))

    with dg.DagsterInstance.ephemeral() as instance:
        assets, definitions = build("1")
        observe()
        assert states() == {"part@a": "MISSING", "part@b": "MISSING", "whole": "MISSING"}
        for key in ("a", "b"):
            dg.materialize(assets, selection=["part"], partition_key=key, instance=instance)
        dg.materialize(assets, selection=["whole"], instance=instance)
        assert set(states().values()) == {"FRESH"}
        assert latest_version(instance, "part", "a").data == "part 1"
        assert latest_version(instance, "raw", "a", source=True).data == "1"
        versions["b"] = "2"
        observe()
        assert states() == {"part@a": "FRESH", "part@b": "STALE", "whole": "FRESH"}
        dg.materialize(assets, selection=["part"], partition_key="b", instance=instance)
        assert states() == {"part@a": "FRESH", "part@b": "FRESH", "whole": "STALE"}
        dg.materialize(assets, selection=["whole"], instance=instance)
        assets, definitions = build("2")
        assert states() == {"part@a": "STALE", "part@b": "STALE", "whole": "FRESH"}
