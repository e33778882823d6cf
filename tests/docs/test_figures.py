"""The figures in the documents are those of the file that `make figures` writes."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType

from tests.docs.blocks import ROOT


def load_script() -> ModuleType:
    """docs/figures.py as a module."""
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs" / "figures.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_quote_the_written_figures() -> None:
    script = load_script()
    table = script.write_table(json.loads(script.FIGURES.read_text("utf-8")))
    for page in script.PAGES:
        assert table in page.read_text("utf-8"), f"{page.name}: run `make figures` after `make demo`"
