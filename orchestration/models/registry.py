"""The model registry: its versions by alias or fingerprint, and what a version was registered with."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from filelock import FileLock

from canopy.bundle.parts import ModelParts
from canopy.errors import CanopyError, DataError
from canopy.evaluation.systems import current_name

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

MODEL = "canopy-node-encoder"
CHALLENGER, CHAMPION, PREVIOUS = "challenger", "champion", "previous_champion"
_AGAIN = "`canopy run --force registered_model` registers the workspace's model again"


def registry_lock(workspace: Path) -> FileLock:
    """The lock that is held while versions are made or aliases move."""
    (workspace / ".canopy").mkdir(parents=True, exist_ok=True)
    return FileLock(workspace / ".canopy" / "registry.lock")


def find_version(client: MlflowClient, fingerprint: str) -> ModelVersion | None:
    """The version with this fingerprint, or None. A version without readable parts does not count: a new one is due."""
    for version in client.search_model_versions(f"name = '{MODEL}'"):
        if version.tags.get("fingerprint") == fingerprint and _parts(version) is not None:
            return version
    return None


def version_by_alias(client: MlflowClient, alias: str) -> ModelVersion | None:
    """The version that an alias names, or None.

    Raises
    ------
    CanopyError
        If the registry cannot be read. That is not the same as "no version", which would let the next challenger in
        against f0 alone.
    """
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version_by_alias(MODEL, alias)
    except MlflowException as e:
        unknown_alias = e.error_code == "INVALID_PARAMETER_VALUE" and "not found" in e.message
        if e.error_code == "RESOURCE_DOES_NOT_EXIST" or unknown_alias:
            return None
        message = " ".join(e.message.split())
        raise CanopyError(f"the model registry cannot say which version is {alias}: {message}") from e


def version_parts(version: ModelVersion) -> ModelParts:
    """The digests that a version was registered with.

    Raises
    ------
    DataError
        If the version does not state them, or states others than this program knows.
    """
    parts = _parts(version)
    if parts is None:
        raise DataError(f"version {version.version} of {MODEL} was registered by another version of canopy and does "
                        f"not state its parts; {_AGAIN}")
    return parts


def _parts(version: ModelVersion) -> ModelParts | None:
    try:
        return ModelParts(**json.loads(version.tags["parts"]))
    except (KeyError, TypeError, ValueError):
        return None


def per_question(client: MlflowClient, version: ModelVersion, benchmark: str) -> pd.DataFrame:
    """A version's per-question values on a benchmark: ``systems.parquet`` as it was registered.

    Systems have their names of today, also in evaluations that an earlier version of canopy wrote.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = client.download_artifacts(version.run_id, f"evaluation/{benchmark}/systems.parquet", folder)
        table = pq.read_table(path).to_pandas()
    table["system"] = table["system"].map({n: current_name(n) for n in table["system"].unique()})
    return table


def evaluated_benchmarks(version: ModelVersion) -> dict[str, str]:
    """Benchmark -> digest of the data that the version was evaluated on."""
    head, tail = "evaluation.", ".data_sha256"
    return {k[len(head):-len(tail)]: v for k, v in version.tags.items() if k.startswith(head) and k.endswith(tail)}
