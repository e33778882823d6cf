"""Pictures read in several processes: the same lines in the same order, and a killed process is an error."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from PIL import Image, ImageDraw

from canopy.errors import CanopyError
from canopy.media import ocr_pool
from canopy.media.ocr import read_array
from canopy.media.ocr_pool import OcrPool, process_count
from canopy.starter.typography import font


def picture(text: str) -> Image.Image:
    image = Image.new("RGB", (360, 60), "white")
    ImageDraw.Draw(image).text((10, 10), text, fill="black", font=font(28))
    return image


def test_processes_read_what_one_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr_pool, "FEW", 1)
    pictures = [picture(f"Lamp {n} is green") for n in range(4)]
    counts: list[int] = []
    with OcrPool(2, counts.append) as pool:
        futures = [pool.submit(p) for p in pictures]
        lines = [f.result() for f in futures]
        assert pool._pool is not None
    assert lines == [read_array(np.asarray(p), 1) for p in pictures]
    assert [" ".join(x.text for x in each) for each in lines] == [f"Lamp {n} is green" for n in range(4)]
    assert sorted(counts) == [1, 2, 3, 4]


def test_few_pictures_start_no_process() -> None:
    with OcrPool(4) as pool:
        assert pool.read(picture("Hello"))[0].text == "Hello"
        assert pool._pool is None


def test_a_killed_process_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr_pool, "FEW", 0)
    with pytest.raises(CanopyError, match=r"killed .out of memory.*OMP_NUM_THREADS=1"), OcrPool(2) as pool:
        assert pool.read(picture("Alpha"))
        assert pool._pool is not None
        for process in list(pool._pool._processes.values()):
            os.kill(process.pid, signal.SIGKILL)
        for _ in range(9):  # more than may wait: a slot of a killed process is free again
            pool.read(picture("Beta"))


@pytest.mark.parametrize(("cores", "free", "processes"), [(4, 64 << 30, 4), (16, 4 << 30, 3), (4, 1 << 20, 1),
                                                          (4, 0, 1)])
def test_processes_fit_cores_and_memory(cores: int, free: int, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr_pool, "usable_cores", lambda: cores)
    monkeypatch.setattr(ocr_pool, "free_memory", lambda: free)
    assert process_count() == processes
