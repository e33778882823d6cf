"""Evidence as a language model is shown it.

Numbered regions in words, with images and frames as image parts if the model sees them.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.errors import MediaError
from canopy.llm.prompting import Part
from canopy.llm.roles import RegionView, Trace

if TYPE_CHECKING:
    from PIL.Image import Image

# What an image or frame is scaled down to: 640 x 360 are 222 of Qwen3-VL's tokens (20 x 11 cells of 32 pixels and two
# marks), the paper's figure for a frame.
PIXELS = 640 * 360
FRAME_TOKENS = 222
QUALITY = 85


def show_evidence(evidence: Sequence[RegionView], sees_media: bool, trace: Trace) -> list[str | Part]:
    """Texts and image parts, region by region, in the given order.

    A picture that cannot be decoded is left out; a sentence in its place says so, and the trace's notes count it; its
    words are shown all the same.
    """
    out: list[str | Part] = []
    for number, region in enumerate(evidence, 1):
        out.append(f"[{number}]{_about(region)} {region.words().strip() or '(no words)'}\n")
        if sees_media and region.media:
            out += _pictures(region, trace)
    return out


def picture_tokens(region: RegionView) -> int:
    """Tokens of a region's picture or frames for a model that sees them; 0 if there is no file."""
    return FRAME_TOKENS * (len(region.times) or region.modality == "image") if region.media else 0


def _about(region: RegionView) -> str:
    if region.modality != "video":
        return "" if region.modality == "text" else f" ({region.modality})"
    lo, hi = region.span
    return f" (video, {lo:.0f} to {hi:.0f} s)"


def _pictures(region: RegionView, trace: Trace) -> list[str | Part]:
    try:
        if region.modality == "image":
            return [_part(encode_image(region.media)), "\n"]
        if region.modality == "video" and region.times:
            frames, missing = encode_frames(region.media, region.times)
            if missing:
                trace.note("frames that cannot be shown", missing)
            seconds = ", ".join(f"{time:.0f}" for time, _ in frames)
            return [f"Frames at {seconds} s:\n", *(_part(f) for _, f in frames), "\n"] if frames else []
    except MediaError:
        trace.note(f"{region.modality}s that cannot be shown")
        return [f"(The {region.modality} itself cannot be shown.)\n"]
    return []


def _part(uri: str) -> Part:
    return {"type": "image_url", "image_url": {"url": uri}}


def encode_image(path: str) -> str:
    """An image file as a data URI of a JPEG of at most `PIXELS` pixels. Raises MediaError if it cannot be decoded."""
    return _encode_image(path, _file_state(path))


def encode_frames(path: str, times: tuple[float, ...]) -> tuple[tuple[tuple[float, str], ...], int]:
    """Frames of a video as (requested time, data URI), and the number of missing ones.

    Raises MediaError if all are missing.
    """
    return _encode_frames(path, _file_state(path), times)


def _file_state(path: str) -> tuple[int, ...]:
    """What changes when a file is replaced or edited: inode, size and times.

    Part of a cache key; empty if there is no file.
    """
    try:
        state = os.stat(path)
    except OSError:
        return ()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


@lru_cache(maxsize=512)
def _encode_image(path: str, state: tuple[int, ...]) -> str:
    from canopy.media.images import open_image

    return encode_jpeg(open_image(Path(path)))


@lru_cache(maxsize=64)
def _encode_frames(
    path: str, state: tuple[int, ...], times: tuple[float, ...]
) -> tuple[tuple[tuple[float, str], ...], int]:
    from canopy.media.videos import iterate_frames

    frames = tuple((f.moment, encode_jpeg(f.image)) for f in iterate_frames(Path(path), times, max_side=1280))
    return frames, len(times) - len(frames)


def encode_jpeg(image: Image) -> str:
    """A picture as a data URI, scaled down to at most `PIXELS` pixels, its proportions kept."""
    from PIL.Image import Resampling

    shrink = min(1.0, (PIXELS / (image.width * image.height)) ** 0.5)
    if shrink < 1:
        image = image.resize(
            (max(1, int(image.width * shrink)), max(1, int(image.height * shrink))), Resampling.BICUBIC
        )
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()
