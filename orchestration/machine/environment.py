"""What every entry point sets before heavy imports: telemetry off, no downloads, threads for the cores there are."""

from __future__ import annotations

import getpass
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
    """Physical cores that this process may use; hyper-threads slow matrix products down."""
    import psutil

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable, psutil.cpu_count(logical=False) or usable))


def cpu_quota(groups: Path = Path("/sys/fs/cgroup")) -> float:
    """CPUs that the process's control group may use (a container's limit); infinite if there is no limit.

    Version 2 of control groups is looked at first, then version 1.
    """
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((groups / f).read_text("utf-8") for f in files).split()
            if quota not in ("max", "-1"):
                return int(quota) / int(period)
        except (OSError, ValueError, ZeroDivisionError):
            continue
    return float("inf")


def thread_count() -> int:
    """Threads to compute with: more than the quota allows only wait for each other."""
    return max(1, int(min(physical_cores(), cpu_quota())))


def prepare_environment() -> None:
    """Set what is not set yet; the user's own settings win."""
    for key, value in QUIET.items():
        os.environ.setdefault(key, value)
    os.environ.setdefault("OMP_NUM_THREADS", str(thread_count()))
    try:
        getpass.getuser()
    except (KeyError, OSError):
        # No entry in passwd (`docker run --user 1234`), but DVC and others ask for a name.
        os.environ["USER"] = f"uid{os.getuid()}"
    if not sys.warnoptions:  # warnings of libraries address developers; -W or PYTHONWARNINGS shows them
        warnings.simplefilter("ignore")
        os.environ.setdefault("PYTHONWARNINGS", "ignore")
