"""Which benchmark adapters there are: a module of this package with ``read(raw, sink)`` is one, and nothing else lists them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Protocol

from canopy.errors import DataError
from canopy.ingest.sink import Sink


class Adapter(Protocol):
    """A module of ``canopy.benchmarks``."""

    def read(self, raw: Path, sink: Sink) -> None:
        """Read the raw files under ``raw`` into the sink. Raises DataError where a whole file is missing or broken."""
        ...


def adapter_names() -> list[str]:
    """The adapters there are: modules of this package that define or import ``read``."""
    return sorted(p.stem for p in Path(__file__).parent.glob("[a-z]*.py")
                  if re.search(r"^def read\(|^from \S+ import .*\bread\b", p.read_text("utf-8"), re.M))


def adapter_for(name: str) -> str | None:
    """The adapter that reads a benchmark known by this name (its module's, its folder's or an alias); None where there is none."""
    wanted = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    names = adapter_names()
    if wanted in names:
        return wanted
    known = {re.sub(r"[^a-z0-9]+", "_", alias.lower()): n for n in names
             for alias in getattr(getattr(load_adapter(n), "RELEASE", None), "aliases", ())}
    return known.get(wanted)


def load_adapter(name: str) -> Adapter:
    """The adapter module ``canopy.benchmarks.<name>``; DataError with the names there are, where it does not exist."""
    here = adapter_names()
    if name not in here:
        raise DataError(f"params.yaml: benchmarks: no adapter {name!r}; there are {', '.join(here)}")
    return importlib.import_module(f"canopy.benchmarks.{name}")
