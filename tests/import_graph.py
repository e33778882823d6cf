"""The imports between the product's modules, read from their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("canopy", "serving", "orchestration", "assets")
FILES = {str(f.relative_to(ROOT)): f for room in ROOMS for f in sorted((ROOT / room).rglob("*.py"))}


@dataclass(frozen=True, slots=True)
class Import:
    """One name that a module imports: from where, for type checkers alone or not, at the top or in a function."""

    module: str
    name: str
    alias: str
    typing_only: bool
    at_top: bool


def module_of(path: str) -> str:
    """``canopy/corpus/__init__.py`` becomes ``canopy.corpus``."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


MODULES = {module_of(path): path for path in FILES}


@cache
def imports_of(path: str) -> tuple[Import, ...]:
    """Every import of a file, lazy ones too; a name that is itself a module of ours counts as that module.

    So does a module of ours that is loaded by its name: ``import_module("canopy.encoder.kinds")``.
    """
    return tuple(_imports(ast.parse(FILES[path].read_text("utf-8"))))


def _imports(tree: ast.Module) -> Iterator[Import]:
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)]
    typing_only = {id(n) for block in blocks for statement in block.body for n in ast.walk(statement)}
    for node in ast.walk(tree):
        place = (id(node) in typing_only, node in tree.body)
        if isinstance(node, ast.Import):
            for a in node.names:
                yield Import(a.name, "", a.asname or a.name, *place)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                inner = f"{node.module}.{a.name}"
                module, name = (inner, "") if inner in MODULES else (node.module, a.name)
                yield Import(module, name, a.asname or a.name, *place)
        elif isinstance(node, ast.Call) and (module := _loaded(node)) in MODULES:
            yield Import(module, "", "", *place)


def _loaded(call: ast.Call) -> str:
    """The module that ``import_module("...")`` loads; empty for any other call, and for names that are composed."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first = call.args[0] if call.args else None
    return str(first.value) if function == "import_module" and isinstance(first, ast.Constant) else ""


def edges(*, typing_too: bool) -> dict[str, set[str]]:
    """Each of our modules with the modules of ours that it imports."""
    graph = {}
    for path in FILES:
        names = {i.module for i in imports_of(path) if typing_too or not i.typing_only}
        graph[module_of(path)] = {n for n in names if n in MODULES} - {module_of(path)}
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Groups of modules that reach each other (Tarjan's strongly connected components of more than one module)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[set[str]] = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for target in sorted(graph[module]):
            if target not in order:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], order[target])
        if low[module] == order[module]:
            start = stack.index(module)
            group, stack[start:] = set(stack[start:]), []
            if len(group) > 1:
                groups.append(group)

    for module in sorted(graph):
        if module not in order:
            visit(module)
    return groups
