"""Pictures as a language model is shown them: encoded once for each state of a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from canopy.errors import MediaError
from canopy.llm.showing import encode_frames, encode_image
from tests.benchmarks.little_films import write_film


def test_a_picture_that_changes_is_encoded_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("RGB", (8, 8), "red").save(path)
    red = encode_image(str(path))
    assert encode_image(str(path)) is red
    Image.new("RGB", (8, 8), "blue").save(path)
    blue = encode_image(str(path))
    assert blue != red
    path.unlink()
    with pytest.raises(MediaError, match="no such file"):
        encode_image(str(path))


def test_a_film_that_changes_is_encoded_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with pytest.raises(MediaError):
        encode_frames(str(path), (1.0,))
    write_film(path, 5)
    frames, missing = encode_frames(str(path), (1.0,))
    assert len(frames) == 1 and missing == 0
