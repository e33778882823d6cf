"""A tiny Qwen3-VL checkpoint and a few pictures, made once a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.tiny_qwen3_vl import build_checkpoint


def write_film(path: Path, seconds: int, colours: Sequence[tuple[int, int, int]]) -> Path:
    """An MP4 of one frame a second, the colours one after the other in equal shares."""
    import av

    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=1)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for second in range(seconds):
            picture = np.full((48, 64, 3), colours[second * len(colours) // seconds], dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def write_media(folder: Path) -> Path:
    """Two images and a video of 95 seconds."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(7)
    Image.fromarray(draw.integers(0, 255, (70, 110, 3), dtype=np.uint8)).save(folder / "noise.png")
    Image.new("RGB", (300, 20), (200, 40, 40)).save(folder / "bar.png")
    write_film(folder / "film.mp4", 95, ((250, 20, 20), (20, 250, 20), (20, 20, 250)))
    return folder


@pytest.fixture(autouse=True)
def one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """One thread: the tiny model's products are too small to share on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    if request.path.name.startswith("test_qwen3_vl"):
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny_vl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint's folder."""
    return build_checkpoint(tmp_path_factory.mktemp("checkpoint") / "Tiny-VL-Embedding")


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the made-up media."""
    return write_media(tmp_path_factory.mktemp("media"))
