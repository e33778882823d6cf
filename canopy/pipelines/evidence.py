"""From kept regions to an answer: what is shown, in which order, under which cap, and what the reader makes of it.

Every system ends here.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from canopy.config import Options
from canopy.items import Evidence, Question
from canopy.llm.roles import RegionView, Reply, Trace
from canopy.llm.showing import picture_tokens
from canopy.media.videos import FRAME_LIMIT, frame_times
from canopy.pipelines.base import Result, Round
from canopy.pipelines.tools import Tools


def share_frames(counts: Sequence[int], ranks: Sequence[int]) -> list[int]:
    """The same number of frames in all, handed out by score: each region keeps one, the rest goes to the better ones.

    Parameters
    ----------
    counts : sequence of int
        Frames that each region would have by the clock, at least 1 and at most `FRAME_LIMIT`.
    ranks : sequence of int
        Place of each region by score, 0 for the worst; a permutation.

    Returns
    -------
    list of int
        1 to `FRAME_LIMIT` each, their sum that of ``counts``: as near as that allows to ``counts`` times ``2 * rank /
        (regions - 1)``, so that the best region is twice as dense as by the clock and the worst has one frame.
    """
    shares = [1] * len(counts)
    weights = [c * r for c, r in zip(counts, ranks, strict=True)]
    for _ in range(sum(counts) - len(counts)):
        open_to = [n for n in range(len(shares)) if shares[n] < FRAME_LIMIT]
        shares[max(open_to, key=lambda n: (weights[n] / shares[n], ranks[n]))] += 1
    return shares


def show_regions(regions: Sequence[Evidence], tools: Tools, options: Options) -> list[RegionView]:
    """Regions as the reader sees them; video regions with their frames' times (their own if a system chose them).

    With ``frame_density`` the given regions' frames are the same in number, and the better a region scores the more of
    them it gets (`share_frames`).
    """
    times = [r.times for r in regions]
    clocked = [n for n, r in enumerate(regions) if not r.times and tools.library.item(r.item_id).modality == "video"]
    spans = {n: tools.library.leaves(regions[n].item_id).span(regions[n].lo, regions[n].hi) for n in clocked}
    for n in clocked:
        times[n] = tuple(frame_times(*spans[n]))
    if options.frame_density and len(clocked) > 1:
        order = sorted(clocked, key=lambda n: (regions[n].score, regions[n].item_id, regions[n].lo))
        for n, count in zip(clocked, share_frames([len(times[n]) for n in clocked], [order.index(n) for n in clocked]),
                            strict=True):
            lo, hi = spans[n]
            times[n] = tuple(lo + (i + 0.5) * (hi - lo) / count for i in range(count))
    return [tools.library.show(r, t) for r, t in zip(regions, times, strict=True)]


def count_tokens(regions: Sequence[RegionView], tools: Tools) -> list[int]:
    """Tokens of each region in the reader's own tokens, with its images and frames if the reader sees them."""
    reader = tools.roles.reader
    counts = list(reader.count_tokens([s.words() for s in regions])) if regions else []
    if reader.sees_media:
        counts = [n + picture_tokens(r) for n, r in zip(counts, regions, strict=True)]
    return [int(n) for n in counts]


def cap_of(tools: Tools) -> int:
    """The reader's evidence cap in tokens (paper: 16k, on video benchmarks 64k)."""
    return tools.answers.video_evidence_tokens if tools.evidence_cap == "video" else tools.answers.evidence_tokens


def choose_newest(rounds: Sequence[Sequence[int]], cap: int) -> tuple[list[list[bool]], bool]:
    """Which regions fit under the cap when the newest evidence is kept first (our reading of the paper's "newest
    first").

    Parameters
    ----------
    rounds : sequence of sequence of int
        Tokens of each region, round by round, best retrieved first within a round.

    Returns
    -------
    kept : list of list of bool
    cut : bool
        Whether anything was left out. A region that does not fit is left out whole, and with it all that is older; one
        that alone is longer than the cap is left out alone, since it would leave the reader nothing.
    """
    kept = [[False] * len(r) for r in rounds]
    left, full = cap, False
    for number in reversed(range(len(rounds))):
        for n, tokens in enumerate(rounds[number]):
            if tokens > cap:
                continue
            full = full or tokens > left
            if full:
                break
            kept[number][n] = True
            left -= tokens
    return kept, not all(map(all, kept))


def fit_rounds(question: Question, tools: Tools, rounds: Sequence[Round],
               options: Options) -> tuple[list[tuple[Evidence, RegionView]], bool]:
    """What the rounds kept, as the reader sees it and as far as it fits under the cap; and whether anything was cut.

    Each region gets its tokens.
    """
    everything = show_regions([e for r in rounds for e in r.kept], tools, options)
    counts = count_tokens(everything, tools)
    edges = [0, *accumulate(len(r.kept) for r in rounds)]
    views = [everything[a:b] for a, b in pairwise(edges)]
    tokens = [counts[a:b] for a, b in pairwise(edges)]
    kept, cut = choose_newest(tokens, cap_of(tools))
    return [(replace(e, tokens=n), s) for r, ss, ns, ks in zip(rounds, views, tokens, kept, strict=True)
            for e, s, n, k in zip(r.kept, ss, ns, ks, strict=True) if k], cut


def cut_text(text: str, cap: int, tools: Tools) -> tuple[str, bool]:
    """The beginning of a text, whole words, that fits under the cap, and whether that is less than all of it."""
    def fits(end: int) -> bool:
        return tools.roles.reader.count_tokens([text[:end]])[0] <= cap

    if fits(len(text)):
        return text, False
    ends = [0, *(m.end() for m in re.finditer(r"\S+", text))]
    low, high = 0, len(ends) - 1  # the first `low` words fit, the first `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(ends[middle]) else (low, middle)
    return text[:ends[low]], True


def order_regions(regions: Sequence[tuple[Evidence, RegionView]], order: str) -> list[tuple[Evidence, RegionView]]:
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
    pairs, cut = fit_rounds(question, tools, rounds, options)
    pairs = order_regions(pairs, options.order)
    reply = read_evidence(question, [s for _, s in pairs], tools, trace)
    noted = {**(notes or {}), **trace.notes}  # notes of roles go with the answer
    return Result(reply.text, [e for e, _ in pairs], [s for _, s in pairs], list(rounds),
                  sum(e.tokens for e, _ in pairs), cut, noted)


def read_evidence(question: Question, regions: Sequence[RegionView], tools: Tools, trace: Trace) -> Reply:
    """One call of the reader, timed."""
    started = time.perf_counter()
    reply = tools.roles.reader.read(question, regions, trace)
    trace.spend("read", time.perf_counter() - started)
    return reply
