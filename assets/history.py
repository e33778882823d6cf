"""The history of runs in Dagster's storage, as `orchestration.pipeline.history.History` asks for it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import dagster as dg

from assets.reconcile import observe_raw, reconcile
from assets.resources import FORCE_TAG, PROCESS_TAG, open_instance
from assets.staleness import stale_states
from assets.workspace_assets import build_assets
from canopy.atomic import write_bytes
from canopy.errors import CanopyError, Shortage
from orchestration.machine.processes import identity, is_alive
from orchestration.pipeline.hints import address
from orchestration.pipeline.history import Standing
from orchestration.pipeline.lineage import Graph, Snapshot

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_AT_WORK = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


class DagsterHistory:
    """Dagster's instance of a workspace together with the workspace's assets.

    The assets are built at the first question about them, and then stay: what changes later belongs to the next run.
    """

    def __init__(self, workspace: Path, instance: dg.DagsterInstance) -> None:
        self._workspace = workspace
        self._instance = instance

    @cached_property
    def _definitions(self) -> dg.Definitions:
        return build_assets(self._workspace)

    def close_dead_runs(self, *, untagged: bool = False) -> int:
        """Mark runs whose process was killed as failed. Otherwise Dagster shows them as running, and waits for them."""
        closed = 0
        for run in self._instance.get_runs(dg.RunsFilter(statuses=_AT_WORK)):
            process = run.tags.get(PROCESS_TAG)
            # A run without the tag was started by the UI, and ended before its first step.
            if not is_alive(process) if process else untagged:
                message = address(f"process {process or 'of this run'} was killed; `canopy run` runs this again",
                                  self._workspace, anywhere=True)
                self._instance.report_run_failed(run, message)
                closed += 1
        return closed

    def take_over(self, graph: Graph, now: Mapping[str, Snapshot], then: Mapping[str, Snapshot],
                  reasons: Mapping[str, Sequence[str]]) -> list[str]:
        """Observe raw data, then report what dvc.lock holds and Dagster does not know; returns the reported stages."""
        observe_raw(self._instance, graph, now)
        return reconcile(self._instance, self._definitions, graph, now, then, reasons, self._workspace)

    def standings(self) -> dict[tuple[str, str | None], Standing]:
        """How every (asset, partition) stands, by Dagster's own staleness."""
        assets = self._definitions.resolve_asset_graph()
        standings = {}
        for (asset, partition), (state, why) in stale_states(self._definitions, self._instance).items():
            parents = tuple(k.to_user_string() for k in assets.get(dg.AssetKey(asset)).parent_keys)
            standings[asset, partition] = Standing(state, why, parents)
        return standings

    def materialize(self, asset: str, partition: str | None, *, forced: bool) -> Mapping[str, object]:
        """Run one (asset, partition) as a Dagster run in this process; returns the metadata values that it reported."""
        tags = {PROCESS_TAG: identity(), **({FORCE_TAG: "true"} if forced else {})}
        job = self._definitions.resolve_implicit_global_asset_job_def()
        try:
            run = job.execute_in_process(run_config=_QUIET, instance=self._instance, partition_key=partition,
                                         asset_selection=[dg.AssetKey(asset)], tags=tags)
        except dg.Failure as e:
            kind = Shortage if isinstance(e.__cause__, Shortage) else CanopyError
            raise kind(e.description) from None
        except dg.DagsterExecutionInterruptedError:
            raise KeyboardInterrupt from None
        except CanopyError:
            raise
        except Exception as e:
            raise self._internal_error(f"{asset}@{partition}" if partition else asset, e) from None
        (event,) = run.asset_materializations_for_node(asset)
        return {k: v.value for k, v in event.metadata.items()}

    def _internal_error(self, stage: str, error: Exception) -> CanopyError:
        """Keep the traceback in a file; returns an error of one line that names it."""
        log = self._workspace / ".canopy" / "logs" / f"error-{stage}.log"
        write_bytes(log, "".join(traceback.format_exception(error)).encode("utf-8", "replace"))
        first = (str(error).strip().splitlines() or ["no message"])[0]
        return CanopyError(f"internal error in stage {stage}: {type(error).__name__}: {first[:300]}; "
                           f"full traceback in {log}")


@contextmanager
def open_history(workspace: Path) -> Iterator[DagsterHistory]:
    """Open Dagster's storage of a workspace (sqlite in ``.canopy/dagster``)."""
    with open_instance(workspace) as instance:
        yield DagsterHistory(workspace, instance)
