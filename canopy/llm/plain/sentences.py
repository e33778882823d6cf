"""Evidence cut into sentences, and their likeness to a question by MiniLM, each sentence encoded once a run."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from canopy.hierarchy.leaves import sentence_bounds
from canopy.llm.plain.words import content
from canopy.llm.roles import RegionView

HELD = 60_000
# sentences of one question's evidence that are encoded, of more those that share most words with it: on HotpotQA as
# good as 48, in a third of the time
ENCODED = 16


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence (a table's row) of a shown region.

    Its words, the title of its item, and the number of its region in the evidence.
    """

    text: str
    title: str
    region: int
    modality: str

    @property
    def full(self) -> str:
        """The sentence under its title, as it is encoded: most sentences name their subject by a pronoun."""
        return self.text if not self.title or self.text.startswith(self.title) else f"{self.title}. {self.text}"


def cut_evidence(evidence: Sequence[RegionView]) -> list[Sentence]:
    """The sentences of all regions, in their order.

    A region without words gives its title; one without both gives none.
    """
    out = []
    for n, region in enumerate(evidence):
        parts = cut_text(region.text, region.modality) or ((region.title.strip(),) if region.title.strip() else ())
        out += [Sentence(s, region.title.strip(), n, region.modality) for s in parts]
    return out


@lru_cache(maxsize=20_000)
def cut_text(text: str, modality: str) -> tuple[str, ...]:
    """Sentences of a text, or lines of a table."""
    if modality == "table":
        return tuple(line.strip() for line in text.split("\n") if line.strip())
    bounds = sentence_bounds(text)
    return tuple(s for a, b in zip(bounds[:-1], bounds[1:], strict=True) if (s := text[a:b].strip()))


class Likeness:
    """Cosines of texts by f0's query side, every text encoded alone and kept.

    Alone, since a batch pads and blocks differently: the last bits of a vector, and with them a choice between equals,
    would depend on what else was asked. On the CPU that costs no more than batches do (18 against 15 ms a sentence, one
    thread, measured on HotpotQA's sentences).

    Parameters
    ----------
    encode : callable
        Texts to unit vectors, float32, shape (texts, dimension).
    """

    def __init__(self, encode: Callable[[Sequence[str]], np.ndarray]) -> None:
        self._encode = encode
        self._vectors: OrderedDict[str, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, float32, shape (texts, dimension)."""
        out = []
        with self._lock:
            for text in texts:
                vector = self._vectors.get(text)
                if vector is None:
                    vector = self._vectors[text] = self._encode([text])[0].astype(np.float16)
                    if len(self._vectors) > HELD:
                        self._vectors.popitem(last=False)
                out.append(vector)
        return np.stack(out).astype(np.float32)

    def to_question(self, question: str, sentences: Sequence[Sentence]) -> np.ndarray:
        """Cosine of each sentence to the question, float32; -1 for those that are not encoded (see ``ENCODED``)."""
        scores = np.full(len(sentences), -1.0, dtype=np.float32)
        if not sentences:
            return scores
        chosen = np.arange(len(sentences))
        if len(sentences) > ENCODED:
            stems = content(question)
            shared = np.array([len(stems & content(s.full)) for s in sentences])
            chosen = np.sort(np.argsort(-shared, kind="stable")[:ENCODED])
        scores[chosen] = self.vectors([sentences[n].full for n in chosen.tolist()]) @ self.vectors([question])[0]
        return scores
