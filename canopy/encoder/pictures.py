"""What an encoder that looks at pixels gets: an item's media file, the size of a picture, a video's frames."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from canopy.digests import file_sha256
from canopy.errors import MediaError
from canopy.items import Item
from canopy.media.images import open_image, probe_image
from canopy.media.videos import iterate_frames, probe_video

if TYPE_CHECKING:
    from PIL.Image import Image

Folders = Mapping[str, Path | Sequence[Path]]
FRAME_PIXELS = 768 * 32 * 32  # one frame is never shown larger (Qwen3-VL-Embedding's own bound)
_KEPT_BYTES = 512 * 1024 * 1024


def media_file(item: Item, folders: Folders) -> Path | None:
    """An item's media file, below (one of) its benchmark's folders; None if the item has none or it is not there."""
    if not item.media or item.modality not in ("image", "video"):
        return None
    places = folders.get(item.benchmark, ())
    for folder in (places,) if isinstance(places, Path) else places:
        path = folder / item.media
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return path
    return None


def media_digest(item: Item, path: Path) -> str:
    """SHA-256 of an item's media file: as it was read in, otherwise of the file."""
    if item.media_sha256:
        return item.media_sha256
    state = path.stat()
    return _file_digest(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=4096)
def _file_digest(path: Path, size: int, changed: int) -> str:
    return file_sha256(path)


def fit(width: int, height: int, most: int, step: int) -> tuple[int, int]:
    """The size at which a picture is read, (width, height), with its shape kept as far as possible.

    Sides are multiples of ``step``; the area is at most ``most`` pixels and at least four steps squared.
    """
    least = min(most, 4 * step * step)
    if width * height > most:
        scale = math.sqrt(most / (width * height))
        sides = [max(1, math.floor(side * scale / step)) for side in (width, height)]
    elif width * height < least:
        scale = math.sqrt(least / (width * height))
        sides = [max(1, math.ceil(side * scale / step)) for side in (width, height)]
    else:
        sides = [max(1, round(side / step)) for side in (width, height)]
    # Rounding up, and pictures much longer than wide, may be over the bound: the longer side gives way.
    while sides[0] * sides[1] * step * step > most and max(sides) > 1:
        longer = 0 if sides[0] >= sides[1] else 1
        sides[longer] = max(1, min(sides[longer] - 1, most // (step * step * sides[1 - longer])))
    return sides[0] * step, sides[1] * step


@dataclass(frozen=True, slots=True)
class View:
    """What is read of a media file: a whole image (no ``times``), or a video at some seconds.

    ``size`` is (width, height) as it is read.
    """

    path: Path
    digest: str
    times: tuple[float, ...]
    size: tuple[int, int]


@lru_cache(maxsize=4096)
def natural_size(path: Path, digest: str, video: bool) -> tuple[int, int]:
    """Pixels of a media file as a person sees it, (width, height); MediaError if it cannot be read."""
    facts = probe_video(path) if video else probe_image(path)
    return facts.width, facts.height


class Pictures:
    """Opens images and frames at the size they are shown at; frames of the nodes of one video are decoded once.

    Parameters
    ----------
    step : int
        Sides are multiples of it, in pixels.
    """

    def __init__(self, step: int, kept_bytes: int = _KEPT_BYTES) -> None:
        self._step, self._most = step, kept_bytes
        self._frames: OrderedDict[tuple[Path, str, float], tuple[float, Image] | None] = OrderedDict()
        self._used = 0

    def image(self, view: View) -> np.ndarray:
        """Pixels of an image, uint8, shape (height, width, 3)."""
        return _scaled(open_image(view.path), view.size)

    def frames(self, view: View, notes: list[str]) -> tuple[np.ndarray, list[float]]:
        """Frames of a video node, uint8, shape (frames, height, width, 3), and their own times in seconds, in order.

        Times at which nothing decodes are left out and noted; MediaError if no frame is left.
        """
        self._decode(view, notes)
        frames = dict(f for t in view.times if (f := self._frames.get((view.path, view.digest, t))) is not None)
        if not frames:
            raise MediaError(f"{view.path}: none of the {len(view.times)} frames from {view.times[0]:g} s on "
                             "can be decoded")
        times = sorted(frames)
        return np.stack([_scaled(frames[t], view.size) for t in times]), times

    def _decode(self, view: View, notes: list[str]) -> None:
        missing = [t for t in view.times if (view.path, view.digest, t) not in self._frames]
        for t in view.times:
            if t not in missing:
                self._frames.move_to_end((view.path, view.digest, t))
        if not missing:
            return
        messages: list[str] = []
        for t in missing:
            self._frames[view.path, view.digest, t] = None
        for frame in iterate_frames(view.path, missing, messages):
            # Kept at the largest size any node is shown at: every node's frames come from the same picture, whatever
            # was decoded before.
            image = frame.image.resize(fit(*frame.image.size, FRAME_PIXELS, self._step), _bicubic())
            self._frames[view.path, view.digest, frame.moment] = (frame.time, image)
            self._used += image.width * image.height * 3
        notes += [f"{view.path.name}: {t}" for t in messages]
        here = {(view.path, view.digest, t) for t in view.times}
        while self._used > self._most and (oldest := next(iter(self._frames))) not in here:
            dropped = self._frames.pop(oldest)
            self._used -= 0 if dropped is None else dropped[1].width * dropped[1].height * 3


def _scaled(image: Image, size: tuple[int, int]) -> np.ndarray:
    return np.asarray(image if image.size == size else image.resize(size, _bicubic()))


def _bicubic() -> int:
    from PIL.Image import Resampling

    return Resampling.BICUBIC
