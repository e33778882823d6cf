"""The code that a stage runs, from the source alone: its module and everything that it brings in within the library.

A module brings in the modules it imports (in functions too), the modules of a package that it loads by name or lists
through `canopy.discovery`, and the data files (templates, prompts) of a package whose folder it looks into. dvc.yaml
lists these files as the code deps of a stage, and finished answers are kept as long as they stay as they are.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = "canopy"
CODE_ROOT = Path(__file__).resolve().parents[2]  # the folder that holds the library
# Files that no output depends on. They are neither listed nor followed.
EXEMPT = {
    "canopy/__init__.py": "the front door, which imports lazily; stages import what lies behind it",
    "canopy/errors.py": "exception classes: they end a stage and never shape what it writes",
    "canopy/progress.py": "shows on the terminal and in logs how far work is",
}
ADAPTER = "canopy/benchmarks/${item.adapter}.py"
_ADAPTERS = "canopy/benchmarks"
_CHECKER = "canopy/validation/checker.py"
_CODE_SUFFIXES = (".py", ".pyc", ".typed")


def _files_of(root: Path, name: str) -> list[Path]:
    """The files of a dotted name: its module and the packages that hold it."""
    parts = name.split(".")
    files = [root.joinpath(*parts[:i], "__init__.py") for i in range(1, len(parts) + 1)]
    return [f for f in (*files, root.joinpath(*parts).with_suffix(".py")) if f.is_file()]


def _is_empty(file: Path) -> bool:
    """Whether a module holds a docstring at most, so that nothing in it can change what a stage does."""
    body = ast.parse(file.read_text("utf-8")).body
    return all(isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) for n in body)


def _ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def _function_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _loaded_package(call: ast.Call, names: dict[str, str]) -> str:
    """The package whose modules a call loads; empty if it loads none.

    That is ``import_module(f"canopy.pipelines.{name}")`` or ``modules_of(canopy.pipelines)``.

    Parameters
    ----------
    names : dict
        What names in the module stand for: ``pipelines`` for ``canopy.pipelines``.
    """
    function, first = _function_name(call), call.args[0] if call.args else None
    if function == "import_module" and isinstance(first, ast.JoinedStr) and isinstance(first.values[0], ast.Constant):
        package = str(first.values[0].value).rstrip(".")
        return package if _ours(package) else ""
    if function == "modules_of" and first is not None:
        package = ast.unparse(first)
        package = names.get(package, package)
        return package if _ours(package) else ""
    return ""


def _data_folder(node: ast.AST, root: Path, file: Path) -> Path | None:
    """The folder whose data files an expression reads: ``__file__``, ``files("canopy.report")`` or a Jinja2 loader."""
    if isinstance(node, ast.Name) and node.id in ("__file__", "__package__"):
        return file.parent
    if isinstance(node, ast.Call) and _function_name(node) in ("files", "PackageLoader") and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and _ours(str(first.value)):
            return root.joinpath(*str(first.value).split("."))
    return None


def _bound_names(nodes: list[ast.AST]) -> dict[str, str]:
    """What the names that imports bind stand for, by name."""
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.asname: a.name for a in node.names if a.asname}
    return names


def _runtime_nodes(tree: ast.Module) -> list[ast.AST]:
    """The nodes of a module outside blocks that are for type checkers alone."""
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)]
    typing_only = {id(n) for block in blocks for statement in block.body for n in ast.walk(statement)}
    return [n for n in ast.walk(tree) if id(n) not in typing_only]


@cache
def imports_of(root: Path, file: Path) -> frozenset[Path]:
    """Files under ``canopy/`` that a module brings in by itself.

    Imports for type checkers alone are left out. So are a benchmark's adapters: its stage names its own.

    Raises
    ------
    ValueError
        If the module has a relative import.
    """
    nodes = _runtime_nodes(ast.parse(file.read_text("utf-8")))
    names, files = _bound_names(nodes), set[Path]()
    modules = set(names.values())
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{file}:{node.lineno}: relative import; write it as an absolute one")
            modules.add(node.module or "")
        elif isinstance(node, ast.Call) and (package := _loaded_package(node, names)):
            folder = root.joinpath(*package.split("."))
            if folder != root / _ADAPTERS:
                files |= set(folder.glob("*.py"))
        folder_read = _data_folder(node, root, file)
        if folder_read is not None:
            files |= {f for f in folder_read.rglob("*") if f.is_file() and f.suffix not in _CODE_SUFFIXES}
    return frozenset(files | {f for m in modules if _ours(m) for f in _files_of(root, m)})


def closure_of(root: Path, *start: Path) -> set[str]:
    """All files under ``canopy/`` that the given modules bring in, with themselves, as paths from the checkout.

    Exempt files and modules without code are left out.
    """
    exempt = {root / path for path in EXEMPT}
    seen: set[Path] = set()
    todo = list(start)
    while todo:
        file = todo.pop()
        if file not in seen and file not in exempt:
            seen.add(file)
            todo += imports_of(root, file) if file.suffix == ".py" else ()
    return {str(f.relative_to(root)) for f in seen if f.suffix != ".py" or not _is_empty(f)}


def code_deps(root: Path, stage: str) -> list[str]:
    """The code deps of a stage as dvc.yaml lists them, sorted.

    Those of ``benchmark`` are of all adapters together, with the partition's own adapter by name.
    """
    module = root / PACKAGE / "stages" / f"{stage}.py"
    source = module.read_text("utf-8")
    start = [module]
    if "validator.check(" in source or "check_inputs(" in source:
        start.append(root / _CHECKER)  # the validator is handed in
    if stage != "benchmark":
        return sorted(closure_of(root, *start))
    adapters = [f for f in (root / _ADAPTERS).glob("*.py") if f.name != "__init__.py"]
    shared = closure_of(root, *start).union(*(closure_of(root, f) - {str(f.relative_to(root))} for f in adapters))
    # The starter benchmark's folder is its raw data.
    return sorted({ADAPTER, *(p for p in shared if not p.startswith("canopy/starter/"))})
