"""bench/gpu_check runs with torch, transformers and peft alone, and says so if there is no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# As on a machine that has nothing of this project's packages.
BARE = """
import runpy, sys
from importlib.machinery import PathFinder
hidden = {"av", "bentoml", "bs4", "cv2", "dagster", "dvc", "faiss", "great_expectations", "mlflow", "onnxruntime",
          "pandas", "PIL", "pyarrow", "pydantic", "scipy", "sentence_transformers", "sentencex", "sklearn",
          "torchvision", "typer"}
find = PathFinder.find_spec

def find_spec(cls, name, path=None, target=None):
    return None if name.split(".")[0] in hidden else find(name, path, target)

PathFinder.find_spec = classmethod(find_spec)
sys.argv = ["gpu_check.py", "--tiny"]
runpy.run_path("bench/gpu_check.py", run_name="__main__")
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHON": sys.executable, "CUDA_VISIBLE_DEVICES": "",
           "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300, env=env)


@pytest.mark.slow
def test_the_tiny_shape_passes_every_check_with_three_packages():
    result = run(sys.executable, "-W", "ignore", "-c", BARE)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert lines[-1] == "every check holds" and sum(line.startswith("ok ") for line in lines) == 6
    measured = [line.split(":")[0] for line in lines if "tokens/s" in line]
    assert measured == ["encode texts", "encode images", "LoRA training step, activations computed again"]
    assert "no GPU" in lines[0]


@pytest.mark.slow
def test_without_a_gpu_nothing_is_measured_and_that_is_said():
    result = run("bash", "bench/gpu_check.sh")
    assert result.returncode == 2 and "no GPU that torch can use" in result.stdout and "--tiny" in result.stdout
    assert "tokens/s" not in result.stdout
