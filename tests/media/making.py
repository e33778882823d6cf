"""Small images and videos made on the spot.

Each frame shows its own number as black and white bars, so that a test can read which one it got.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image

BARS = 10


def numbered(number: int, width: int = 160, height: int = 96) -> np.ndarray:
    """An RGB frame that holds a number in binary: bar i is white where bit i is set."""
    bars = np.array([255 if number >> i & 1 else 0 for i in range(BARS)], dtype=np.uint8)
    return np.repeat(np.repeat(np.repeat(bars, width // BARS)[None, :, None], height, axis=0), 3, axis=2)


def number_of(image: Image.Image) -> int:
    """The number that a frame shows."""
    row = np.asarray(image.convert("L"))[image.height // 2]
    width = image.width // BARS
    return sum(1 << i for i in range(BARS) if row[i * width + width // 2] > 127)


def write_video(
    path: Path,
    times: Sequence[float],
    *,
    gop: int = 12,
    codec: str = "libx264",
    rotate: int = 0,
    start: float = 0.0,
    audio: float = 0.0,
    pictures: Sequence[np.ndarray] | None = None,
    subtitles: Sequence[tuple[float, float, str]] = (),
    options: dict[str, str] | None = None,
) -> Path:
    """A video whose frame i is shown from ``start + times[i]`` on; ``audio``.

    So many seconds of silence in a stream before the video.
    """
    import av

    with av.open(str(path), "w", options=options or {}) as out:
        sound = out.add_stream("aac", rate=8000, layout="mono") if audio else None
        stream = out.add_stream(
            codec, rate=25, options={"g": str(gop), "bf": "2"} if codec == "libx264" else {"g": str(gop)}
        )
        first = pictures[0] if pictures is not None else numbered(0)
        stream.height, stream.width = first.shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        words = None
        if subtitles:
            words = out.add_stream("subrip" if path.suffix == ".mkv" else "mov_text")
            words.codec_context.subtitle_header = (
                b"[Script Info]\r\nScriptType: v4.00+\r\n\r\n[V4+ Styles]\r\n"
                b"Format: Name, Fontname\r\nStyle: Default,Arial\r\n\r\n"
                b"[Events]\r\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\r\n"
            )
            words.time_base = Fraction(1, 1000)
        if rotate:
            stream.set_display_rotation(rotate)
        if sound is not None:
            for i in range(int(audio * 8000) // 1024):
                frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
                frame.rate, frame.pts = 8000, i * 1024
                for packet in sound.encode(frame):
                    out.mux(packet)
            out.mux(sound.encode(None))
        for i, time in enumerate(times):
            frame = av.VideoFrame.from_ndarray(pictures[i] if pictures is not None else numbered(i), format="rgb24")
            frame.pts, frame.time_base = round((start + time) * 1000), Fraction(1, 1000)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
        if words is not None:
            from av.subtitles.subtitle import SubtitleSet

            for i, (begin, end, text) in enumerate(subtitles):
                event = SubtitleSet.create(
                    text=f"{i},0,Default,,0,0,0,,{text}".encode(),
                    start=0,
                    end=round((end - begin) * 1000),
                    pts=round(begin * 1_000_000),
                )
                packet = words.codec_context.encode_subtitle(event)
                packet.stream, packet.time_base = words, Fraction(1, 1000)
                packet.pts = packet.dts = round(begin * 1000)
                packet.duration = round((end - begin) * 1000)
                out.mux(packet)
    return path
