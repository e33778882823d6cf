"""BM25 over whole items, by bm25s: on disk, memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from canopy.digests import file_sha256, text_sha256
from canopy.errors import DataError
from canopy.index.terms import terms

K1, B = 1.2, 0.75


class LexicalIndex:
    """Items by the words that they share with a query, rare words counting more (BM25, Lucene's form)."""

    def __init__(self, index: Any, items: int) -> None:
        self._index, self._items = index, items

    def __len__(self) -> int:
        return self._items

    @classmethod
    def build(cls, items: Iterable[Sequence[str]]) -> LexicalIndex:
        """Index items, each by its terms (`canopy.index.terms.item_terms`)."""
        import bm25s

        corpus = [list(words) for words in items]
        count = len(corpus)
        # bm25s refuses a corpus without any term; a term that no query has changes no score.
        corpus = corpus if any(corpus) else [["\x00"], *corpus[1:]]
        index = bm25s.BM25(k1=K1, b=B, method="lucene")
        index.index(corpus, show_progress=False)
        return cls(index, count)

    def write(self, folder: Path) -> None:
        """Write the index's files into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self._index.save(str(folder), show_progress=False)

    @classmethod
    def open(cls, folder: Path, items: int) -> LexicalIndex:
        """Open an index; its arrays stay on disk.

        Raises
        ------
        DataError
            If it cannot be read.
        """
        import bm25s

        try:
            index = bm25s.BM25.load(str(folder), mmap=True)
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise DataError(f"{folder}: cannot be read ({str(e)[:120]}); run `canopy run --force item_index`") from None
        return cls(index, items)

    def scores(self, query: str) -> np.ndarray:
        """The BM25 score of every item, float32, shape (items,); 0 for items that share no term."""
        known = [t for t in dict.fromkeys(terms(query)) if t in self._index.vocab_dict]
        if not known or not self._items:
            return np.zeros(self._items, dtype=np.float32)
        return np.asarray(self._index.get_scores(known), dtype=np.float32)[:self._items]


def lexical_sha256(folder: Path) -> str:
    """Names exactly what the index's files hold."""
    files = sorted(p for p in folder.glob("*") if p.is_file())
    return text_sha256(" ".join(f"{p.name}:{file_sha256(p)}" for p in files))
