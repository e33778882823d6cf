"""Turns a slide lesson into an MP4 (one frame a second) and WebVTT subtitles, with the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import sentencex
from PIL import Image, ImageDraw

from canopy.starter.themes import Scene, VideoItem
from canopy.starter.typography import fit, font, wrap

WIDTH, HEIGHT, MARGIN = 480, 272, 28  # multiples of 16, so that the encoder adds no padding of its own
# With x264's look-ahead on, equal frames gave files that differed from run to run; without it they do not.
X264 = "rc-lookahead=0:sync-lookahead=0:mbtree=0:weightp=0:bframes=0:scenecut=0"
PAPER, INK, SOFT, TRACK = "#fbf8f1", "#1d2b3a", "#66727f", "#e2dccd"
ACCENTS = ("#1f6f8b", "#b5543b", "#5b7a3a", "#7a4f86", "#a9791c", "#2f5d9b", "#8a3f5c")


def write_video(item: VideoItem, path: Path) -> None:
    """Write the lesson as MP4: H.264 if this build of PyAV has it, otherwise MPEG-4; single thread, bit-exact."""
    codec, options = "mpeg4", {"qmin": "4", "qmax": "4"}
    if "libx264" in av.codecs_available:
        codec, options = "libx264", {"preset": "veryfast", "crf": "26", "x264-params": X264}
    with av.open(str(path), "w", format="mp4", options={"fflags": "+bitexact", "movflags": "+faststart"}) as container:
        stream = container.add_stream(codec, rate=1, options={**options, "threads": "1", "flags": "+bitexact"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.thread_count, stream.gop_size = 1, 30
        for picture in frames(item):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


def frames(item: VideoItem) -> Iterator[np.ndarray]:
    """One RGB frame a second: the scene's slide and a bar that shows how far the lesson has come."""
    second = 0
    for number, scene in enumerate(item.scenes):
        still = slide(item, number)
        accent = ACCENTS[number % len(ACCENTS)]
        for _ in range(scene.seconds):
            second += 1
            picture = still.copy()
            end = MARGIN + (WIDTH - 2 * MARGIN) * second / item.seconds
            ImageDraw.Draw(picture).rounded_rectangle((MARGIN, HEIGHT - 16, end, HEIGHT - 11), 2, fill=accent)
            yield np.asarray(picture)


def slide(item: VideoItem, number: int) -> Image.Image:
    """The picture of one scene: the lesson's title, the heading, and bullets that wrap and shrink until they fit."""
    scene, accent = item.scenes[number], ACCENTS[number % len(ACCENTS)]
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, 9, HEIGHT), fill=accent)
    place = f"{number + 1} / {len(item.scenes)}"
    draw.text((WIDTH - MARGIN, 17), place, SOFT, font(12), anchor="ra")
    size, lines = fit(item.title, WIDTH - 2 * MARGIN - 50, 16, range(12, 7, -1), spacing=1.2)
    draw.text((MARGIN, 17), " ".join(lines), SOFT, font(size))
    size, lines = fit(scene.heading, WIDTH - 2 * MARGIN, 66, range(28, 15, -1), bold=True, spacing=1.15)
    top = 42
    for line in lines:
        draw.text((MARGIN, top), line, accent, font(size, True))
        top += round(size * 1.15)
    _bullets(draw, scene, top + 14, accent)
    draw.rounded_rectangle((MARGIN, HEIGHT - 16, WIDTH - MARGIN, HEIGHT - 11), 2, fill=TRACK)
    return picture


def _bullets(draw: ImageDraw.ImageDraw, scene: Scene, top: float, accent: str) -> None:
    room, width = HEIGHT - 26 - top, WIDTH - 2 * MARGIN - 22
    for size in range(19, 10, -1):
        blocks = [wrap(b, width, size) for b in scene.bullets]
        gap = size * 0.55
        if sum(len(b) for b in blocks) * size * 1.25 + gap * (len(blocks) - 1) <= room:
            break
    for block in blocks:
        middle = top + size * 0.62
        draw.ellipse((MARGIN + 2, middle - 3.5, MARGIN + 9, middle + 3.5), fill=accent)
        for line in block:
            draw.text((MARGIN + 22, top), line, INK, font(size))
            top += size * 1.25
        top += gap


def subtitles(item: VideoItem) -> str:
    """The narration as WebVTT: a cue a sentence, each given the share of its scene that its words take."""
    blocks, start = ["WEBVTT"], 0.0
    for scene in item.scenes:
        sentences = [
            " ".join(s.split()) for s in sentencex.segment("en", " ".join(scene.narration.split())) if s.strip()
        ]
        total, spoken = sum(len(s.split()) for s in sentences), 0
        for sentence in sentences:
            a = start + scene.seconds * spoken / total
            spoken += len(sentence.split())
            blocks.append(f"{_clock(a)} --> {_clock(start + scene.seconds * spoken / total)}\n{sentence}")
        start += scene.seconds
    return "\n\n".join(blocks) + "\n"


def _clock(seconds: float) -> str:
    whole = round(seconds * 1000)
    return f"{whole // 3_600_000:02}:{whole // 60_000 % 60:02}:{whole // 1000 % 60:02}.{whole % 1000:03}"
