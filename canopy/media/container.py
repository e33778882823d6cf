"""A video file opened for reading: the right stream of it, its clock, and its decoded frames from a given time on."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from canopy.errors import MediaError
from canopy.media.images import MAX_PIXELS, describe_other

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream
    from PIL.Image import Image

# Containers that hold their own data. Playlists (HLS, concat) are left out: they would open whatever files or addresses
# they name.
FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,asf,flv,ogg,gif,apng,webp_anim,mxf,nut,ivf,"
    "h264,hevc,av1,obu,m4v,mjpeg,rm,wtv,dv,yuv4mpegpipe"
)
THREADS = min(4, os.cpu_count() or 1)
# Seeks that land after the wanted time (a wrong index) are tried again so many seconds earlier, and last from the very
# start.
SEEK_BACK = (0.0, 3.0, 15.0, 60.0)
# Going on costs less than a seek, which lands on a key frame that may be seconds before.
GO_ON_SECONDS = 2.0


@dataclass(slots=True)
class Picture:
    """A decoded frame.

    Seconds from the container's start, how long it says it is shown (0 if unknown), whether it is damaged.
    """

    time: float
    duration: float
    corrupt: bool
    frame: VideoFrame = field(repr=False)


def open_container(path: Path) -> InputContainer:
    """The file as a PyAV container; MediaError if it is absent or nothing in it can be read."""
    import av

    try:
        # The absolute path, since a name such as "concat:a|b" would otherwise be read as a protocol.
        return av.open(
            str(path.absolute()),
            metadata_errors="replace",
            container_options={"format_whitelist": FORMATS, "protocol_whitelist": "file"},
        )
    except FileNotFoundError:
        raise MediaError(f"{path}: no such file") from None
    except damage() as e:
        raise MediaError(
            f"{path}: {describe_other(path) or f'not a video that can be read: {reason(e)}; is the file complete?'}"
        ) from None


def damage() -> tuple[type[BaseException], ...]:
    """What PyAV raises on files that are damaged or odd (IndexError: a stream that turns up midway).

    Needs PyAV, hence a function.
    """
    import av

    return (
        av.FFmpegError,
        OSError,
        ValueError,
        IndexError,
        OverflowError,
        TypeError,
        RuntimeError,
        MemoryError,
        EOFError,
    )


def reason(error: BaseException) -> str:
    """What FFmpeg says, without the path that it repeats."""
    return str(getattr(error, "strerror", "") or error or type(error).__name__)[:160]


def video_stream(container: InputContainer, path: Path) -> VideoStream:
    """The stream people watch: FFmpeg's best one, unless that is a cover picture or a thumbnail track.

    MediaError if there is none.
    """
    from av.stream import Disposition

    unfit = Disposition.attached_pic | Disposition.timed_thumbnails | Disposition.dependent
    fit = [s for s in container.streams.video if not s.disposition & unfit]
    if not fit:
        raise MediaError(f"{path}: no video stream in it" + (" but a cover picture" if container.streams.video else ""))
    best = container.streams.best("video")
    if best not in fit:
        best = max(fit, key=lambda s: (bool(s.disposition & Disposition.default), s.frames, _pixels(s), -s.index))
    if best.codec_context is None:
        raise MediaError(f"{path}: no decoder for its video stream (encrypted, or a codec that FFmpeg does not know)")
    if _pixels(best) > MAX_PIXELS:
        size = f"{best.codec_context.width} x {best.codec_context.height}"
        raise MediaError(f"{path}: frames of {size} pixels, more than the {MAX_PIXELS:,} allowed")
    return best


def _pixels(stream: VideoStream) -> int:
    context = stream.codec_context
    return context.width * context.height if context is not None else 0


def clock_start(container: InputContainer) -> float:
    """Seconds that the container's clock shows at the start of what is played.

    Recordings of broadcasts start anywhere. A clock that starts below 0 only holds samples that are cut off (audio
    priming).
    """
    return max(0.0, (container.start_time or 0) / 1e6)


class PictureReader:
    """Decodes one video stream forwards from any time, through whatever damage there is; holds one frame at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seekable = True
        self.broke_off = False
        self._readable_end: float | None = None
        self._open()

    def _open(self) -> None:
        from av.stream import Discard

        self.container = open_container(self.path)
        try:
            self.stream = video_stream(self.container, self.path)
        except BaseException:
            self.container.close()
            raise
        self.stream.codec_context.options = {"max_pixels": str(MAX_PIXELS)}  # also if the size changes midway
        self.stream.thread_type = "AUTO"
        self.stream.codec_context.thread_count = THREADS
        for other in self.container.streams:
            if other is not self.stream:
                other.discard = Discard.all
        self.start = clock_start(self.container)
        self.time_base = self.stream.time_base or Fraction(1, 1_000_000)

    def __enter__(self) -> PictureReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.container.close()

    @property
    def step(self) -> float:
        """Seconds between two frames by the stream's own account; 1/25 if it gives none."""
        rate = self.stream.average_rate or self.stream.guessed_rate
        return float(1 / rate) if rate else 0.04

    def from_start(self, skip: Literal["NONREF"] | None = None) -> Iterator[Picture]:
        """Everything that decodes, from the first packet of a freshly opened file.

        ``skip`` as FFmpeg's skip_frame (NONREF).
        """
        self.container.close()
        self._open()
        if skip:
            self.stream.codec_context.skip_frame = skip
        return self._decode()

    def from_time(self, seconds: float) -> Iterator[Picture]:
        """What decodes from the last key frame before a time on.

        Nothing, and ``seekable`` is off, if the file cannot be sought in.
        """
        try:
            self.container.seek(round((seconds + self.start) / self.time_base), stream=self.stream)
        except damage():
            self.seekable = False
            return iter(())
        return self._decode()

    def _decode(self) -> Iterator[Picture]:
        count = 0
        packets = self.container.demux(self.stream)
        while True:
            try:
                packet = next(packets, None)
            except damage():
                self.broke_off = True  # nothing further can be read from here, but the decoder still holds frames
                packet = None
            try:
                frames: list[Any] = self.stream.decode(packet)
            except damage():
                frames = []
            for frame in frames:
                yield Picture(
                    self._time(frame, count),
                    float((frame.duration or 0) * (frame.time_base or 0)),
                    bool(frame.is_corrupt),
                    frame,
                )
                count += 1
            if packet is None:
                return

    def _time(self, frame: VideoFrame, count: int) -> float:
        """Seconds from the container's start; by counting if a raw stream has no timestamps."""
        stamp = frame.pts if frame.pts is not None else frame.dts
        if stamp is None or not frame.time_base:
            return count * self.step
        return float(stamp * frame.time_base) - self.start

    def is_past(self, seconds: float) -> bool:
        """Whether a time is known to lie past the last packet that can be read; finds nothing out."""
        return self._readable_end is not None and seconds >= self._readable_end

    @property
    def readable_end(self) -> float:
        """The end in seconds of the last packet that can be read, found without decoding.

        Ends whatever is being decoded.
        """
        if self._readable_end is None:
            self.container.close()
            self._open()
            end, count = 0.0, 0
            try:
                for packet in self.container.demux(self.stream):
                    if packet.size:
                        count += 1
                        if packet.pts is not None and packet.time_base:
                            end = max(end, float((packet.pts + (packet.duration or 0)) * packet.time_base) - self.start)
            except damage():
                pass  # what follows cannot be read
            self._readable_end = end or count * self.step
        return self._readable_end


def square_pixels(width: int, height: int, aspect: Fraction | None) -> tuple[int, int]:
    """The size of a frame once its pixels are made square (anamorphic recordings store wide pixels)."""
    if not aspect or aspect <= 0 or aspect == 1 or not 0.1 < aspect < 10:
        return width, height
    return max(1, round(width * aspect)), height


def _matrix(frame: VideoFrame) -> tuple[int, int, int, int]:
    """The container's 2 x 2 turn of the frame, each entry -1, 0 or 1.

    The identity if there is none or it is no multiple of 90 degrees.
    """
    from av.sidedata.sidedata import SideDataContainer, Type

    side_data = cast(SideDataContainer, frame.side_data)  # the stubs know another key type
    try:
        values = struct.unpack("=9i", bytes(side_data[Type.DISPLAYMATRIX])[:36])
    except (KeyError, struct.error):
        return 1, 0, 0, 1
    a, b, c, d = ((v > 1 << 14) - (v < -(1 << 14)) for v in (values[0], values[1], values[3], values[4]))
    return (a, b, c, d) if abs(a * d - b * c) == 1 else (1, 0, 0, 1)


def quarter_turn(frame: VideoFrame) -> bool:
    """Whether the frame is shown on its side, so that width and height change places."""
    return _matrix(frame)[0] == 0


def turned(image: Image, frame: VideoFrame) -> Image:
    """The picture as the container says it is to be shown: turned by quarters, mirrored."""
    from PIL.Image import Transpose as T

    # Entries a, b, c, d send the stored (x, y) to (a x + c y, b x + d y).
    turn = {
        (0, 1, -1, 0): T.ROTATE_270,
        (-1, 0, 0, -1): T.ROTATE_180,
        (0, -1, 1, 0): T.ROTATE_90,
        (-1, 0, 0, 1): T.FLIP_LEFT_RIGHT,
        (1, 0, 0, -1): T.FLIP_TOP_BOTTOM,
        (0, 1, 1, 0): T.TRANSPOSE,
        (0, -1, -1, 0): T.TRANSVERSE,
    }.get(_matrix(frame))
    return image if turn is None else image.transpose(turn)
