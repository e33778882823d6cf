"""Search of two kinds over one set of items: by f0's vectors, by words, or by both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from canopy.config import Retrieval
from canopy.errors import DataError
from canopy.index.item_index import ItemIndex
from canopy.index.lexical import LexicalIndex, lexical_sha256

LEXICAL = "bm25"  # the folder of the search by words

POOL = 50  # items of each search that are compared; more if more are asked for
LEXICAL_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class ItemSearch:
    """The search over an index's items.

    Attributes
    ----------
    lexical : LexicalIndex or None
        None if the index was made without; the search is then by vectors alone.
    """

    dense: ItemIndex
    lexical: LexicalIndex | None
    retrieval: Retrieval

    @classmethod
    def open(cls, path: Path, *, dimension: int, digest: str, device: str = "cpu") -> ItemSearch:
        """Open what `write_index` wrote, to search it in the way that it names; an older index is searched by vectors.

        Raises
        ------
        DataError, EncoderMismatch, DeviceError
            As for `ItemIndex.open`; also if the files of the search by words are not those of the manifest.
        """
        dense = ItemIndex.open(path, dimension=dimension, digest=digest, device=device)
        manifest = json.loads((path / "manifest.json").read_bytes())
        if "lexical_sha256" not in manifest:
            return cls(dense, None, "dense")
        if lexical_sha256(path / LEXICAL) != manifest["lexical_sha256"]:
            raise DataError(f"{path / LEXICAL}: cannot be read: its files are not those of the index's manifest; "
                            "run `canopy run --force item_index`")
        return cls(dense, LexicalIndex.open(path / LEXICAL, len(dense)), manifest["retrieval"])

    def search(self, query: str, vector: np.ndarray, k: int, *,
               among: np.ndarray | None = None) -> list[tuple[str, float]]:
        """The k best items, best first, each with its similarity by f0.

        ``hybrid`` orders the items that either search has among its best by the mean of two shares: how far an item's
        similarity is from the pool's least to its best, and its BM25 score as a share of the best. An item that alone
        holds a code of the query so comes first, however like the others it is.

        Parameters
        ----------
        vector : ndarray, shape (dimension,)
            The query's unit vector by f0.
        among : ndarray of bool, shape (items,), or None
            Search only these.
        """
        if self.lexical is None or self.retrieval == "dense" or k < 1:
            scores, ids = self.dense.search(vector[None], k, among=among)
            return [(i, float(s)) for i, s in zip(ids[0], scores[0], strict=False)]
        words = self.lexical.scores(query)
        if among is not None:
            words = np.where(among, words, -1.0)
        rows = _best(words, max(POOL, k))
        rows = rows[words[rows] > 0]
        place = self.dense.rows
        near = self.dense.search(vector[None], max(POOL, k), among=among)[1][0]
        pool = np.zeros(len(self.dense), dtype=bool)
        pool[rows] = True
        pool[[place[i] for i in near]] = True
        similarity = np.zeros(len(self.dense))
        scores, ids = self.dense.search(vector[None], int(pool.sum()), among=pool)
        numbers = np.array([place[i] for i in ids[0]], dtype=np.int64)
        similarity[numbers] = scores[0][:len(numbers)]
        order = _fused(similarity[numbers], words[numbers], self.retrieval)
        return [(self.dense.ids[n], float(similarity[n])) for n in numbers[order][:k].tolist()]


def write_index(out: Path, dense: ItemIndex, items: Iterable[Sequence[str]], retrieval: Retrieval) -> None:
    """Write an index for both searches into an existing folder.

    Parameters
    ----------
    items : iterable of sequence of str
        The terms of each item, in the order of the index.
    """
    LexicalIndex.build(items).write(out / LEXICAL)
    dense.write(out, {"lexical_sha256": lexical_sha256(out / LEXICAL), "retrieval": retrieval})


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    """Rows of the k largest scores, largest first; of equal ones the earlier first."""
    k = min(k, len(scores))
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    edge = np.partition(scores, len(scores) - k)[len(scores) - k]
    rows = np.flatnonzero(scores >= edge)
    return rows[np.argsort(-scores[rows], kind="stable")][:k]


def _fused(similarity: np.ndarray, words: np.ndarray, retrieval: Retrieval) -> np.ndarray:
    """The order of a pool's items, best first; of equal ones the more similar first, then the earlier."""
    share = np.maximum(words, 0) / max(float(words.max(initial=0)), 1e-9)
    low, high = (float(similarity.min()), float(similarity.max())) if len(similarity) else (0.0, 0.0)
    near = (similarity - low) / max(high - low, 1e-9)
    value = share if retrieval == "bm25" else LEXICAL_SHARE * share + (1 - LEXICAL_SHARE) * near
    return np.lexsort((np.arange(len(value)), -similarity, -value))
