"""Imports between the rooms go down only and in no circle, and programs start without heavy libraries."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest

from tests.import_graph import FILES, MODULES, ROOMS, ROOT, circles, edges, imports_of, module_of

# Inside the library, from the ground up: a room may import rooms of its own floor and of the floors below.
FLOORS = (
    {"cores", "discovery", "errors", "atomic", "digests", "formatting", "links", "progress", "sqlite_cache", "settings",
     "config", "paths", "items", "pages"},
    {"hierarchy", "refinement", "selection", "scoring"},
    {"media", "encoder", "index", "embeddings", "gold", "corpus"},
    {"ingest", "bundle", "starter", "leaf_scorer"},
    {"benchmarks", "importing", "compression"},
    {"validation"},
    {"llm"},
    {"pipelines", "evaluation"},
    {"answers"},
    {"report"},
    {"stages"},
    {""},  # the front door, canopy/__init__.py
    {"cli", "integrations"},
)
# Loaded by name from a floor below, inside a function. Nothing else may be, and no entry may stay without its use.
UPWARD = {
    # params.yaml is read on the lowest floor, and the settings of an encoder are declared by its kind, in one file
    # with the code that loads it, so that adding an encoder is adding a file.
    ("canopy.settings", "canopy.encoder.kinds"),
}
FLOOR = {room: n for n, rooms in enumerate(FLOORS) for room in rooms}
# The rooms above the library, and which rooms each stands on.
STANDS_ON = {
    "canopy": set(),
    "serving": {"canopy"},
    "orchestration": {"canopy", "serving"},
    "assets": {"canopy", "serving", "orchestration"},
}
TOOLS = {"dagster", "mlflow", "dvc", "bentoml", "great_expectations"}
HEAVY = ("torch", "transformers", "mlflow", "bentoml", "great_expectations", "faiss", "matplotlib", "pandas")
LIGHT = ("assets.program", "orchestration.cli.main", "assets.definitions", "orchestration.pipeline.stage")
LIBRARY = [path for path in FILES if path.startswith("canopy/")]


def room_of(module: str) -> str:
    """The room of a module of the library: ``canopy.corpus.folds`` is in ``corpus``."""
    return module.split(".")[1] if "." in module else ""


def packages(path: str) -> set[str]:
    """First names of everything that a file imports, also in functions and for type checkers."""
    return {i.module.split(".")[0] for i in imports_of(path)}


def test_every_room_of_the_library_has_a_floor() -> None:
    assert {room_of(module_of(path)) for path in LIBRARY} <= set(FLOOR)


@pytest.mark.parametrize("path", LIBRARY)
def test_imports_of_the_library_go_down(path: str) -> None:
    own = FLOOR[room_of(module_of(path))]
    modules = {i.module for i in imports_of(path) if i.module.split(".")[0] == "canopy"}
    upward = {(module_of(path), m) for m in modules if FLOOR[room_of(m)] > own}
    assert upward == {pair for pair in UPWARD if pair[0] == module_of(path)}


@pytest.mark.parametrize("path", FILES)
def test_the_library_stands_alone_and_the_others_on_it(path: str) -> None:
    room = path.split("/")[0]
    assert packages(path) & set(ROOMS) - {room} - STANDS_ON[room] == set()


@pytest.mark.parametrize("typing_too", [False, True], ids=["at run time", "for type checkers too"])
def test_no_modules_import_each_other_in_a_circle(typing_too: bool) -> None:
    assert [sorted(group) for group in circles(edges(typing_too=typing_too))] == []


@pytest.mark.parametrize("path", FILES)
def test_no_module_passes_names_of_another_through(path: str) -> None:
    """A name is imported from the module that defines it; the front door alone offers names of others."""
    through = []
    for entry in imports_of(path):
        if not entry.name or entry.module not in MODULES or entry.module == "canopy":
            continue
        tree = ast.parse(FILES[MODULES[entry.module]].read_text("utf-8"))
        if entry.name not in _defined(tree):
            through.append(f"{entry.module}.{entry.name}")
    assert through == []


@pytest.mark.parametrize("path", FILES)
def test_no_module_gives_an_imported_name_another_name(path: str) -> None:
    """``Settings = ImportedSettings`` at the top of a module passes a name through as well."""
    names = {i.alias for i in imports_of(path) if i.module in MODULES}
    assigned = [n for n in ast.parse(FILES[path].read_text("utf-8")).body if isinstance(n, (ast.Assign, ast.AnnAssign))]
    assert [ast.unparse(n) for n in assigned if isinstance(n.value, ast.Name) and n.value.id in names] == []


def _defined(tree: ast.Module) -> set[str]:
    """Names that a module defines itself: functions, classes, assigned names; also below an ``if`` or ``try``."""
    names: set[str] = set()
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
            todo += [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)]
    return names


def test_no_module_lists_names_that_it_imports() -> None:
    """``__all__`` is the front door's, and lists nothing from elsewhere in any other module."""
    listing = {}
    for path, file in FILES.items():
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
                listing[path] = sorted(set(ast.literal_eval(node.value)) & {i.alias for i in imports_of(path)})
    assert {path: names for path, names in listing.items() if names and path != "canopy/__init__.py"} == {}


@pytest.mark.parametrize("path", LIBRARY)
def test_the_method_knows_no_tool(path: str) -> None:
    assert packages(path) & TOOLS == set()


def test_dagster_is_imported_in_assets_alone() -> None:
    assert {path.split("/")[0] for path in FILES if packages(path) & {"dagster", "dagster_webserver"}} == {"assets"}


@pytest.mark.parametrize(("package", "file"), [
    ("dvc", "orchestration/pipeline/dvc_graph.py"),
    ("great_expectations", "orchestration/data/expectations.py"),
    ("dagster._core", "assets/staleness.py"),
])
def test_only_one_file_uses(package: str, file: str) -> None:
    def uses(path: str) -> bool:
        return any(i.module == package or i.module.startswith(f"{package}.") for i in imports_of(path))

    assert [path for path in FILES if uses(path)] == [file]


def loaded(module: str, then: str = "pass") -> set[str]:
    """The modules that are loaded once a module is and a statement has run."""
    code = f"import sys, json, {module}; {then}; print(json.dumps(list(sys.modules)))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize("module", LIGHT)
def test_starting_a_program_imports_nothing_heavy(module: str) -> None:
    assert sorted(loaded(module) & set(HEAVY)) == []


def test_the_program_starts_without_the_service_and_heavy_libraries() -> None:
    names = loaded("orchestration.cli.main", "orchestration.cli.main.build_app()")
    assert {"orchestration.cli.compress", "orchestration.cli.sweep"} <= names
    assert sorted(m for m in names if m in HEAVY or m.split(".")[0] in ("serving", "dagster")) == []


@pytest.mark.parametrize("module", ["assets.program", "orchestration.cli.main", "orchestration.pipeline.stage"])
def test_the_program_and_a_stage_start_without_dagster(module: str) -> None:
    assert sorted(m for m in loaded(module) if m.startswith("dagster")) == []
