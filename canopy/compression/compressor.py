"""The library's door: a question and items in, the parts of the items that answer it out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from canopy.compression.candidates import Candidate, cut, encode, select
from canopy.compression.evidence import Compression
from canopy.compression.models import Model, open_model
from canopy.compression.rules import check_rule
from canopy.compression.sources import Source, read_question, read_sources
from canopy.compression.writing import Selection, write_evidence
from canopy.embeddings.store import score_nodes
from canopy.errors import DataError
from canopy.items import Item


class VectorCache(Protocol):
    """Node vectors by their item's content."""

    def get(self, key: str) -> np.ndarray | None:
        """The vectors under a key, or None."""
        ...

    def put(self, key: str, vectors: np.ndarray) -> None:
        """Keep vectors under a key."""
        ...


class Compressor:
    """Keeps of each item the regions that answer a question.

    Each item is cut into minimal fragments (sentences, rows, segments of a video), a hierarchy is built over them, its
    nodes are scored against the question, and from the root down a node gives way to its better children
    (`canopy.refinement.refine`). Safe to call from one thread at a time.

    Parameters
    ----------
    model : Model
        Encoder and hierarchy; `load` opens one.
    media : Path, optional
        Folder that records' media paths count from.
    """

    def __init__(self, model: Model, media: Path | None = None) -> None:
        self.model, self.media = model, media

    @classmethod
    def load(cls, path: Path | str | None = None, *, media: Path | str | None = None) -> Compressor:
        """Open a model.

        Parameters
        ----------
        path : Path, str or None
            None: the frozen embedded encoder and the paper's hierarchy. Otherwise the folder of a served bundle, of a
            registered MLflow model, or of an adapter.
        media : Path or str, optional
            Folder that records' ``media`` and ``subtitles`` count from.

        Raises
        ------
        DataError
            If the folder holds no model.
        EncoderMismatch
            If the parts in it do not belong together.
        """
        folder = None if media is None else Path(media).expanduser()
        return cls(open_model(path, {"": folder} if folder else None), folder)

    def compress(self, question: str, items: Iterable[Source], *, rule: str = "parent", margin: float | None = None,
                 branching: int | None = None, fragments: bool = False) -> Compression:
        """Keep of each item the regions that answer the question.

        Parameters
        ----------
        question : str
        items : iterable
            Strings, records in the native format, or `canopy.Item`, of any modality and mixed.
        rule : {"parent", "lookahead"}
            Which regions are kept (`canopy.refinement.refine`); ``parent`` is the paper's.
        margin : float, optional
            Of ``lookahead`` only; unless given, the pipeline's default.
        branching : int, optional
            Another B for the hierarchy than the model's.
        fragments : bool
            Whether the result lists every fragment too, kept or not.

        Raises
        ------
        DataError
            If the question or an item cannot be used; the message names the item and the field.
        """
        question, margin = read_question(question), check_rule(rule, margin)
        notes: list[str] = []
        sources = read_sources(items, self.media, notes)
        query = self.encode_question(question)
        width = self._check_branching(branching)
        candidates = [self.score(item, query, width) for item in sources]
        regions = select(candidates, rule, margin)
        selections = [Selection(item, candidate.leaves, kept, fragments)
                      for item, candidate, kept in zip(sources, candidates, regions, strict=True)]
        return Compression(question, tuple(write_evidence(selections, self.model.encoder)), tuple(notes))

    def encode_question(self, question: str) -> np.ndarray:
        """A question's unit vector by the frozen encoder, float32, shape (dimension,)."""
        return self.model.encoder.encode_queries([question])[0]

    def score(self, item: Item, query: np.ndarray, branching: int | None = None,
              cache: VectorCache | None = None) -> Candidate:
        """Cut, encode and score one item.

        Node vectors are rounded to half precision, as in a node store, so that an item has the same scores from there
        and from here.

        Parameters
        ----------
        query : ndarray, shape (dimension,)
            The question's unit vector.
        cache : VectorCache, optional
            Read, and filled with what is encoded here.
        """
        hierarchy = self.model.hierarchy
        width = branching or hierarchy.branching
        leaves, tree = cut(item, width, hierarchy.segment_seconds)
        key = f"{item.content_digest()}:{width}" if cache is not None else ""
        cached = cache.get(key) if cache is not None else None
        vectors = encode(item, leaves, tree, self.model.encoder) if cached is None else cached
        if cache is not None and cached is None:
            cache.put(key, vectors)
        return Candidate(item.id, leaves, tree, score_nodes(vectors, query), encoded=cached is None)

    @staticmethod
    def _check_branching(branching: int | None) -> int | None:
        if branching is not None and (isinstance(branching, bool) or not isinstance(branching, int) or branching < 2):
            raise DataError(f"branching must be a whole number of at least 2, not {branching!r}")
        return branching


@lru_cache(maxsize=1)
def embedded() -> Compressor:
    """The compressor of the embedded encoder, loaded once."""
    return Compressor.load()


def compress(question: str, items: Iterable[Source], *, rule: str = "parent",
             margin: float | None = None) -> Compression:
    """`Compressor.compress` with the frozen embedded encoder, which is loaded once."""
    return embedded().compress(question, items, rule=rule, margin=margin)
