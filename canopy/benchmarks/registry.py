"""Which benchmark adapters there are: the modules of this package.

Each declares ``BENCHMARK`` and has ``read(raw, sink)``.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Protocol

import canopy.benchmarks
from canopy.benchmarks.declaration import Benchmark
from canopy.errors import DataError
from canopy.ingest.sink import Sink

_NO_ADAPTERS = frozenset({"declaration", "registry"})  # the two modules here that read no benchmark


class Adapter(Protocol):
    """A module of ``canopy.benchmarks``."""

    BENCHMARK: Benchmark

    def read(self, raw: Path, sink: Sink) -> None:
        """Read the raw files under ``raw`` into the sink. Raises DataError if a whole file is missing or broken."""
        ...


def adapter_names() -> list[str]:
    """The names of all adapters, sorted.

    Nothing is imported; folders that extend the package's ``__path__`` count too.
    """
    modules = pkgutil.iter_modules(canopy.benchmarks.__path__)
    return sorted(m.name for m in modules if not m.ispkg and m.name not in _NO_ADAPTERS)


def adapter_for(name: str) -> str | None:
    """The adapter of a benchmark by its module's name, its folder's or an alias; None if there is none."""
    names, key = adapter_names(), _simplified(name)
    if key in names:
        return key
    aliases = {_simplified(alias): n for n in names for alias in load_benchmark_adapter(n).BENCHMARK.aliases}
    return aliases.get(key)


def load_benchmark_adapter(name: str) -> Adapter:
    """The adapter module ``canopy.benchmarks.<name>``.

    Raises
    ------
    DataError
        If there is none of that name; the message lists those there are.
    """
    names = adapter_names()
    if name not in names:
        raise DataError(f"params.yaml: benchmarks: no adapter {name!r}; there are {', '.join(names)}")
    return importlib.import_module(f"canopy.benchmarks.{name}")


def _simplified(name: str) -> str:
    """A name as a module would be called: lower case, words joined by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
