"""The house's style, where a machine can judge it.

Length of modules, names of variables, docstrings of what is public.
"""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = [f for room in ("canopy", "serving", "orchestration", "assets") for f in sorted((ROOT / room).rglob("*.py"))]
# Participles say nothing of what a value is; a noun does.
PARTICIPLES = frozenset({
    "found", "held", "told", "made", "said", "wanted", "asked", "given", "drawn", "done", "got", "taken", "shown",
    "meant", "sought"})


def trees() -> dict[str, ast.Module]:
    """Every module of the product, parsed, by its path."""
    return {str(f.relative_to(ROOT)): ast.parse(f.read_text("utf-8")) for f in FILES}


def test_modules_are_short() -> None:
    lengths = {str(f.relative_to(ROOT)): len(f.read_text("utf-8").splitlines()) for f in FILES}
    assert {f: n for f, n in lengths.items() if n > 350} == {}
    assert statistics.median(n for f, n in lengths.items() if not f.endswith("__init__.py")) <= 120


def test_variables_are_nouns() -> None:
    names = []
    for path, tree in trees().items():
        # The fields of a class that describes rows are the columns' names, which outputs have kept for long.
        fields = {id(n.target) for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for n in c.body
                  if isinstance(n, ast.AnnAssign)}
        names += [f"{path}:{line} {name}" for n in ast.walk(tree) if id(n) not in fields
                  for name, line in _names(n) if name.strip("_") in PARTICIPLES]
    assert names == []


def _names(node: ast.AST) -> list[tuple[str, int]]:
    """The name that a node gives to a variable, an argument, a function or a class, with its line."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [(node.id, node.lineno)]
    if isinstance(node, ast.arg):
        return [(node.arg, node.lineno)]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [(node.name, node.lineno)]
    return []


def _public(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public functions and classes of a module, and public methods of its public classes."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    top = [n for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")]
    return top + [m for c in top if isinstance(c, ast.ClassDef) for m in c.body if isinstance(m, kinds)
                  and not m.name.startswith("_")]


def test_what_is_public_has_a_docstring() -> None:
    assert [f"{path}:{n.lineno} {n.name}" for path, tree in trees().items() for n in _public(tree)
            if ast.get_docstring(n) is None] == []


def test_modules_say_why_they_exist() -> None:
    assert [path for path, tree in trees().items() if tree.body and ast.get_docstring(tree) is None] == []


def test_free_dictionaries_are_few() -> None:
    places = [f"{f.relative_to(ROOT)}" for f in FILES for _ in range(f.read_text("utf-8").count("dict[str, Any]"))]
    assert len(places) <= 40, places


@pytest.mark.parametrize("phrase", ["nothing to set beside", "by who read", "None where", "method.md"])
def test_prose_is_plain(phrase: str) -> None:
    assert [str(f.relative_to(ROOT)) for f in FILES if phrase in f.read_text("utf-8")] == []
