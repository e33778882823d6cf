"""Segments of a video that end where shots or subtitles do.

Always a tiling, never much longer than asked, the fixed rule untouched.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from canopy.encoder.words import item_pieces, region_text, segment_words
from canopy.hierarchy.leaves import cut_item, snapped_bounds
from canopy.ingest.subtitles import parse_cues
from canopy.items import Cue, Item
from canopy.media.shots import shot_cuts, subtitle_cuts
from tests.media.making import write_video

DURATIONS = st.floats(0, 20_000, allow_nan=False)
SECONDS = st.floats(1, 300)
CUTS = st.lists(st.floats(-10, 21_000), max_size=60).map(lambda c: tuple(sorted(c)))


def video(duration: float, cuts: tuple[float, ...] = (), **more: object) -> Item:
    return Item("v", "b", "video", duration=duration, cuts=cuts, **more)


@given(DURATIONS, CUTS.filter(bool), SECONDS)
def test_snapped_segments_tile_the_video_and_keep_their_length(
    duration: float, cuts: tuple[float, ...], seconds: float
) -> None:
    bounds = cut_item(video(duration, cuts), seconds).bounds
    assert bounds == snapped_bounds(duration, cuts, seconds)
    assert bounds[0] == 0 and bounds[-1] == max(duration, 1e-3)
    lengths = np.diff(bounds)
    slack = 1e-9 * max(1.0, duration)
    assert (lengths > 0).all()
    assert all(seconds / 2 - slack <= x <= seconds + slack for x in lengths[:-1])
    assert lengths[-1] < 1.5 * seconds + slack and (len(lengths) == 1 or lengths[-1] >= seconds / 2 - slack)
    # A bound is a cut, or the segment before it is as long as it may be because no cut lay in reach.
    for a, b in zip(bounds[:-2], bounds[1:-1], strict=True):
        reach = [c for c in cuts if a + seconds / 2 <= c <= a + seconds]
        assert b == (max(reach) if reach else a + seconds)


@given(DURATIONS, SECONDS)
def test_without_cuts_the_rule_is_the_fixed_one(duration: float, seconds: float) -> None:
    bounds = cut_item(video(duration), seconds).bounds
    count = max(1, math.floor(duration / seconds))
    assert len(bounds) == count + 1 and bounds[:-1] == tuple(i * seconds for i in range(count))


def test_segments_by_example() -> None:
    assert cut_item(video(190.0)).bounds == (0, 30, 60, 90, 120, 150, 190)
    assert cut_item(video(100.0, (10.0, 20.0, 28.0, 55.0, 99.0))).bounds == (0, 28, 55, 85, 100)
    assert cut_item(video(44.0, (20.0, 29.5))).bounds == (0, 44), "less than half a segment would be left"
    assert cut_item(video(46.0, (20.0, 29.5))).bounds == (0, 29.5, 46)
    assert cut_item(video(20.0, (10.0,))).bounds == (0, 20)


@given(st.lists(st.tuples(st.floats(0, 500), st.floats(0, 20)), max_size=40))
def test_cuts_of_subtitles_lie_in_no_cue(spans: list[tuple[float, float]]) -> None:
    cues = [Cue(a, a + length, "x") for a, length in spans]
    cuts = subtitle_cuts(cues)
    assert list(cuts) == sorted(set(cuts))
    assert not any(c.start + 1e-3 < cut < c.end - 1e-3 for c in cues for cut in cuts)
    if len({c.start for c in cues}) == len(cues) and all(
        b.start > a.end
        for a, b in zip(sorted(cues, key=lambda c: c.start), sorted(cues, key=lambda c: c.start)[1:], strict=False)
    ):
        assert len(cuts) >= len({round(c.start, 2) for c in cues}) - 1


def test_a_change_of_shot_is_a_cut(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scenes = [rng.integers(0, 255, (12, 20, 3), dtype=np.uint8).repeat(8, axis=0).repeat(8, axis=1) for _ in range(3)]
    pictures = [np.roll(scenes[(i >= 75) + (i >= 160)], i // 4, axis=1) for i in range(250)]  # a slow pan within each
    cuts = shot_cuts(write_video(tmp_path / "a.mp4", [i / 25 for i in range(250)], pictures=pictures))
    assert len(cuts) == 2 and all(abs(c - want) <= 0.2 for c, want in zip(cuts, (3.0, 6.4), strict=True))
    assert (
        shot_cuts(write_video(tmp_path / "still.mp4", [i / 25 for i in range(100)], pictures=[scenes[0]] * 100)) == ()
    )


def test_the_shots_of_real_videos(real_data: Path) -> None:
    cuts = shot_cuts(real_data / "media/torchcodec/nasa_13013.mp4")  # a woman in a lift, close by from 5.1 s to 8.0 s
    assert len(cuts) == 2 and all(abs(c - want) < 0.2 for c, want in zip(cuts, (5.07, 8.0), strict=True))
    assert shot_cuts(real_data / "media/mdn-interactive-examples/cc0-videos/friday.mp4") == ()


def test_real_subtitles_land_in_the_right_segments(real_data: Path) -> None:
    cues = parse_cues((real_data / "media/mdn-interactive-examples/examples/friday.vtt").read_text("utf-8"))
    film = video(6.166, subtitle_cuts(cues), cues=cues)
    assert film.cuts == (1.0, 1.5, 3.0, 4.3)
    leaves = cut_item(film, 2.0)
    assert leaves.bounds == (0, 1.5, 3.0, 4.3, 6.166)
    assert [segment_words(film, *leaves.span(i, i + 1)) for i in range(leaves.count)] == [
        "Hildy! How are you?",
        "Tell me, is the lord of the universe in?",
        "Yes, he's in - in a bad humor",
        "Somebody must've stolen the crown jewels",
    ]


def test_what_a_screen_shows_is_part_of_every_segment_that_shows_it() -> None:
    film = video(90.0, cues=(Cue(1, 2, "Hello."), Cue(40, 41, "Look here.")), title="News",
                 screen=(Cue(5, 35, "Exhibit A"), Cue(25, 25, "Room 7"), Cue(65, 65, "The end")))
    leaves = cut_item(film)
    words = [segment_words(film, *leaves.span(i, i + 1)) for i in range(3)]
    assert words == ["Hello. On screen: Exhibit A; Room 7.", "Look here. On screen: Exhibit A.", "On screen: The end."]
    assert [p.text.strip() for p in item_pieces(film, leaves)[0]] == ["News.", *words]
    assert region_text(film, leaves, 0, 3).count("Exhibit A") == 1
    assert segment_words(video(60.0, cues=film.cues), 0, 30) == "Hello.", (
        "nothing is said of a screen that shows no words"
    )
