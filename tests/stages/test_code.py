"""What counts as the code of a stage: everything that its module brings in, and nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from canopy.stages.code import CODE_ROOT, EXEMPT, closure_of, code_deps, imports_of
from canopy.stages.registry import STAGES

FILES = {
    "canopy/__init__.py": "def __getattr__(name):\n    from canopy.compress import Compressor\n    return Compressor\n",
    "canopy/compress.py": "class Compressor: ...\n",
    "canopy/errors.py": "class CanopyError(Exception): ...\n",
    "canopy/discovery.py": "def modules_of(package): ...\n",
    "canopy/stages/__init__.py": "",
    "canopy/stages/one.py": "import json\nfrom canopy.rooms import near\n"
                            "def run():\n    from canopy.rooms.lazy import x\n",
    "canopy/rooms/__init__.py": '"""A docstring alone."""\n',
    "canopy/rooms/near.py": "from typing import TYPE_CHECKING\nfrom canopy.errors import CanopyError\n"
                            "if TYPE_CHECKING:\n    from canopy.compress import Compressor\n",
    "canopy/rooms/lazy.py": "x = 1\n",
    "canopy/rooms/stranger.py": "y = 2\n",
    "canopy/pages/__init__.py": "VERSION = 1\n",
    "canopy/pages/build.py": "from pathlib import Path\nPAGE = Path(__file__).parent / 'templates'\n",
    "canopy/pages/elsewhere.py": "import rapidocr\nFOLDER = rapidocr.__file__\n",
    "canopy/pages/loader.py": "from jinja2 import PackageLoader\nLOADER = PackageLoader('canopy.pages')\n",
    "canopy/pages/templates/page.html": "<p>",
    "canopy/plugins/__init__.py": "",
    "canopy/plugins/a.py": "from canopy.rooms.stranger import y\n",
    "canopy/plugins/b.py": "z = 3\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A library of a few modules."""
    for name, text in FILES.items():
        write(tmp_path, name, text)
    return tmp_path


def write(root: Path, name: str, text: str) -> Path:
    """Write one of the library's files."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    imports_of.cache_clear()
    return path


def test_a_stage_is_its_module_and_what_that_imports(root: Path) -> None:
    """Lazy imports count; empty packages, exempt modules and imports for type checkers do not."""
    assert code_deps(root, "one") == ["canopy/rooms/lazy.py", "canopy/rooms/near.py", "canopy/stages/one.py"]


@pytest.mark.parametrize("source", [
    "from importlib import import_module\nM = import_module(f'canopy.plugins.{1}')\n",
    "import canopy.plugins\nfrom canopy.discovery import modules_of\nM = modules_of(canopy.plugins)\n",
    "from canopy import plugins\nfrom canopy.discovery import modules_of\nM = modules_of(plugins)\n",
    "import canopy.plugins as p\nfrom canopy.discovery import modules_of\nM = modules_of(p)\n",
])
def test_modules_that_are_loaded_by_name_count(root: Path, source: str) -> None:
    deps = closure_of(root, write(root, "canopy/rooms/near.py", source))
    assert deps - {"canopy/discovery.py"} == {
        "canopy/rooms/near.py", "canopy/plugins/a.py", "canopy/plugins/b.py", "canopy/rooms/stranger.py"}


@pytest.mark.parametrize("source", [
    "from canopy.pages.build import PAGE\n",
    "from canopy.pages.loader import LOADER\n",
    "from importlib.resources import files\nimport canopy.pages\nPAGE = files('canopy.pages') / 'templates'\n",
])
def test_data_files_of_a_folder_that_is_read_count(root: Path, source: str) -> None:
    deps = closure_of(root, write(root, "canopy/rooms/near.py", source))
    assert {"canopy/pages/templates/page.html", "canopy/pages/__init__.py"} <= deps


def test_another_packages_files_do_not_count(root: Path) -> None:
    deps = closure_of(root, write(root, "canopy/rooms/near.py", "import canopy.pages.elsewhere\n"))
    assert deps == {"canopy/rooms/near.py", "canopy/pages/__init__.py", "canopy/pages/elsewhere.py"}


def test_the_front_door_is_not_followed(root: Path) -> None:
    assert not closure_of(root, root / "canopy/stages/one.py") & {"canopy/compress.py", *EXEMPT}


def test_a_relative_import_is_refused(root: Path) -> None:
    path = write(root, "canopy/rooms/near.py", "from . import lazy\n")
    with pytest.raises(ValueError, match=r"near\.py:1: relative import"):
        imports_of(root, path)


def test_circles_end(root: Path) -> None:
    write(root, "canopy/rooms/lazy.py", "from canopy.rooms import stranger\n")
    path = write(root, "canopy/rooms/stranger.py", "from canopy.rooms import lazy\n")
    assert closure_of(root, path) == {"canopy/rooms/lazy.py", "canopy/rooms/stranger.py"}


def test_a_benchmarks_own_adapter_is_named_and_the_others_code_is_not_its(root: Path) -> None:
    write(root, "canopy/stages/benchmark.py", "import canopy.benchmarks.registry\n")
    by_name = "from importlib import import_module\nM = import_module(f'canopy.benchmarks.{1}')\n"
    write(root, "canopy/benchmarks/registry.py", by_name)
    write(root, "canopy/benchmarks/first.py", "from canopy.benchmarks.second import read\n")
    write(root, "canopy/benchmarks/second.py", "from canopy.rooms import lazy\n")
    write(root, "canopy/benchmarks/third.py", "read = 1\n")
    assert code_deps(root, "benchmark") == [
        "canopy/benchmarks/${item.adapter}.py", "canopy/benchmarks/registry.py", "canopy/benchmarks/second.py",
        "canopy/rooms/lazy.py", "canopy/stages/benchmark.py"]


def test_answers_know_nothing_of_the_report_and_no_stage_of_the_list_of_stages() -> None:
    """A word in a report's template leaves finished answers alone, and a new stage leaves the others alone."""
    assert [f for f in code_deps(CODE_ROOT, "answers") if f.startswith("canopy/report/")] == []
    assert [f for f in code_deps(CODE_ROOT, "report") if f.startswith("canopy/report/") and f.endswith(".html")] != []
    for stage in STAGES:
        others = {f"canopy/stages/{s}.py" for s in STAGES if s != stage}
        assert not set(code_deps(CODE_ROOT, stage)) & {"canopy/stages/registry.py", *others}


def test_every_data_file_of_the_library_is_among_some_stages_code() -> None:
    """Otherwise a template or a prompt could change and nothing would rerun. The starter's are raw data."""
    tracked = subprocess.run(["git", "ls-files", "canopy"], cwd=CODE_ROOT, capture_output=True, text=True, check=True)
    files = {f for f in tracked.stdout.split() if not f.endswith((".py", ".typed"))}
    files = {f for f in files if not f.startswith("canopy/starter/")}
    assert files - {f for stage in STAGES for f in code_deps(CODE_ROOT, stage)} == set()
