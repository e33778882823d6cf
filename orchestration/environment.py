"""What every entry point sets before anything heavy is imported: telemetry off, no downloads, threads for the cores there are."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

QUIET = {
    "DAGSTER_DISABLE_TELEMETRY": "yes",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "BENTOML_DO_NOT_TRACK": "true",
    "DVC_NO_ANALYTICS": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "TOKENIZERS_PARALLELISM": "false",
}


def physical_cores() -> int:
    """Physical cores that this process may use (hyper-threads slow matrix products down)."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = set()
    for folder in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology"):
        try:
            cores.add(((folder / "physical_package_id").read_text(), (folder / "core_id").read_text()))
        except OSError:
            return usable
    return max(1, min(usable, len(cores) or usable))


def prepare_environment() -> None:
    """Set what is not set yet; the user's own settings win."""
    for key, value in QUIET.items():
        os.environ.setdefault(key, value)
    os.environ.setdefault("OMP_NUM_THREADS", str(physical_cores()))
    if not sys.warnoptions:  # -W or PYTHONWARNINGS shows them; they are libraries' words to us, not to users
        warnings.simplefilter("ignore")
        os.environ.setdefault("PYTHONWARNINGS", "ignore")
