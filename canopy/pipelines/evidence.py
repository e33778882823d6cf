"""From kept regions to an answer: what is shown, in which order, under which cap, and what the reader makes of it. Every system ends here."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from canopy.config import Options
from canopy.items import Evidence, Question
from canopy.llm.roles import Reply, Shown, Trace
from canopy.media.videos import frame_times
from canopy.pipelines.base import Result, Round
from canopy.pipelines.tools import Tools

FRAME_TOKENS = 222  # the paper's figure for one frame or image in Qwen3-VL's tokens
VIDEO_BENCHMARKS = frozenset({"lvbench", "longvideobench"})


def frames_of(region: Evidence, share: float = 1.0) -> tuple[float, ...]:
    """Times of the frames that show a video region: one every 10 s, at most 32; ``share`` thins or thickens them (at least one)."""
    lo, hi = region.span
    return tuple(frame_times(lo, hi, every=10.0 / max(share, 0.05)))


def show_regions(regions: Sequence[Evidence], tools: Tools, options: Options) -> list[Shown]:
    """Regions as the reader sees them; video regions with their frames' times (their own where a system chose them).

    With ``frame_density`` a question's frames are the same in number, and go to video regions in proportion to their rank by score: the best gets up to
    twice the density, the worst none beyond its first.
    """
    videos = sorted({(r.score, r.item_id, r.lo) for r in regions if tools.library.item(r.item_id).modality == "video"})
    place = {v: n for n, v in enumerate(videos)}
    out = []
    for r in regions:
        times = r.times
        if tools.library.item(r.item_id).modality == "video" and not times:
            key = (r.score, r.item_id, r.lo)
            share = 2.0 * place[key] / (len(videos) - 1) if options.frame_density and len(videos) > 1 else 1.0
            times = frames_of(replace(r, span=tools.library.leaves(r.item_id).span(r.lo, r.hi)), share)
        out.append(tools.library.show(r, times))
    return out


def count_tokens(shown: Sequence[Shown], tools: Tools) -> list[int]:
    """Tokens of each region in the reader's own tokens, with its images and frames where the reader sees them."""
    reader = tools.roles.reader
    counts = list(reader.count_tokens([s.words() for s in shown])) if shown else []
    if reader.sees_media:
        counts = [n + FRAME_TOKENS * (len(s.times) or (s.modality == "image")) * bool(s.media) for n, s in zip(counts, shown, strict=True)]
    return [int(n) for n in counts]


def cap_of(question: Question, tools: Tools) -> int:
    """The reader's evidence cap in tokens (paper: 16k, on video benchmarks 64k)."""
    return tools.answers.video_evidence_tokens if tools.adapters.get(question.benchmark) in VIDEO_BENCHMARKS else tools.answers.evidence_tokens


def choose_newest(rounds: Sequence[Sequence[int]], cap: int) -> tuple[list[list[bool]], bool]:
    """Which regions fit under the cap when the newest evidence is kept first (our reading of the paper's "newest first").

    Parameters
    ----------
    rounds : sequence of sequence of int
        Tokens of each region, round by round, best retrieved first within a round.

    Returns
    -------
    kept : list of list of bool
    cut : bool
        Whether anything was left out. A region that does not fit is left out whole, and with it all that is older.
    """
    kept = [[False] * len(r) for r in rounds]
    left, cut = cap, False
    for number in reversed(range(len(rounds))):
        for n, tokens in enumerate(rounds[number]):
            if cut or tokens > left:
                cut = True
                break
            kept[number][n] = True
            left -= tokens
    return kept, cut


def order_regions(regions: Sequence[tuple[Evidence, Shown]], order: str) -> list[tuple[Evidence, Shown]]:
    """``retrieval``: as they came; ``score``: best first; ``best_last``: best nearest to the question."""
    if order == "retrieval":
        return list(regions)
    return sorted(regions, key=lambda pair: pair[0].score, reverse=order == "score")


def answer_from(question: Question, tools: Tools, trace: Trace, rounds: Sequence[Round], options: Options | None = None,
                notes: Counter[str] | None = None) -> Result:
    """Show what the rounds kept, under the cap, to the reader.

    Returns
    -------
    Result
        With the evidence the reader saw; its ``tokens`` are the reader's.
    """
    options = options or Options()
    shown = [show_regions(r.kept, tools, options) for r in rounds]
    tokens = [count_tokens(s, tools) for s in shown]
    kept, cut = choose_newest(tokens, cap_of(question, tools))
    pairs = [(replace(e, tokens=n), s) for r, ss, ns, ks in zip(rounds, shown, tokens, kept, strict=True)
             for e, s, n, k in zip(r.kept, ss, ns, ks, strict=True) if k]
    pairs = order_regions(pairs, options.order)
    reply = read_evidence(question, [s for _, s in pairs], tools, trace)
    return Result(reply.text, [e for e, _ in pairs], [s for _, s in pairs], list(rounds), sum(e.tokens for e, _ in pairs), cut, dict(notes or {}))


def read_evidence(question: Question, shown: Sequence[Shown], tools: Tools, trace: Trace) -> Reply:
    """One call of the reader, timed."""
    started = time.perf_counter()
    reply = tools.roles.reader.read(question, shown, trace)
    trace.spend("read", time.perf_counter() - started)
    return reply
