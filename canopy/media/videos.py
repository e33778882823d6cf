"""Videos through PyAV: what a file holds, and its frames at given times, whatever the container says about them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canopy.errors import MediaError
from canopy.media.container import (
    GO_ON_SECONDS,
    SEEK_BACK,
    Picture,
    PictureReader,
    damage,
    quarter_turn,
    square_pixels,
    turned,
)
from canopy.media.images import MAX_PIXELS

if TYPE_CHECKING:
    from PIL.Image import Image


FRAME_EVERY, FRAME_LIMIT = 10.0, 32
# Pictures may begin this much after the clock (the sound comes first), and the last one stays on for so long.
SLACK_SECONDS = 1.0
# Two times are the same within a microsecond: timestamps are fractions, the times asked for are decimal.
SAME = 1e-6
# A difference of the pictures' end from the container's that is worth a note.
TAIL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """What a video file holds, as measured.

    Parameters
    ----------
    duration : float
        Seconds from the container's start to the end of its last picture or sound.
    picture_end : float
        Seconds at which the pictures end; less than ``duration`` if the file is cut short or the sound goes on.
    width, height : int
        Pixels of a frame as shown (upright, square pixels).
    stream : int
        Number of the stream that is looked at.
    streams : tuple of str
        Every stream as ``kind/codec``, in file order.
    notes : tuple of str
        What a person should know: damage, several video streams, pictures that end early.
    """

    duration: float
    picture_end: float
    width: int
    height: int
    stream: int
    streams: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a video.

    ``time``: its own timestamp in seconds from the container's start, at most ``moment`` (the time
    that was asked for) unless the video's first frame comes a little later.
    """

    time: float
    image: Image = field(repr=False)
    moment: float


def frame_times(lo: float, hi: float, every: float = FRAME_EVERY, limit: int = FRAME_LIMIT) -> list[float]:
    """When a node of the seconds ``[lo, hi)`` is looked at: one frame every 10 s, at most 32, evenly thinned above
    that.

    The middle of each step of ``every`` seconds of the video (5, 15, 25, ...) that lies in the node, so that the frames
    of a node are among those of its parent and are decoded once; the middle of the node if none does. Above
    ``limit``, the middle ones of ``limit`` even groups.
    """
    first = max(0, math.ceil(lo / every - 0.5))
    count = math.ceil(hi / every - 0.5) - first
    if count <= 0:
        return [(lo + hi) / 2]
    chosen = range(count) if count <= limit else [(2 * i + 1) * count // (2 * limit) for i in range(limit)]
    return [(first + i + 0.5) * every for i in chosen]


def read_frames(
    path: Path, times: Sequence[float], notes: list[str] | None = None, max_side: int | None = None
) -> list[Frame]:
    """The frames shown at the given times, sorted by time, all held at once.

    `iterate_frames` says which and what is left out.
    """
    return list(iterate_frames(path, times, notes, max_side))


def iterate_frames(
    path: Path, times: Sequence[float], notes: list[str] | None = None, max_side: int | None = None
) -> Iterator[Frame]:
    """The frames shown at the given times, one after the other, sorted by time; at most two decoded frames are held.

    For each time the last frame that begins at or before it and has not ended, as a player would show it: sought from
    the key frame before it and decoded up to it. Upright by the container's rotation, pixels made square.

    Parameters
    ----------
    times : sequence of float
        Seconds from the container's start.
    notes : list of str, optional
        Gets a sentence if some times have no frame (damage, the end of the pictures); those times are left out.
    max_side : int, optional
        Frames are scaled down so that neither side is longer.

    Raises
    ------
    MediaError
        If the file is absent, cannot be opened or has no video stream.
    """
    missing: list[float] = []
    with PictureReader(path) as reader:
        pictures: Iterator[Picture] = iter(())
        frame: Picture | None = None
        ahead: Picture | None = None
        converted: tuple[Picture, Image] | None = None
        for time in sorted(times):
            at_end = frame is not None and ahead is None and not reader.broke_off
            if reader.is_past(time - SLACK_SECONDS) or (at_end and _current(frame, ahead, time, reader.step) is None):
                missing.append(time)
                continue
            position = ahead or frame
            if position is None or (reader.seekable and time - position.time > GO_ON_SECONDS):
                pictures, frame, ahead = _seek(reader, time)
            while ahead is not None and ahead.time <= time + SAME:
                frame, ahead = _better(frame, ahead), next(pictures, None)
            current = _current(frame, ahead, time, reader.step)
            if current is not None and (converted is None or converted[0] is not current):
                image = _image(current, reader, max_side)
                converted = None if image is None else (current, image)
            if current is None or converted is None:
                missing.append(time)
                continue
            yield Frame(current.time, converted[1], time)
    if missing and notes is not None:
        notes.append(
            f"{len(missing)} of {len(times)} frames cannot be decoded or lie past the last picture, the first at "
            f"{missing[0]:g} s"
        )


def _seek(reader: PictureReader, time: float) -> tuple[Iterator[Picture], Picture | None, Picture | None]:
    """What decodes from a key frame at or before a time: the pictures, none shown yet, the first one ahead."""
    silent = False
    for back in SEEK_BACK:
        if not reader.seekable or time - back <= 0:
            break
        targets = reader.from_time(time - back)
        first = next(targets, None)
        if first is not None and first.time <= time + SAME:
            return targets, None, first
        silent |= first is None
    if silent and reader.readable_end <= time:
        return iter(()), None, None
    if time > SEEK_BACK[1]:
        # seeking misleads here: one pass from the start serves this time and all that come after it
        reader.seekable = False
    pictures = reader.from_start()
    return pictures, None, next(pictures, None)


def _better(frame: Picture | None, ahead: Picture) -> Picture:
    """The later picture, unless it is damaged and the one before it is not.

    A player would rather go on showing that.
    """
    return frame if frame is not None and ahead.corrupt and not frame.corrupt else ahead


def _current(frame: Picture | None, ahead: Picture | None, time: float, step: float) -> Picture | None:
    """The picture on the screen at a time; None before the first and after the last one."""
    if frame is None:
        return ahead if ahead is not None and ahead.time - time <= SLACK_SECONDS else None
    ended = ahead is None and time > frame.time + max(frame.duration, step) + SLACK_SECONDS
    return None if ended else frame


def _image(picture: Picture, reader: PictureReader, max_side: int | None) -> Image | None:
    """RGB, upright, with square pixels; None if the frame cannot be converted."""
    frame = picture.frame
    if frame.width * frame.height > MAX_PIXELS:
        return None
    width, height = square_pixels(frame.width, frame.height, reader.stream.sample_aspect_ratio)
    shrink = min(1.0, max_side / max(width, height)) if max_side else 1.0
    try:
        image = frame.to_image(
            width=max(1, round(width * shrink)), height=max(1, round(height * shrink)), interpolation="BICUBIC"
        )
    except damage():
        return None
    return turned(image, frame)


def probe_video(path: Path) -> VideoFacts:
    """What a video file holds: its first and last pictures are decoded, the streams' clocks compared with the
    container's.

    ``duration`` is the later of the ends that the looked-at video stream and the sound state; if they state none, the
    container's; if that states none either, the end of the last packet in the file.

    Raises
    ------
    MediaError
        If the file is absent, is no video, has no video stream, or no picture of it decodes.
    """
    with PictureReader(path) as reader:
        # Of the opened file, before it is opened anew: a stream of a closed container must not be touched.
        streams = tuple(
            f"{s.type}/{s.codec_context.name if s.codec_context is not None else 'unknown'}"
            for s in reader.container.streams
        )
        picture_end, duration = _read_ends(reader)
        index, aspect = reader.stream.index, reader.stream.sample_aspect_ratio
        first = next(reader.from_start(), None)
        if first is None:
            raise MediaError(f"{path}: no picture of its video stream can be decoded; is the file complete?")
        width, height = square_pixels(first.frame.width, first.frame.height, aspect)
        if quarter_turn(first.frame):
            width, height = height, width
        if picture_end <= 0:
            picture_end = duration if duration > 0 else reader.readable_end
        duration = duration if duration > 0 else picture_end
        last = _last_picture(reader, picture_end)
    if last > picture_end:  # the file states too little
        picture_end, duration = last, max(last, duration)
    notes = []
    if (watched := sum(s.startswith("video/") for s in streams)) > 1:
        notes.append(f"{watched} video streams: number {index} is looked at")
    if last < picture_end - TAIL_SECONDS:
        notes.append(
            f"the file says {picture_end:.1f} s of pictures, but none decodes after {last:.1f} s: it is damaged or "
            "cut short"
        )
        picture_end = last
    elif duration - picture_end > TAIL_SECONDS:
        notes.append(f"the pictures end at {picture_end:.1f} s of {duration:.1f} s")
    return VideoFacts(duration, picture_end, width, height, index, streams, tuple(notes))


def _read_ends(reader: PictureReader) -> tuple[float, float]:
    """The ends in seconds that the file states for its pictures and for everything that is played.

    0 if it states none.
    """
    def end(stream: Any) -> float:
        if not stream.duration or not stream.time_base:
            return 0.0
        begin = float((stream.start_time or 0) * stream.time_base) - reader.start
        return begin + float(stream.duration * stream.time_base)

    sounds = [end(s) for s in reader.container.streams.audio]
    pictures = end(reader.stream)
    whole = (reader.container.duration or 0) / 1e6
    # Matroska states when its clock stops, the others how long it runs.
    whole = max(0.0, whole - reader.start if "matroska" in reader.container.format.name else whole)
    return pictures, max(pictures, *sounds, 0.0) if pictures > 0 and all(x > 0 for x in sounds) else whole


def _last_picture(reader: PictureReader, stated_end: float) -> float:
    """Where the last picture that decodes ends.

    Looked for near the stated end, else after the last packets that can be read.
    """
    for end in (stated_end, None):
        if end is None:
            end = min(stated_end, reader.readable_end)
        pictures, _, last = _seek(reader, max(0.0, end - TAIL_SECONDS / 2))
        for picture in pictures:
            last = picture
        if last is not None:
            # A last frame may stay on for long, but only the file's own statement is taken for it: frames' durations
            # can be made up.
            return last.time + max(reader.step, min(last.duration, stated_end - last.time))
    return 0.0
