"""Words are read off pictures and frames, quietly and without a network; what is unlikely to be text is dropped."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from canopy.media.images import open_image
from canopy.media.ocr import Line, merge_lines, read_lines, read_words, screen_cues
from tests.media.making import write_video


def slide(*lines: str, size: tuple[int, int] = (480, 270)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for i, text in enumerate(lines):
        draw.text((20, 20 + 60 * i), text, fill="black", font=ImageFont.load_default(32))
    return image


def test_words_are_read_in_order_and_nothing_is_fetched_or_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    image = slide("Boiling point of water", "100 degrees Celsius")
    assert (
        read_words(image) == "Boiling point of water 100 degrees Celsius" == " ".join(x.text for x in read_lines(image))
    )
    assert read_words(Image.new("RGB", (64, 64), "white")) == ""
    assert read_words(Image.new("RGB", (1, 1), "white")) == ""
    assert capfd.readouterr() == ("", "")


def test_photographs_without_text_give_no_words(real_data: Path) -> None:
    # a foot is read as 17., a cup as 8
    photos = [next((real_data / "media").rglob(f"{name}*")) for name in ("elephant", "grapefruit", "coffee")]
    assert [read_words(open_image(p)) for p in photos] == [""] * 3


def test_text_on_frames_has_the_times_it_was_seen_at(tmp_path: Path) -> None:
    first, second = np.asarray(slide("Exhibit Alpha")), np.asarray(slide("Final Chapter"))
    path = write_video(tmp_path / "a.mp4", range(40), pictures=[first if i < 22 else second for i in range(40)])
    cues = screen_cues(path, 40.0)
    assert [(c.start, c.end, c.text) for c in cues] == [(5, 15, "Exhibit Alpha"), (25, 35, "Final Chapter")]


def lines(*texts: str) -> list[Line]:
    return [Line(t, 0.9) for t in texts]


def test_repeated_lines_are_one_cue() -> None:
    seen = [
        (5.0, lines("Chapter one", "The river")),
        (15.0, [Line("Chapter onc", 0.7), *lines("The delta")]),
        (25.0, lines("The river")),
        (35.0, []),
    ]
    assert [(c.start, c.end, c.text) for c in merge_lines(seen)] == [
        (5, 5, "The river"), (5, 15, "Chapter one"), (15, 15, "The delta"), (25, 25, "The river")]
    assert merge_lines([]) == ()
    assert [c.text for c in merge_lines([(5.0, lines("Lap 11 of 20")), (15.0, lines("Lap 12 of 20"))])] == [
        "Lap 11 of 20",
        "Lap 12 of 20",
    ]


def test_a_stations_mark_counts_once() -> None:
    seen = [(5.0 + 10 * i, lines("CHANNEL FOUR", f"Topic {i}")) for i in range(8)]
    cues = merge_lines(seen)
    assert [c for c in cues if "CHANNEL" in c.text] == [cues[0]] and (cues[0].start, cues[0].end) == (5, 5)
    assert [c.text for c in cues[1:]] == [f"Topic {i}" for i in range(1, 8)]
