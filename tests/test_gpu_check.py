"""bench/gpu_check runs with torch, transformers and peft alone, and says so where there is no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# As on a machine that was given nothing of this project's packages.
BARE = """
import runpy, sys
from importlib.machinery import PathFinder
hidden = {"av", "bentoml", "bs4", "cv2", "dagster", "dvc", "faiss", "great_expectations", "mlflow", "onnxruntime", "pandas", "PIL", "pyarrow", "pydantic", "scipy",
          "sentence_transformers", "sentencex", "sklearn", "torchvision", "typer"}
find = PathFinder.find_spec
PathFinder.find_spec = classmethod(lambda cls, name, path=None, target=None: None if name.split(".")[0] in hidden else find(name, path, target))
sys.argv = ["gpu_check.py", "--tiny"]
runpy.run_path("bench/gpu_check.py", run_name="__main__")
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHON": sys.executable, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"})


@pytest.mark.slow
def test_the_tiny_shape_passes_every_check_with_three_packages():
    done = run(sys.executable, "-W", "ignore", "-c", BARE)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "every check holds" and sum(line.startswith("ok ") for line in lines) == 6
    assert [line.split(":")[0] for line in lines if "tokens/s" in line] == ["encode texts", "encode images", "LoRA training step, activations computed again"]
    assert "no GPU" in lines[0]


@pytest.mark.slow
def test_without_a_gpu_nothing_is_measured_and_that_is_said():
    done = run("bash", "bench/gpu_check.sh")
    assert done.returncode == 2 and "no GPU that torch can use" in done.stdout and "--tiny" in done.stdout and "tokens/s" not in done.stdout
