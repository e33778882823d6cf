"""Tiny real videos for the video benchmarks' tests: one grey frame a second, small and quick to make."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_film(path: Path, seconds: int) -> Path:
    """A video of so many seconds, its frames slowly brightening."""
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libvpx" if path.suffix == ".webm" else "mpeg4", rate=1)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for i in range(seconds):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((32, 32, 3), i * 2 % 256, np.uint8),
                                                             format="rgb24")))
        out.mux(stream.encode(None))
    return path
