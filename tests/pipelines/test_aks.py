"""AKS.

Frames are never none and never too many, peaks are taken, equal scores are spread out, and what is shown is what was
chosen.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.items import Question
from canopy.llm.roles import Trace
from canopy.media.videos import frame_times
from canopy.pipelines.aks import Aks, select_frames
from tests.llm.scripted_server import ScriptedServer
from tests.pipelines.served import Shelf

LAUNCH = Question("q3", "tiny", "When does the rocket leave the pad?")


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=200), st.integers(1, 70),
       st.sampled_from([0.0, 0.3, 0.8]))
def test_at_least_one_frame_and_at_most_m(scores: list[float], m: int, peak: float) -> None:
    chosen = select_frames(np.array(scores), m, peak)
    assert (
        1 <= len(chosen) <= m
        and list(chosen) == sorted(set(chosen.tolist()))
        and chosen[0] >= 0
        and chosen[-1] < len(scores)
    )
    if len(scores) <= m:
        assert len(chosen) == len(scores)
    elif m & (m - 1) == 0 and m <= 32:
        assert len(chosen) == m


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 40), st.floats(-1, 1))
def test_equal_scores_spread_the_frames_over_the_time(n: int, m: int, score: float) -> None:
    chosen = select_frames(np.full(n, score), m)
    if n > m:
        parts = 1 << min(5, m.bit_length() - 1)
        assert all(np.any((chosen >= p * n // parts - 1) & (chosen <= (p + 1) * n // parts)) for p in range(parts))


def test_a_peak_gets_all_frames_and_a_flat_stretch_one_each_half() -> None:
    scores = np.zeros(64)
    scores[40:44] = 1.0
    assert select_frames(scores, 4).tolist() == [40, 41, 42, 43]
    # no peak anywhere: the best of each quarter
    assert select_frames(np.linspace(0, 1, 64), 4).tolist() == [15, 31, 47, 63]
    # the authors' depth of 5 would leave 16 / 32 = no frame to each part
    assert len(select_frames(np.linspace(0, 1, 64), 16, deepest=5)) == 16
    with pytest.raises(ValueError, match="at least one"):
        select_frames(scores, 0)


def test_what_is_shown_are_the_chosen_frames_in_the_segments_they_lie_in(shelf: Shelf) -> None:
    with ScriptedServer() as server:
        tools, trace = shelf.tools(server), Trace()
        result = Aks(3, 4).answer(LAUNCH, tools, trace)
    video = [(e, s) for e, s in zip(result.evidence, result.views, strict=True) if s.modality == "video"]
    times = [t for _, s in video for t in s.times]
    assert 1 <= len(times) <= 4 and times == sorted(times) and set(times) <= set(frame_times(0, 150))
    for region, view in video:
        assert view.times == region.times and all(view.span[0] <= t < view.span[1] for t in view.times)
        # every segment of a region has a frame
        assert len({int(t // 30) for t in view.times}) == region.hi - region.lo
    others = [e for e, s in zip(result.evidence, result.views, strict=True) if s.modality != "video"]
    assert others and all((e.lo, e.hi) == (0, shelf.library.leaves(e.item_id).count) for e in others)


def test_a_short_video_is_shown_with_all_its_frames(shelf: Shelf) -> None:
    with ScriptedServer() as server:
        result, _ = shelf.answer("aks", server, question=LAUNCH)
    views = [s for s in result.views if s.modality == "video"]
    assert [s.times for s in views] == [tuple(frame_times(0, 150))] and (views[0].lo, views[0].hi) == (0, 5)
