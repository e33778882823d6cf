"""A fault of an adapter's code ends the run; only errors of reading data go to quarantine."""

from __future__ import annotations

from pathlib import Path

import pytest

from canopy.ingest.sink import Sink
from canopy.items import Item


def read_wrongly(fault: type[Exception], sink: Sink) -> None:
    """An adapter with a fault in it."""
    with sink.record("file.json", "record 0"):
        if fault is AttributeError:
            _ = Item("b/1", "b", "text", text="Words.").words_of  # type: ignore[attr-defined]  # the fault
        if fault is TypeError:
            _ = Item("b/1", "b")  # type: ignore[call-arg]  # the fault
        raise fault("a fault of the code")


@pytest.mark.parametrize("fault", [AttributeError, TypeError, RuntimeError, NameError, AssertionError])
def test_a_fault_of_an_adapter_is_not_swallowed(fault: type[Exception], tmp_path: Path) -> None:
    sink = Sink("b", tmp_path)
    with pytest.raises(fault):
        read_wrongly(fault, sink)
    assert not sink.quarantine and not sink.counts["quarantined"]


@pytest.mark.parametrize("fault", [KeyError, ValueError, IndexError, OverflowError, RecursionError, OSError])
def test_errors_of_reading_data_go_to_quarantine(fault: type[Exception], tmp_path: Path) -> None:
    sink = Sink("b", tmp_path)
    read_wrongly(fault, sink)
    assert sink.quarantine[0]["reason"].startswith(f"not in the expected structure: {fault.__name__}")
