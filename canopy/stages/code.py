"""The code that a stage runs: its module and what that imports within the library, from the source alone.

A stage's code is its module, what that imports within ``canopy/`` (lazily too), every module of a package that one of these loads by name, and the
data files (templates, prompts) beside a module that looks beside itself. dvc.yaml lists it, and unfinished answers are kept by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = "canopy"
CODE_ROOT = Path(__file__).resolve().parents[2]  # the folder that holds the library
# Modules that no output depends on: changes in them make nothing stale.
EXEMPT = {
    "canopy/__init__.py": "the package's name and version",
    "canopy/errors.py": "exception classes: they end a stage and never shape what it writes",
    "canopy/progress.py": "draws a progress bar on the terminal",
}
_ADAPTERS, ADAPTER = "canopy/benchmarks", "canopy/benchmarks/${item.adapter}.py"
_CHECKER = "canopy/validation/checker.py"


def _files_of(root: Path, name: str) -> list[Path]:
    """The files of a dotted name: its module and the packages that hold it."""
    parts = name.split(".")
    files = [root.joinpath(*parts[:i], "__init__.py") for i in range(1, len(parts) + 1)]
    return [f for f in (*files, root.joinpath(*parts).with_suffix(".py")) if f.is_file()]


def _is_empty(tree: ast.Module) -> bool:
    """Whether a module holds a docstring at most, so that nothing in it can change what a stage does."""
    return all(isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) for n in tree.body)


def _loaded_packages(node: ast.Call) -> Iterator[str]:
    """Packages whose modules a call loads by name: ``import_module(f"canopy.pipelines.{name}")``."""
    function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if function == "import_module" and node.args and isinstance(node.args[0], ast.JoinedStr):
        first = node.args[0].values[0]
        if isinstance(first, ast.Constant) and str(first.value).startswith(f"{PACKAGE}."):
            yield str(first.value).rstrip(".")


@cache
def imports_of(root: Path, file: Path) -> frozenset[Path]:
    """Files under ``canopy/`` that a module brings in by itself: modules it imports or loads by name, and data files beside it.

    Imports for type checkers alone are left out.
    """
    source = file.read_text("utf-8")
    tree, names, files = ast.parse(source), set(), set()
    typing_only = {id(n) for block in ast.walk(tree) if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
                   for statement in block.body for n in ast.walk(statement)}
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{file}:{node.lineno}: relative import; write it as an absolute one")
            names |= {node.module or "", *(f"{node.module}.{a.name}" for a in node.names)}
        elif isinstance(node, ast.Call):
            for package in _loaded_packages(node):
                folder = root / package.replace(".", "/")
                if str(folder.relative_to(root)) != _ADAPTERS:  # a benchmark's stage names its own adapter
                    files |= set(folder.glob("*.py"))
    if "__file__" in source:
        files |= {f for f in file.parent.rglob("*") if f.is_file() and f.suffix not in (".py", ".pyc", ".typed")}
    return frozenset(files | {f for n in names if n.split(".")[0] == PACKAGE for f in _files_of(root, n)})


def closure_of(root: Path, *start: Path) -> set[str]:
    """All files under ``canopy/`` that the given modules bring in, less empty and exempt ones, as paths from the checkout."""
    seen: set[Path] = set()
    todo = list(start)
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo += imports_of(root, file) if file.suffix == ".py" else ()
    paths = {str(f.relative_to(root)): f for f in seen}
    return {p for p, f in paths.items() if p not in EXEMPT and not (f.suffix == ".py" and _is_empty(ast.parse(f.read_text("utf-8"))))}


def code_deps(root: Path, stage: str) -> list[str]:
    """The code deps of a stage as dvc.yaml lists them, sorted.

    Those of ``benchmark`` are of all adapters together, with the partition's own adapter by name.
    """
    module = root / PACKAGE / "stages" / f"{stage}.py"
    source = module.read_text("utf-8")
    start = [module]
    if "validator.check(" in source or "check_inputs(" in source:
        start.append(root / _CHECKER)
    if stage != "benchmark":
        return sorted(closure_of(root, *start))
    adapters = {str(f.relative_to(root)): f for f in (root / _ADAPTERS).glob("*.py") if f.name not in ("__init__.py", "registry.py")}
    shared = closure_of(root, *start, *adapters.values()) - set(adapters)
    # The starter benchmark's folder is its raw data.
    return sorted({ADAPTER, *(p for p in shared if not p.startswith("canopy/starter/"))})
