"""Frames come from the right stream, at the right time, the right way up, whatever the container says or lacks."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.errors import MediaError
from canopy.media.embedded import embedded_cues, plain_words
from canopy.media.videos import frame_times, iterate_frames, probe_video, read_frames
from tests.media.making import number_of, numbered, write_video

REGULAR = [i / 25 for i in range(250)]
UNEVEN = [0, 0.04, 0.1, 0.5, 3, 3.04, 7, 7.5, 9.9]


def shown_at(stamps: list[float], time: float) -> int:
    return bisect_right(stamps, time + 1e-6) - 1


@pytest.fixture(scope="module")
def noisy() -> list[np.ndarray]:
    """Numbered frames with noise, so that the file is long enough to be cut in two."""
    rng = np.random.default_rng(1)
    return [
        np.clip(numbered(i).astype(int) + rng.integers(-40, 40, (96, 160, 3)), 0, 255).astype(np.uint8)
        for i in range(len(REGULAR))
    ]


@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv", "a.ts", "a.webm"])
@pytest.mark.parametrize("stamps", [REGULAR, UNEVEN], ids=["even", "uneven"])
def test_the_frame_on_the_screen_at_a_time_is_given(tmp_path: Path, name: str, stamps: list[float]) -> None:
    path = write_video(tmp_path / name, stamps, codec="libvpx" if name.endswith("webm") else "libx264")
    times = [0.0, 0.05, 2.9, 3.0, 4.999, 5.0, 6.9, 8.0, 9.9]
    frames = read_frames(path, times[::-1])
    assert [f.moment for f in frames] == times
    for frame in frames:
        want = shown_at(stamps, frame.moment)
        assert number_of(frame.image) == want
        assert frame.time == pytest.approx(stamps[want], abs=2e-3)
    facts = probe_video(path)
    assert (facts.width, facts.height) == (160, 96) and facts.picture_end == pytest.approx(9.97, abs=1.0)


@pytest.mark.parametrize("gop", [1, 250])
def test_key_frames_may_be_everywhere_or_only_at_the_start(tmp_path: Path, gop: int) -> None:
    path = write_video(tmp_path / "a.mp4", REGULAR, gop=gop)
    assert [number_of(f.image) for f in read_frames(path, [9.0, 1.0, 5.0, 5.04, 5.0])] == [25, 125, 125, 126, 225]


def test_a_time_past_the_last_picture_has_no_frame_and_is_told(tmp_path: Path) -> None:
    notes: list[str] = []
    path = write_video(tmp_path / "a.mkv", REGULAR)
    assert [f.moment for f in read_frames(path, [5, 30, 400], notes)] == [5]
    assert notes == ["2 of 3 frames cannot be decoded or lie past the last picture, the first at 30 s"]


@pytest.mark.parametrize("name", ["a.ts", "a.mkv", "a.mp4"])
def test_a_clock_that_starts_late_counts_from_its_start(tmp_path: Path, name: str) -> None:
    path = write_video(tmp_path / name, REGULAR, start=7.2)
    assert probe_video(path).duration == pytest.approx(10, abs=0.2)
    assert [number_of(f.image) for f in read_frames(path, [0, 5])] == [0, 125]


@pytest.mark.parametrize(("degrees", "turned"), [(90, True), (180, False), (270, True), (-90, True)])
def test_rotation_metadata_turns_the_picture(tmp_path: Path, degrees: int, turned: bool) -> None:
    path = write_video(tmp_path / "a.mp4", REGULAR[:30], rotate=degrees)
    facts = probe_video(path)
    assert (facts.width, facts.height) == ((96, 160) if turned else (160, 96))
    with av.open(str(path)) as container:
        # degrees counterclockwise, as FFmpeg reads it
        angle = next(container.decode(container.streams.video[0])).rotation
    frame = read_frames(path, [0.52])[0].image
    assert frame.size == (facts.width, facts.height)
    assert number_of(frame.rotate(-angle, expand=True)) == 13


def test_wide_pixels_are_made_square_and_frames_scaled_down(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "a.mp4"), "w") as out:
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        stream.codec_context.sample_aspect_ratio = 2
        for i in range(25):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(numbered(i), format="rgb24")))
        out.mux(stream.encode(None))
    facts = probe_video(tmp_path / "a.mp4")
    assert (facts.width, facts.height) == (320, 96) == read_frames(tmp_path / "a.mp4", [0])[0].image.size
    assert read_frames(tmp_path / "a.mp4", [0], max_side=80)[0].image.size == (80, 24)


def test_sound_before_the_pictures_and_beyond_their_end(tmp_path: Path) -> None:
    facts = probe_video(write_video(tmp_path / "a.mp4", REGULAR, audio=20))
    assert facts.streams == ("audio/aac", "video/h264") and facts.stream == 1
    assert facts.duration == pytest.approx(20, abs=0.2) and facts.picture_end == pytest.approx(10, abs=0.1)
    assert facts.notes == ("the pictures end at 10.0 s of 20.0 s",)


def test_a_cover_picture_is_not_the_video(tmp_path: Path) -> None:
    from av.stream import Disposition

    def write(path: Path, film: bool) -> Path:
        with av.open(str(path), "w") as out:
            cover = out.add_stream("mjpeg", rate=1)
            cover.width, cover.height, cover.pix_fmt, cover.disposition = 640, 480, "yuvj420p", Disposition.attached_pic
            sound = out.add_stream("aac", rate=8000, layout="mono")
            streams = [cover]
            if film:
                stream = out.add_stream("libx264", rate=25)
                stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
                streams.append(stream)
            for s in streams:
                for i in range(1 if s is cover else 50):
                    out.mux(s.encode(av.VideoFrame.from_ndarray(numbered(i, s.width, s.height), format="rgb24")))
                out.mux(s.encode(None))
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            frame.rate = 8000
            out.mux(sound.encode(frame))
            out.mux(sound.encode(None))
        return path

    facts = probe_video(write(tmp_path / "film.mp4", film=True))
    assert (facts.width, facts.height) == (160, 96)
    assert number_of(read_frames(tmp_path / "film.mp4", [1])[0].image) == 25
    with pytest.raises(MediaError, match="no video stream in it but a cover picture"):
        probe_video(write(tmp_path / "song.mp4", film=False))


def test_missing_durations_are_measured(tmp_path: Path, noisy: list[np.ndarray]) -> None:
    pipe = write_video(tmp_path / "live.webm", REGULAR, codec="libvpx", options={"live": "1"})
    with av.open(str(pipe)) as container:
        assert not container.duration
    assert probe_video(pipe).duration == pytest.approx(10, abs=0.1)
    fragments = write_video(
        tmp_path / "frag.mp4", REGULAR, options={"movflags": "frag_keyframe+empty_moov"}, pictures=noisy
    )
    assert probe_video(fragments).duration == pytest.approx(10, abs=0.1)
    with av.open(str(tmp_path / "raw.h264"), "w", format="h264") as out:  # no clock at all
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        for i in range(100):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(numbered(i), format="rgb24")))
        out.mux(stream.encode(None))
    assert probe_video(tmp_path / "raw.h264").duration == pytest.approx(4, abs=0.1)
    assert [number_of(f.image) for f in read_frames(tmp_path / "raw.h264", [0, 1, 2, 3.5])] == [0, 25, 50, 87]


@pytest.mark.parametrize(("name", "options"), [("a.mp4", {"movflags": "faststart"}), ("a.mkv", {}), ("a.ts", {})])
def test_of_a_file_cut_short_what_decodes_is_used(
    tmp_path: Path, noisy: list[np.ndarray], name: str, options: dict[str, str]
) -> None:
    path = write_video(tmp_path / name, REGULAR, options=options, pictures=noisy)
    path.write_bytes(path.read_bytes()[:path.stat().st_size * 6 // 10])
    facts, notes = probe_video(path), []
    assert 5 < facts.picture_end < 7
    if name != "a.ts":  # its length is nowhere stated, only counted
        assert facts.duration == pytest.approx(10, abs=0.1) and "it is damaged or cut short" in facts.notes[0]
    frames = read_frames(path, [0.5, 3, 5, 8, 9], notes)
    assert [number_of(f.image) for f in frames] == [12, 75, 125]
    assert notes == ["2 of 5 frames cannot be decoded or lie past the last picture, the first at 8 s"]


def test_damage_in_the_middle_costs_only_what_it_hits(tmp_path: Path, noisy: list[np.ndarray]) -> None:
    path = write_video(tmp_path / "a.ts", REGULAR, pictures=noisy)
    data = bytearray(path.read_bytes())
    data[len(data) * 4 // 10:len(data) * 5 // 10] = bytes(len(data) // 10)
    path.write_bytes(data)
    frames = {f.moment: number_of(f.image) for f in read_frames(path, [1, 2, 7, 8, 9])}
    assert frames == {1: 25, 2: 50, 7: 175, 8: 200, 9: 225}


@pytest.mark.parametrize(("data", "reason"), [
    (b"", "the file is empty"), (b"<html>no</html>", "a web page"), (b"\x00" * 5000, "not a video that can be read"),
    (b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:9,\nfile:///etc/passwd\n", "not a video that can be read"),
    (b"ffconcat version 1.0\nfile /etc/passwd\n", "not a video that can be read"),
])
def test_what_is_no_video_is_refused_with_its_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.mp4").write_bytes(data)
    for read in (probe_video, lambda p: read_frames(p, [0]), embedded_cues):
        with pytest.raises(MediaError, match=f"a.mp4: .*{reason}"):
            read(tmp_path / "a.mp4")
    with pytest.raises(MediaError, match="no such file"):
        probe_video(tmp_path / "concat:gone")


def test_a_header_without_its_pictures_is_refused(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", REGULAR, options={"movflags": "faststart"})
    data = path.read_bytes()
    path.write_bytes(data[:data.index(b"mdat") + 8])
    with pytest.raises(MediaError, match="no picture of its video stream can be decoded"):
        probe_video(path)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
def test_embedded_subtitles_are_plain_words(tmp_path: Path, name: str) -> None:
    words = [(1, 2, r"Hello {\i1}you{\i0}\Nthere"), (5, 6.5, "a, b, c")]
    cues = embedded_cues(write_video(tmp_path / name, REGULAR, subtitles=words))
    assert [(c.start, c.end, c.text) for c in cues] == [(1, 2, "Hello you there"), (5, 6.5, "a, b, c")]
    assert embedded_cues(write_video(tmp_path / "none.mp4", REGULAR[:10])) == ()


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (rb"0,0,Default,Ada,0,0,0,,{\pos(1,2)}One, {\b1}two{\b0}\hthree\Nfour", "One, two three four"),
        (rb"0,0,Default,,0,0,0,,{\p1}m 0 0 l 9 9{\p0}seen", "seen"),
        (rb"0,0,Default,,0,0,0,,{\p1}m 0 0 l 9 9", ""),
        (b"plain, words", "plain, words"),
        (b"0,0,Default,,0,0,0,,caf\xe9\x00", "caf\ufffd"),
        (b"", ""),
    ],
)
def test_events_lose_their_markup(event: bytes, words: str) -> None:
    assert plain_words(event) == words


def test_when_a_node_is_looked_at() -> None:
    assert frame_times(0, 30) == [5, 15, 25]
    assert frame_times(150, 190) == [155, 165, 175, 185]
    assert frame_times(0, 6.2) == [5] and frame_times(0, 4) == [2] and frame_times(16, 24) == [20]
    assert frame_times(0, 320) == [5 + 10 * i for i in range(32)]
    thinned = frame_times(0, 640)
    assert len(thinned) == 32 and {round(b - a) for a, b in zip(thinned, thinned[1:], strict=False)} == {20}


@given(st.floats(0, 10_000), st.floats(0.01, 10_000))
def test_frames_of_a_node_lie_in_it_evenly_and_are_its_parents_too(lo: float, length: float) -> None:
    times = frame_times(lo, lo + length)
    assert 1 <= len(times) <= 32 and times == sorted(set(times))
    assert all(lo <= t < lo + length or len(times) == 1 for t in times)
    steps = [b - a for a, b in zip(times, times[1:], strict=False)]
    assert not steps or max(steps) - min(steps) <= 10 + 1e-6
    if 15 <= length <= 300:
        halves = [*frame_times(lo, lo + length / 2), *frame_times(lo + length / 2, lo + length)]
        assert all(t in times or len(halves) > len(times) for t in halves)


def test_frames_are_given_one_by_one(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", REGULAR)
    frames = iterate_frames(path, [1, 2, 3])
    assert next(frames).moment == 1
    path.unlink()  # the file is open; nothing more than the next frame has been decoded
    assert [f.moment for f in frames] == [2, 3]


@pytest.mark.parametrize(
    ("name", "stream", "duration", "end"),
    [
        ("mdn-interactive-examples/cc0-videos/friday.mp4", 1, 6.166, 6.166),
        ("torchcodec/nasa_13013.mp4", 3, 13.056, 13.013),
    ],
)
def test_real_videos_show_the_frame_that_their_container_says(
    real_data: Path, name: str, stream: int, duration: float, end: float
) -> None:
    path = real_data / "media" / name
    facts = probe_video(path)
    assert (facts.stream, facts.duration, facts.picture_end) == (
        stream,
        pytest.approx(duration, abs=1e-3),
        pytest.approx(end, abs=1e-3),
    )
    # every frame's own timestamp, by decoding the stream from its start to its end
    with av.open(str(path)) as container:
        every = [(f.time, f.to_image()) for f in container.decode(container.streams[stream])]
    stamps = [t for t, _ in every]
    for frame in read_frames(path, [0.3, 1.0, 2.5, 5.0, end - 0.01]):
        want = shown_at(stamps, frame.moment)
        assert frame.time == pytest.approx(stamps[want], abs=1e-6) and 0 <= frame.moment - frame.time < 0.1
        assert np.abs(np.asarray(frame.image, np.int16) - np.asarray(every[want][1], np.int16)).mean() < 2


def test_the_embedded_subtitles_of_a_real_video(real_data: Path) -> None:
    cues = embedded_cues(real_data / "media/torchcodec/nasa_13013.mp4")
    assert [(c.start, c.end) for c in cues] == [(0.21, 4.26), (4.26, 8.35), (8.35, 12.47), (12.47, 16.57)]
    assert cues[2].text == "at NASA\u2019s Goddard Space Flight Center in Greenbelt, Maryland."
    assert embedded_cues(real_data / "media/mdn-interactive-examples/cc0-videos/friday.mp4") == ()
