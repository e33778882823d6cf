"""The job that does from the Dagster UI what `canopy run` does from a shell: rerun what is stale, and say why."""

import io
from pathlib import Path

import dagster as dg

from assets.orchestrator import DagsterOrchestrator
from assets.resources import WorkspaceResource, tag_process
from canopy.formatting import round_number


class _Log(io.StringIO):
    """Passes printed lines on to a run's log."""

    def __init__(self, context: dg.OpExecutionContext) -> None:
        super().__init__()
        self._context = context

    def write(self, text: str) -> int:
        """Log each line that is not blank; returns the number of characters, as files do."""
        for line in text.splitlines():
            if line.strip():
                self._context.log.info(line.rstrip())
        return len(text)


@dg.op(description="Observe raw data, then run every stage and partition that is stale or missing, until none is left.")
def rerun_everything_stale(context: dg.OpExecutionContext, workspace: WorkspaceResource) -> None:
    """Rerun what is stale in the workspace; each stage is a Dagster run of its own, so that its asset shows it."""
    from rich.console import Console

    from canopy.errors import CanopyError
    from canopy.progress import listen
    from orchestration.pipeline.rerun import rerun

    tag_process(context)
    console = Console(file=_Log(context), width=200, color_system=None)
    try:
        with listen(context.log.info):
            summary = rerun(Path(workspace.path), DagsterOrchestrator(), console=console)
    except CanopyError as e:
        raise dg.Failure(description=str(e), allow_retries=False) from e
    lines = [f"- {name}: {'; '.join(why)}" for name, why in summary.ran.items()]
    context.add_output_metadata({"ran": dg.MetadataValue.md("\n".join(lines) or "nothing"),
                                 "seconds": round_number(summary.seconds)})


def build_jobs() -> list[dg.JobDefinition]:
    """All jobs."""

    @dg.job(description="Rerun only what a change made stale (as `canopy run` does).",
            executor_def=dg.in_process_executor)
    def rerun_stale() -> None:
        rerun_everything_stale()

    return [rerun_stale]
