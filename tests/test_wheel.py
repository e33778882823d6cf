"""The wheel is the library: installed where there is no checkout, it compresses a text file."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]
NILE = "The Nile flows north. It is 6,650 km long. Its delta is fertile.\n"
FIVE_LINES = """\
from canopy import Compressor

compressor = Compressor.load()
evidence = compressor.compress("How long is the Nile?", [open("nile.txt").read()])
print(evidence.text)
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without the checkout on its path; its output."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    process = subprocess.run([str(c) for c in command], cwd=cwd, env=environment, capture_output=True, text=True,
                             timeout=600, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the files that git tracks."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in (n for n in listing.split("\0") if (ROOT / n).is_file() and not n.startswith(("tests/", "docs/"))):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, source, cwd=source)
    built = list(target.glob("*.whl"))
    assert [w.name.split("-")[0] for w in built] == ["canopy_rag"]
    return built[0]


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; the library's dependencies come from this one, the checkout does not."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    interpreter = folder / "bin" / "python"
    place = run(interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    packages = Path(place.strip())
    install = ("install", "-q", "--no-deps", "--no-index", wheel)
    run(sys.executable, "-m", "pip", "--python", interpreter, *install, cwd=folder)
    # Links, not a .pth to this environment: its own .pth files would bring the checkout along.
    for folder_of_packages in site.getsitepackages():
        for entry in Path(folder_of_packages).iterdir():
            ours = entry.name.startswith(("canopy", "__editable__", "_canopy")) or entry.suffix in (".pth", ".egg-link")
            if not ours and not (packages / entry.name).exists():
                (packages / entry.name).symlink_to(entry)
    return interpreter


def tracked(folder: str) -> set[str]:
    """The files of a folder that git tracks."""
    listing = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listing.stdout.splitlines() if (ROOT / name).is_file()}


def test_the_wheel_holds_the_library_and_its_data_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {n.split("/")[0] for n in names if ".dist-info/" not in n} == {"canopy"}
    files = {n.removeprefix("canopy/") for n in names}
    assert {"py.typed", "cli.py", "compression/compressor.py", "gold/templates/examples.html",
            "starter/CREDITS.md"} <= files
    for folder in ("report/templates", "gold/templates", "llm/prompts", "llm/plain/examples", "starter/source"):
        assert tracked(f"canopy/{folder}") <= set(names) and tracked(f"canopy/{folder}"), folder
    assert sorted(tracked("canopy") - set(names)) == []


def test_the_wheel_asks_for_no_package_of_the_pipeline(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith("METADATA"))
        needs = [line.split()[1].split(">")[0].split("=")[0] for line in archive.read(name).decode().splitlines()
                 if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert "numpy" in needs and not {"dagster", "dvc", "mlflow", "bentoml", "great-expectations"} & set(needs)


def test_installed_it_is_not_the_checkout(python: Path, tmp_path: Path) -> None:
    code = ("import canopy, importlib.util as u; print(canopy.__file__); "
            "print([n for n in ('assets', 'serving', 'orchestration', 'tests') if u.find_spec(n)])")
    place, rooms = run(python, "-c", code, cwd=tmp_path).splitlines()
    assert Path(place).is_relative_to(python.parents[1]) and rooms == "[]"


def test_installed_it_compresses_a_text_file(python: Path, tmp_path: Path) -> None:
    (tmp_path / "nile.txt").write_text(NILE)
    output = run(python.with_name("canopy"), "compress", "How long is the Nile?", "nile.txt", cwd=tmp_path)
    assert output.splitlines()[:2] == ["nile.txt  text  8 of 18 tokens (44%)", "It is 6,650 km long."]
    assert run(python, "-c", FIVE_LINES, cwd=tmp_path) == "It is 6,650 km long.\n"
    assert run(python.with_name("canopy"), "--version", cwd=tmp_path).startswith("canopy 0.")
    assert "compress files for a question" in run(python.with_name("canopy"), "--help", cwd=tmp_path)
