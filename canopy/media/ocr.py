"""Text read off pictures (RapidOCR's models on onnxruntime, out of its wheel).

Words of images, and of video frames with their times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from canopy.errors import DataError
from canopy.items import Cue
from canopy.media.videos import FRAME_EVERY, frame_times, iterate_frames

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

# Lines that the recogniser is less sure of are dropped. Of 808 lines read off the starter's drawings at widths of 288
# to 960 pixels seven had less than 0.6; six photographs without any text gave lines of one to three letters at 0.3 to
# 0.9, hence the second bound for short ones.
MIN_SCORE, SHORT_LETTERS, SHORT_MIN_SCORE = 0.6, 2, 0.95
# Larger pictures are scaled down before text is looked for.
MAX_SIDE = 2000
# A line in three of four frames of a video of at least six is a station's mark: it counts where it is first seen.
MARK_SHARE, MARK_FRAMES = 0.75, 6
# Two frames whose small grey copies differ nowhere by more than this are one still picture: it is read once.
STILL_SIDE, STILL_DIFFERENCE = 320, 12
# Readings of a line in successive frames that are this alike are one line, read a little differently.
ALIKE = 0.85

_lock = Lock()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text in a picture, and how sure the recogniser is of it (0 to 1)."""

    text: str
    score: float


def threads() -> int:
    """Threads that the engine computes with: OMP_NUM_THREADS, otherwise the machine's cores, at most 4."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(int(setting) if setting.isdecimal() and int(setting) else 4, os.cpu_count() or 1))


@cache
def _engine(threads: int) -> Any:
    """The engine of this process; nothing is downloaded and nothing is printed.

    The classifier of upside-down lines stays off (``use_cls``): pictures come upright.

    Raises
    ------
    DataError
        If the installed wheel holds no models.
    """
    import rapidocr

    models = Path(rapidocr.__file__).parent / "models"
    files = {kind: sorted(models.glob(f"*_{kind}_*.onnx")) for kind in ("det", "rec")}
    if not all(files.values()):
        raise DataError(f"{models}: the installed rapidocr holds no recognition models; reinstall it (`pip install "
                        "--force-reinstall rapidocr`) or set ingest.ocr: false in params.yaml")
    # Given by path: named models would be looked for, and fetched if they are not there.
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Global.text_score": 0.0,
            "Global.max_side_len": MAX_SIDE,
            "Det.model_path": str(files["det"][-1]),
            "Rec.model_path": str(files["rec"][-1]),
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def ocr_version() -> str:
    """What the reading depends on, as part of a cache key."""
    from importlib.metadata import version

    return f"rapidocr {version('rapidocr')} {MIN_SCORE} {SHORT_LETTERS} {SHORT_MIN_SCORE} {MAX_SIDE}"


def read_lines(image: Image) -> list[Line]:
    """The lines of text in an RGB picture, from top to bottom, without those that are unlikely to be text."""
    import numpy as np

    return read_array(np.asarray(image), threads())


def read_array(pixels: np.ndarray, threads: int) -> list[Line]:
    """The lines of text in the pixels of an RGB picture, uint8 of shape (height, width, 3)."""
    import numpy as np

    with _lock:  # the engine keeps state between its steps
        output = _engine(threads)(np.ascontiguousarray(pixels[:, :, ::-1]))
    lines = (
        Line(" ".join(t.split()), float(s))
        for t, s in zip(getattr(output, "txts", None) or (), getattr(output, "scores", None) or (), strict=False)
    )
    return [x for x in lines if _is_text(x)]


def _is_text(line: Line) -> bool:
    letters = sum(c.isalnum() for c in line.text)
    return letters > 0 and line.score >= (SHORT_MIN_SCORE if letters <= SHORT_LETTERS else MIN_SCORE)


def read_words(image: Image, read: Callable[[Image], list[Line]] = read_lines) -> str:
    """The words of a picture as one string; empty if it shows none."""
    return " ".join(x.text for x in read(image))


def _read_now(image: Image) -> Future[list[Line]]:
    future: Future[list[Line]] = Future()
    future.set_result(read_lines(image))
    return future


def screen_cues(path: Path, duration: float, notes: list[str] | None = None,
                submit: Callable[[Image], Future[list[Line]]] = _read_now) -> tuple[Cue, ...]:
    """Text seen in a video's frames, one every 10 s as its leaves are looked at, as cues from the first to the last
    time that it was seen.

    Parameters
    ----------
    duration : float
        Seconds of the video to look at.
    notes : list of str, optional
        Gets a sentence if frames could not be decoded.
    submit : callable, optional
        Begins to read a frame, so that the next is decoded meanwhile; default: reads it at once.

    Raises
    ------
    MediaError
        If the file cannot be opened.
    """
    import numpy as np

    seen: list[tuple[float, Future[list[Line]]]] = []
    before: Any = None
    for frame in iterate_frames(path, frame_times(0.0, duration, FRAME_EVERY, limit=1 << 30), notes, MAX_SIDE):
        small = frame.image.convert("L")
        small.thumbnail((STILL_SIDE, STILL_SIDE))
        look = np.asarray(small).astype(np.int16)
        still = (
            before is not None and look.shape == before.shape and int(np.abs(look - before).max()) <= STILL_DIFFERENCE
        )
        seen.append((frame.moment, seen[-1][1] if still else submit(frame.image)))
        before = before if still else look
    return merge_lines([(moment, lines.result()) for moment, lines in seen])


def merge_lines(seen: Sequence[tuple[float, Sequence[Line]]]) -> tuple[Cue, ...]:
    """Lines by time into cues: a line that is in successive frames is one, lines of the same times are joined.

    A cue's ``start`` and ``end`` are the first and the last frame's time (equal for text seen once); of several
    readings of a line the surest counts.
    """
    closed: list[list[Any]] = []  # [first time, last time, line, order, frames]
    going: list[list[Any]] = []
    order = 0
    for time, lines in seen:
        still, unmatched = [], list(going)
        for line in lines:
            run = next((r for r in unmatched if _alike(r[2].text, line.text)), None)
            if run is None:
                run, order = [time, time, line, order, 0], order + 1
                closed.append(run)
            else:
                unmatched.remove(run)
            run[1], run[4] = time, run[4] + 1
            run[2] = max(run[2], line, key=lambda x: x.score)
            still.append(run)
        going = still
    many = len(seen) >= MARK_FRAMES
    cues: dict[tuple[float, float], list[str]] = {}
    for first, last, line, _, frames in sorted(closed, key=lambda r: r[3]):
        last = first if many and frames >= MARK_SHARE * len(seen) else last
        cues.setdefault((first, last), []).append(line.text)
    return tuple(Cue(a, b, " ".join(texts)) for (a, b), texts in sorted(cues.items()))


def _alike(a: str, b: str) -> bool:
    from difflib import SequenceMatcher

    a, b = ("".join(c for c in t.casefold() if c.isalnum()) for t in (a, b))
    if a == b:
        return True
    if any(c.isdigit() for c in a + b) and [c for c in a if c.isdigit()] != [c for c in b if c.isdigit()]:
        return False  # a counter, a date: another number is another text
    return SequenceMatcher(None, a, b, autojunk=False).ratio() >= ALIKE
