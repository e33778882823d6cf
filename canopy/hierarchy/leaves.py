"""An item's leaves: sentences of a text, rows of a table, 30 s segments of a video, an image whole.

Source: CANOPY (arXiv 2610.00923), section 3.1.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sentencex

from canopy.items import Annotation, Item


@dataclass(frozen=True, slots=True)
class Leaves:
    """The minimal fragments of one item.

    ``bounds`` has n + 1 values: fragment i covers ``[bounds[i], bounds[i + 1])`` in the item's own unit (characters,
    rows, seconds), so fragments tile the item without gap or overlap. An image has one fragment, ``[0, 1)``.
    """

    modality: str
    bounds: tuple[float, ...]

    @property
    def count(self) -> int:
        """Number of fragments n (at least 1)."""
        return len(self.bounds) - 1

    def span(self, lo: int, hi: int) -> tuple[float, float]:
        """What fragments ``[lo, hi)`` cover, in the item's unit."""
        return self.bounds[lo], self.bounds[hi]


def sentence_bounds(text: str, language: str = "en") -> tuple[int, ...]:
    """Cut a text into sentences by character offsets (sentencex); white space goes to the sentence before it.

    Returns
    -------
    tuple of int
        Strictly increasing offsets from 0 to ``len(text)``; a text without any words is one sentence.
    """
    starts = []
    for b in sentencex.get_sentence_boundaries(language, text):
        start = b["start_index"]
        if text[start:b["end_index"]].strip():
            starts.append(start)
    return (0, *[s for s in starts[1:] if 0 < s < len(text)], len(text)) if text else (0, 1)


def cut_item(item: Item, segment_seconds: float = 30.0) -> Leaves:
    """The leaves of an item of any modality.

    A video has ``max(1, floor(duration / segment_seconds))`` segments; a trailing remainder joins the last one. One
    with cuts is segmented by `snapped_bounds` instead.
    """
    if item.modality == "text":
        return Leaves("text", sentence_bounds(item.text))
    if item.modality == "table":
        return Leaves("table", tuple(range(max(1, len(item.rows)) + 1)))
    if item.modality == "video":
        if item.cuts:
            return Leaves("video", snapped_bounds(item.duration, item.cuts, segment_seconds))
        n = max(1, math.floor(item.duration / segment_seconds))
        return Leaves("video",
                      (*(i * segment_seconds for i in range(n)), max(item.duration, (n - 1) * segment_seconds + 1e-3)))
    return Leaves("image", (0, 1))


def snapped_bounds(duration: float, cuts: Sequence[float], segment_seconds: float) -> tuple[float, ...]:
    """Bounds of a video's segments if it has preferred places to cut at (shot changes, gaps between subtitles).

    From the start on, each segment ends at the latest cut that makes it at least half of ``segment_seconds`` and at
    most ``segment_seconds`` long; if there is none it is ``segment_seconds`` long. What would be left with less
    than half of that joins the segment before it, so every segment but the last has a length in ``[segment_seconds /
    2, segment_seconds]`` and the last one less than 1.5 times ``segment_seconds``.

    Parameters
    ----------
    cuts : sequence of float
        Seconds, sorted; those outside the video are passed over.

    Returns
    -------
    tuple of float
        Strictly increasing, from 0 to ``duration`` (at least a millisecond).
    """
    end, half = max(duration, 1e-3), segment_seconds / 2
    bounds = [0.0]
    while end - bounds[-1] > segment_seconds:
        last = bounds[-1]
        cut = cuts[bisect_right(cuts, last + segment_seconds) - 1]
        reached = cut if last + half <= cut <= last + segment_seconds else last + segment_seconds
        if end - reached < half:
            break
        bounds.append(float(reached))
    return (*bounds, end)


def gold_fragments(item: Item, leaves: Leaves, annotation: Annotation) -> np.ndarray:
    """Fragments that the annotation touches.

    A character span counts without the white space at its ends; a span of zero seconds counts as the segment that
    holds it. ``item`` annotations and images are gold whole.

    Returns
    -------
    ndarray of int32
        Sorted fragment numbers; empty if the spans touch none (the gold cannot be located).
    """
    n = leaves.count
    if annotation.unit == "item" or item.modality == "image":
        return np.arange(n, dtype=np.int32)
    numbers: set[int] = set()
    for start, end in annotation.spans:
        if annotation.unit == "chars":
            a, b = int(start), min(int(end), len(item.text))
            while a < b and item.text[a].isspace():
                a += 1
            while b > a and item.text[b - 1].isspace():
                b -= 1
            if a >= b:
                continue
            start, end = a, b
        elif end <= start:
            end = math.nextafter(start, math.inf)
        lo = bisect_right(leaves.bounds, start) - 1
        hi = bisect_left(leaves.bounds, end)
        if start >= leaves.bounds[-1]:
            if annotation.unit == "seconds" and start == leaves.bounds[-1]:
                numbers.add(n - 1)
            continue
        numbers.update(range(max(0, lo), min(hi, n)))
    return np.array(sorted(numbers), dtype=np.int32)
