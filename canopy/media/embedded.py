"""Subtitles inside a video container, as plain words."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from canopy.items import Cue
from canopy.media.container import clock_start, damage, open_container

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.subtitles.stream import SubtitleStream

TEXT_CODECS = frozenset(
    {
        "mov_text",
        "subrip",
        "srt",
        "webvtt",
        "ass",
        "ssa",
        "text",
        "ttml",
        "sami",
        "realtext",
        "microdvd",
        "subviewer",
        "stl",
    }
)
# A cue whose container gives it no end is shown until the next one, but no longer than this.
OPEN_SECONDS = 5.0
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9][^{}]*\}.*?(?:\{[^{}]*\\p0[^{}]*\}|$)", re.S)
_OVERRIDE = re.compile(r"\{[^{}]*\}")


def embedded_cues(path: Path) -> tuple[Cue, ...]:
    """The subtitles of a container's text subtitle stream, sorted by start; empty if there is none (pictures of text
    are not read).

    Of several text streams the default one that is neither forced nor made for the hard of hearing, else the first of
    the rest; the next one if that holds no words. Times are seconds from the container's start; a cue before it is
    left out.

    Raises
    ------
    MediaError
        If the file is absent or cannot be opened.
    """
    with open_container(path) as container:
        indices = [s.index for s in sorted(_text_streams(container), key=_preference)]
    for index in indices:
        with open_container(path) as container:
            cues = _read(container, cast("SubtitleStream", container.streams[index]))
        if cues:
            return cues
    return ()


def _text_streams(container: InputContainer) -> list[SubtitleStream]:
    return [
        s for s in container.streams.subtitles if s.codec_context is not None and s.codec_context.name in TEXT_CODECS
    ]


def _preference(stream: SubtitleStream) -> tuple[bool, bool, bool, int]:
    from av.stream import Disposition as D

    disposition = stream.disposition
    return (
        bool(disposition & D.forced),
        bool(disposition & D.hearing_impaired),
        not disposition & D.default,
        stream.index,
    )


def _read(container: InputContainer, stream: SubtitleStream) -> tuple[Cue, ...]:
    from av.stream import Discard

    for other in container.streams:
        if other is not stream:
            other.discard = Discard.all
    start = clock_start(container)
    events: list[tuple[float, float | None, str]] = []
    try:
        for packet in container.demux(stream):
            if packet.pts is None or not packet.size:
                continue
            begin = float(packet.pts * packet.time_base) - start
            try:
                decoded = stream.decode2(packet)
            except damage():
                continue
            if decoded is None:
                continue
            words = " ".join(w for w in (plain_words(getattr(r, "ass", b"")) for r in decoded) if w)
            if not words:
                continue
            end = float((packet.pts + (packet.duration or 0)) * packet.time_base) - start
            if end <= begin and 0 < decoded.end_display_time < 1 << 31:
                end = begin + decoded.end_display_time / 1000
            events.append((begin, end if end > begin else None, words))
    except damage():
        pass  # a damaged tail: the cues before it stand
    events.sort(key=lambda c: c[0])
    cues = []
    for (begin, stated, words), following in zip(events, [*(f[0] for f in events[1:]), math.inf], strict=False):
        end = min(following, begin + OPEN_SECONDS) if stated is None else stated
        if end >= 0:
            cues.append(Cue(max(0.0, begin), end, words))
    return tuple(sorted(cues, key=lambda c: (c.start, c.end)))


def plain_words(event: bytes) -> str:
    """The words of an ASS event (the form in which FFmpeg hands over every text subtitle).

    Override tags and drawings go, breaks are spaces.
    """
    line = event.decode("utf-8", "replace")
    text = line.split(",", 8)[8] if line.count(",") >= 8 else line
    text = _OVERRIDE.sub("", _DRAWING.sub("", text))
    for mark in (r"\\N", r"\\n", r"\\h"):
        text = re.sub(mark, " ", text)
    return " ".join(text.replace("\x00", " ").split())
