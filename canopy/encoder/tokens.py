"""Tokens with the fragment each belongs to, overlapping windows over long inputs, and batches by token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from canopy.encoder.words import Piece


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """Token ids of one sequence without special tokens, and each token's fragment (-1: context)."""

    ids: np.ndarray
    fragments: np.ndarray


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens ``[start, end)`` of sequence ``sequence``; its states count for ``[own_start, own_end)`` alone."""

    sequence: int
    start: int
    end: int
    own_start: int
    own_end: int


def tokenize_pieces(tokenizer: Any, sequences: Sequence[Sequence[Piece]]) -> list[TokenSequence]:
    """Tokenize each sequence's joined pieces and label every token with the piece in which it begins.

    Pieces are joined before tokenizing, so cutting an item into fragments never changes its tokens.
    """
    texts = ["".join(p.text for p in pieces) for pieces in sequences]
    out = []
    for pieces, coded in zip(sequences, tokenizer.encode_batch(texts, add_special_tokens=False), strict=True):
        ends = np.cumsum([len(p.text) for p in pieces])
        starts = np.array([o[0] for o in coded.offsets], dtype=np.int64)
        which = np.searchsorted(ends, starts, side="right").clip(max=len(pieces) - 1) if pieces else starts
        labels = np.array([p.fragment for p in pieces], dtype=np.int32)
        fragments = labels[which] if len(starts) else np.zeros(0, np.int32)
        out.append(TokenSequence(np.array(coded.ids, dtype=np.int32), fragments))
    return out


def cut_windows(lengths: Sequence[int], capacity: int, overlap: int) -> list[Window]:
    """Windows of at most ``capacity`` tokens that overlap by ``overlap``; every token is owned by exactly one window.

    The owner is the window in which the token has more context on its nearer side: ownership changes in the middle of
    each overlap. An empty sequence gets one empty window.
    """
    step = max(1, capacity - min(overlap, capacity - 1))
    windows = []
    for s, n in enumerate(lengths):
        starts = list(range(0, max(1, n - capacity + step), step))
        ends = [min(n, a + capacity) for a in starts]
        cuts = [0, *[(b + a) // 2 for a, b in zip(starts[1:], ends[:-1], strict=True)], n]
        windows += [Window(s, a, b, cuts[i], cuts[i + 1]) for i, (a, b) in enumerate(zip(starts, ends, strict=True))]
    return windows


def batch_windows(windows: Sequence[Window], budget: int) -> list[list[int]]:
    """Window numbers in batches of similar length whose padded size stays within ``budget`` tokens (or one window)."""
    order = sorted(range(len(windows)), key=lambda w: (windows[w].end - windows[w].start, w))
    batches: list[list[int]] = []
    for w in order:
        width = windows[w].end - windows[w].start + 2
        if batches and width * (len(batches[-1]) + 1) <= budget:
            batches[-1].append(w)
        else:
            batches.append([w])
    return batches
