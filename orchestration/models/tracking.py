"""A run in MLflow for every stage: parameters, metrics, lineage and how it ended, on a database in the workspace."""

from __future__ import annotations

import math
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

EXPERIMENT = "canopy"
_NOT_ALLOWED = re.compile(r"[^\w.\-/ ]")
_FLUSH_EVERY, _FLUSH_SECONDS = 200, 5.0
_LONGEST_PARAM, _LONGEST_TAG = 500, 4000


def database_uri(workspace: Path) -> str:
    """The address of the workspace's MLflow database (tracking and registry)."""
    return f"sqlite:///{(workspace / '.canopy' / 'mlflow.db').resolve()}"


def artifact_root(workspace: Path) -> Path:
    """The folder that holds the artifacts of the workspace's runs."""
    return (workspace / ".canopy" / "mlartifacts").resolve()


def safe_name(name: str) -> str:
    """A name that MLflow takes: ``recall@5`` becomes ``recall_at_5``."""
    return _NOT_ALLOWED.sub("_", name.replace("@", "_at_")).strip("/ ")[:250] or "_"


def open_client(workspace: Path) -> MlflowClient:
    """A client of the workspace's MLflow; the database and the experiment are made if there are none.

    The client is bound to the workspace: MLflow's process-wide tracking address stays untouched, so that one process
    (Dagster's) can serve several workspaces.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    import logging

    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)
    from mlflow.tracking import MlflowClient

    folder = workspace / ".canopy"
    folder.mkdir(parents=True, exist_ok=True)
    uri = database_uri(workspace)
    with FileLock(folder / "mlflow.lock"):
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        if client.get_experiment_by_name(EXPERIMENT) is None:
            client.create_experiment(EXPERIMENT, artifact_location=artifact_root(workspace).as_uri())
    return client


def experiment_id(client: MlflowClient) -> str:
    """The id of the product's one experiment."""
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None, "open_client makes it"
    return experiment.experiment_id


def git_lineage(folder: Path) -> dict[str, str]:
    """Commit of the code, and whether files differ from it; empty if there is no git or no commit."""
    def ask(*args: str) -> str | None:
        try:
            result = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, timeout=20,
                                    check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return result.stdout.strip() if result.returncode == 0 else None

    sha = ask("rev-parse", "--verify", "HEAD")
    if not sha:
        return {}
    changed = ask("status", "--porcelain", "--untracked-files=no")
    return {"git.sha": sha, "git.dirty": "unknown" if changed is None else str(bool(changed)).lower()}


def flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested mappings to dotted names."""
    flat: dict[str, object] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


class MlflowTracker:
    """A ``canopy.stages.base.Tracker`` that writes one run.

    Metrics are sent in batches, at least every five seconds.
    """

    def __init__(self, client: MlflowClient, run_id: str) -> None:
        self.run_id = run_id
        self._client = client
        self._pending: list[tuple[str, float, int, int]] = []
        self._sent = time.monotonic()

    def log_params(self, params: Mapping[str, object]) -> None:
        """Log parameters; one too long for MLflow is cut there and kept whole as an artifact."""
        from mlflow.entities import Param

        rows = {safe_name(k): str(v) for k, v in flatten(params).items()}
        long = {k: v for k, v in rows.items() if len(v) > _LONGEST_PARAM}
        if long:
            self._client.log_dict(self.run_id, long, "long_params.json")
        cut = [Param(k, v if k not in long else f"{v[:_LONGEST_PARAM - 40]}... (whole in long_params.json)")
               for k, v in rows.items()]
        for i in range(0, len(cut), 100):
            self._client.log_batch(self.run_id, params=cut[i:i + 100])

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log metrics; a value that is not finite is left out, since the database cannot hold it."""
        now = int(time.time() * 1000)
        self._pending += [(safe_name(k), float(v), now, step or 0)
                          for k, v in metrics.items() if math.isfinite(float(v))]
        if len(self._pending) >= _FLUSH_EVERY or time.monotonic() - self._sent > _FLUSH_SECONDS:
            self.flush()

    def log_artifact(self, path: Path) -> None:
        """Copy a file or a folder into the run's artifacts."""
        if path.is_dir():
            self._client.log_artifacts(self.run_id, str(path), path.name)
        else:
            self._client.log_artifact(self.run_id, str(path))

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Set tags, cutting values that the database cannot hold."""
        _set_tags(self._client, self.run_id, tags)

    def flush(self) -> None:
        """Send what is pending."""
        from mlflow.entities import Metric

        pending, self._pending, self._sent = self._pending, [], time.monotonic()
        for i in range(0, len(pending), 500):
            self._client.log_batch(self.run_id, metrics=[Metric(*m) for m in pending[i:i + 500]])


def _set_tags(client: MlflowClient, run_id: str, tags: Mapping[str, str]) -> None:
    from mlflow.entities import RunTag

    rows: Sequence[RunTag] = [RunTag(safe_name(k), str(v)[:_LONGEST_TAG]) for k, v in tags.items()]
    for i in range(0, len(rows), 100):
        client.log_batch(run_id, tags=rows[i:i + 100])


@contextmanager
def stage_run(workspace: Path, stage: str, benchmark: str | None = None,
              lineage: Mapping[str, str] | None = None) -> Iterator[MlflowTracker]:
    """One MLflow run around one stage.

    Parameters
    ----------
    workspace : Path
        The database is ``<workspace>/.canopy/mlflow.db``.
    stage, benchmark : str
        Name the run (``evaluation@hotpotqa``) and are its tags ``canopy.stage`` and ``canopy.benchmark``.
    lineage : mapping
        Tags that state what the run was made from: DVC hashes, the Dagster run id. The commit of the code is added.

    Yields
    ------
    MlflowTracker
        The run ends FINISHED. If the body raises, it ends FAILED (KILLED after Ctrl-C) with the error as tags, and the
        error goes on.
    """
    client = open_client(workspace)
    name = f"{stage}@{benchmark}" if benchmark else stage
    tags = {"canopy.stage": stage, **({"canopy.benchmark": benchmark} if benchmark else {}),
            **git_lineage(Path(__file__).resolve().parent), **(lineage or {})}
    run = client.create_run(experiment_id(client), run_name=name)
    tracker = MlflowTracker(client, run.info.run_id)
    try:
        tracker.set_tags(tags)
        yield tracker
        tracker.flush()
    except BaseException as e:
        tags = {"error.type": type(e).__name__, "error.message": str(e) or "no message"}
        status = "KILLED" if isinstance(e, KeyboardInterrupt) else "FAILED"
        records = (tracker.flush, lambda: tracker.set_tags(tags),
                   lambda: client.set_terminated(run.info.run_id, status))
        for record in records:
            try:
                record()
            except Exception as failure:  # must not hide the error that ended the stage
                e.add_note(f"MLflow could not record it: {failure}")
        raise
    client.set_terminated(run.info.run_id, "FINISHED")
