"""The modules of a room that declare something: adding one is adding a file."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    """The modules of a package, imported, in the order of their names; every folder of its ``__path__`` counts."""
    for name in sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.ispkg):
        yield importlib.import_module(f"{package.__name__}.{name}")
