"""AKS, adaptive keyframe sampling (Tang and others, 2025).

It takes M frames of the retrieved videos: those where the scores peak, otherwise frames spread over the time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import groupby

import numpy as np

from canopy.config import Answers
from canopy.items import Evidence, Question
from canopy.llm.roles import Trace
from canopy.media.videos import frame_times
from canopy.pipelines.base import Needs, Result, Round, System, SystemSpec
from canopy.pipelines.compression import keep_whole
from canopy.pipelines.evidence import answer_from
from canopy.pipelines.tools import Tools

FRAMES = 16  # M, the paper's
SIZES = (4, 8, 32, 64)  # further M that the budget figures sweep over
EVERY = 10.0  # seconds between candidate frames
PEAK, DEEPEST = 0.8, 5  # the authors' threshold of a peak and their greatest depth
_ALL = 10 ** 9


def select_frames(scores: np.ndarray, m: int, peak: float = PEAK, deepest: int = DEEPEST) -> np.ndarray:
    """The authors' judge-and-split over the scores of frames in the order of time.

    Scores are first stretched to [0, 1]. A stretch of time is judged: if the mean of its m best scores lies more
    than ``peak`` above the mean of all of its scores, or it is ``deepest`` halvings deep, its best frames are taken;
    else it is split in halves, each of which gets half of the frames. The authors' second condition (a standard
    deviation above -100) always holds and is left out.

    Their code fails in two places, where this one does not: equal scores cannot be stretched (here all are then 0, so
    that frames are spread evenly), and at a depth beyond log2(m) a stretch's share is no frame at all (here the depth
    ends there).

    Parameters
    ----------
    scores : ndarray, shape (frames,)
        Finite.
    m : int
        At least 1.

    Returns
    -------
    ndarray of int64
        Sorted frame numbers: all of them if there are at most m, otherwise at least one and at most m.
    """
    n = len(scores)
    if m < 1:
        raise ValueError(f"at least one frame must be asked for, not {m}")
    if n <= m:
        return np.arange(n)
    low, high = float(scores.min()), float(scores.max())
    stretched = (scores.astype(np.float64) - low) / (high - low) if high > low else np.zeros(n)
    last = min(deepest, m.bit_length() - 1)
    chosen: list[int] = []
    todo = [(0, n, 0)]
    while todo:
        lo, hi, depth = todo.pop()
        part = stretched[lo:hi]
        peaked = np.sort(part)[::-1][:m].mean() - part.mean() > peak
        if peaked or depth == last:
            chosen += (lo + np.argsort(-part, kind="stable")[:m >> depth]).tolist()
        else:
            middle = lo + (hi - lo) // 2
            todo += [(lo, middle, depth + 1), (middle, hi, depth + 1)]
    return np.sort(np.array(chosen, dtype=np.int64))


class Aks:
    """Retrieve k items; of its videos show M frames in all, and the words of the segments they lie in; other items are
    read whole.

    M is what the reader is given for a question, as in the authors' work, where a question comes with one video: the
    videos' candidate frames, one every 10 s, stand one after the other in retrieval order. A frame's score is that of
    the segment in which it lies, s(q, v) by f0 out of the node store (the authors score each frame by a model of its
    own, BLIP): frames of one segment are equal, and the earliest of equals is taken.
    """

    def __init__(self, k: int, frames: int = FRAMES) -> None:
        self.k, self.frames = k, frames

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer from the chosen frames."""
        ids = [i for i, _ in tools.find(question.id, question.question, self.k, trace)]
        videos = [i for i in ids if tools.library.item(i).modality == "video"]
        frames = self._choose(question.question, videos, tools, trace) if videos else {}
        kept = tuple(r for i in ids for r in (frames.get(i, []) if i in videos else keep_whole([i], tools)))
        return answer_from(question, tools, trace, [Round(question.question, tuple(ids), tuple(ids), kept)])

    def _choose(self, query: str, videos: list[str], tools: Tools, trace: Trace) -> dict[str, list[Evidence]]:
        """By video, its regions: neighbouring segments with chosen frames, with these frames' times."""
        scorer, vector = tools.scorers["f0"], tools.searcher.vector(query, trace)
        frames: list[tuple[str, int, float]] = []  # video, segment, seconds
        scores: list[float] = []
        for video, nodes in zip(videos, scorer.scores(videos, vector), strict=True):
            tree, leaves = scorer.tree(video), tools.library.leaves(video)
            own = np.empty(leaves.count, dtype=np.float32)
            leaf = tree.hi - tree.lo == 1
            own[tree.lo[leaf]] = nodes[leaf]
            for time in frame_times(*leaves.span(0, leaves.count), every=EVERY, limit=_ALL):
                segment = min(bisect_right(leaves.bounds, time) - 1, leaves.count - 1)
                frames.append((video, segment, time))
                scores.append(float(own[segment]))
        chosen = select_frames(np.array(scores), self.frames).tolist()
        by_video: dict[str, list[Evidence]] = {}
        for video, of in groupby(chosen, key=lambda n: frames[n][0]):
            for n in of:
                segment, time, score = frames[n][1], frames[n][2], scores[n]
                regions = by_video.setdefault(video, [])
                if not regions or regions[-1].hi < segment:
                    regions.append(Evidence(video, segment, segment + 1, score, 0))
                region = regions[-1]
                region.hi, region.score, region.times = segment + 1, max(region.score, score), (*region.times, time)
                region.span = tools.library.leaves(video).span(region.lo, region.hi)
        return by_video


def _sizes(answers: Answers) -> Mapping[str, System]:
    return {f"M={m}": Aks(answers.k, m) for m in SIZES}


SYSTEMS = (SystemSpec("aks", f"adaptive keyframe sampling: of the retrieved videos M frames in all (M = {FRAMES}), "
                             "other items whole", lambda a: Aks(a.k),
                      Needs(scorers=("f0",)), "AKS", "compressor", _sizes),)
