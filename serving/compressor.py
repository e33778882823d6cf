"""The served compressor: jobs in batches, over a bundle's corpus, node store and index."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from canopy.bundle.manifest import CORPUS, INDEX, STORE, Manifest, check_parts, open_encoder
from canopy.compression.candidates import Candidate, cut, select
from canopy.compression.compressor import Compressor
from canopy.compression.models import Model
from canopy.compression.writing import DIGITS, Selection, write_evidence
from canopy.corpus.reader import Corpus
from canopy.embeddings.store import NodeStore
from canopy.encoder.loading import load_encoder
from canopy.errors import CanopyError, EncoderMismatch
from canopy.index.search import ItemSearch
from canopy.items import Evidence, Item
from serving.jobs import CompressJob, Job, Outcome, RetrieveJob
from serving.node_cache import NodeCache
from serving.schemas import MAX_ENCODED_CHARS, Hit, ModelInfo

CACHE_BYTES = 256 * 1024 * 1024
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Target:
    """One item of one job on its way through the batch."""

    job: int
    item: Item
    candidate: Candidate
    retrieval: float | None


class ServedCompressor:
    """A bundle that is open and consistent.

    Parameters
    ----------
    cache_bytes : int
        Bound on the node vectors that are kept of items that were sent in.
    """

    def __init__(self, manifest: Manifest, compressor: Compressor, store: NodeStore, index: ItemSearch, corpus: Corpus,
                 cache_bytes: int = CACHE_BYTES) -> None:
        self.compressor, self._store, self._index, self.corpus = compressor, store, index, corpus
        self._cache = NodeCache(cache_bytes)
        self.model = ModelInfo.of(manifest)

    @classmethod
    def open(cls, folder: Path, cache_bytes: int = CACHE_BYTES) -> ServedCompressor:
        """Open a bundle and check that all its parts belong together.

        Raises
        ------
        EncoderMismatch
            If the encoder that the bundle's adapter gives is not the one that made its store or its index.
        DataError
            If a part is missing, or the corpus is not the one that the bundle pins.
        """
        manifest = Manifest.read(folder)
        check_parts(folder, manifest)
        encoder = open_encoder(folder, manifest)
        digest, pinned = load_encoder(manifest.encoder_config()).digest, manifest.parts.query_digest
        if digest != pinned:
            raise EncoderMismatch(f"{folder / INDEX}: made by encoder {pinned[:12]}..., but queries are encoded by "
                                  f"{digest[:12]}...; run `canopy run` to build the index again")
        compressor = Compressor(Model(encoder, manifest.hierarchy_config(), manifest.name))
        return cls(manifest, compressor, NodeStore.open(folder / STORE, digest=encoder.digest),
                   ItemSearch.open(folder / INDEX, dimension=encoder.dimension, digest=digest),
                   Corpus.open_packed(folder / CORPUS), cache_bytes)

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Answer a batch of jobs; a job that fails is answered by its own error and leaves the others alone."""
        try:
            return self._run(jobs)
        except Exception as e:
            if len(jobs) == 1:
                _log.exception("a job failed")
                return [Outcome(error=str(e) if isinstance(e, CanopyError) else f"{type(e).__name__}: {e}")]
            return [self.run([job])[0] for job in jobs]

    def _run(self, jobs: Sequence[Job]) -> list[Outcome]:
        outcomes = [Outcome() for _ in jobs]
        queries = self._encode_queries([j.question for j in jobs])
        retrieved = self._search(jobs, queries)
        targets: list[_Target] = []
        for number, job in enumerate(jobs):
            if isinstance(job, RetrieveJob):
                outcomes[number].hits = [self._hit(i, score) for i, score in retrieved[number]]
                continue
            hits = [(i, None) for i in job.item_ids] if job.item_ids or job.items else retrieved[number]
            targets += self._targets(number, job, hits, queries[number], outcomes[number])
        regions = _select(targets, jobs)
        selections = [Selection(t.item, t.candidate.leaves, kept, _wants_fragments(jobs[t.job]), t.retrieval)
                      for t, kept in zip(targets, regions, strict=True)]
        written = write_evidence(selections, self.compressor.model.encoder) if selections else []
        for target, evidence in zip(targets, written, strict=True):
            outcomes[target.job].items.append(evidence)
        return outcomes

    def _hit(self, item_id: str, score: float) -> Hit:
        item = self.corpus[item_id]
        return Hit(id=item_id, score=round(score, DIGITS), modality=item.modality, title=item.title)

    def _encode_queries(self, questions: Sequence[str]) -> np.ndarray:
        # One by one: a batch pads and blocks differently, and the last bits of a vector would depend on the neighbours.
        vectors = {q: self.compressor.encode_question(q) for q in dict.fromkeys(questions)}
        return np.stack([vectors[q] for q in questions])

    def _search(self, jobs: Sequence[Job], queries: np.ndarray) -> dict[int, list[tuple[str, float]]]:
        asking = [n for n, j in enumerate(jobs) if isinstance(j, RetrieveJob) or not (j.item_ids or j.items)]
        if not asking:
            return {}
        return {n: self._index.search(jobs[n].question, queries[n], min(jobs[n].k, len(self.corpus.ids)))
                for n in asking}

    def _targets(self, number: int, job: CompressJob, hits: Sequence[tuple[str, float | None]], query: np.ndarray,
                 outcome: Outcome) -> list[_Target]:
        """The job's items with their scores; those of the corpus from the store, if the job asks for its hierarchy."""
        hierarchy = self.compressor.model.hierarchy
        stored = (job.branching or hierarchy.branching) == self._store.branching
        known = [self.corpus[i] for i, _ in hits]
        chars = sum(map(read_chars, [*job.items, *(() if stored else known)]))
        if chars > MAX_ENCODED_CHARS:
            outcome.status, outcome.error = 413, _too_long(chars, branching=bool(known) and not stored)
            return []
        candidates = []
        if stored and hits:
            with_nodes = [self.corpus.folds.exact_representative(i) for i, _ in hits]
            for item, scores in zip(known, self._store.scores(with_nodes, query), strict=True):
                leaves, tree = cut(item, self._store.branching, hierarchy.segment_seconds)
                candidates.append(Candidate(item.id, leaves, tree, scores))
        items = [*known, *job.items]
        for item in items[len(candidates):]:
            candidates.append(self.compressor.score(item, query, job.branching, self._cache))
        outcome.encoded = sum(c.encoded for c in candidates)
        outcome.cached = len(candidates) - outcome.encoded
        retrieval = [*(score for _, score in hits), *(None for _ in job.items)]
        return [_Target(number, *target) for target in zip(items, candidates, retrieval, strict=True)]


def _wants_fragments(job: Job) -> bool:
    return isinstance(job, CompressJob) and job.fragments


def _select(targets: Sequence[_Target], jobs: Sequence[Job]) -> list[Sequence[Evidence]]:
    """What each target's own job keeps of it; targets under the same rule are refined together."""
    own = [jobs[t.job] for t in targets]
    rules = [(j.rule, j.margin) if isinstance(j, CompressJob) else ("parent", 0.0) for j in own]
    regions: list[Sequence[Evidence]] = [() for _ in targets]
    for rule, margin in dict.fromkeys(rules):
        members = [n for n, r in enumerate(rules) if r == (rule, margin)]
        for n, kept in zip(members, select([targets[n].candidate for n in members], rule, margin), strict=True):
            regions[n] = kept
    return regions


def _too_long(chars: int, *, branching: bool) -> str:
    remedy = ", or leave out `branching`" if branching else ""
    return (f"the items to encode have {chars} characters as the encoder reads them (a table's title and columns count "
            f"in every row); at most {MAX_ENCODED_CHARS} a request: send fewer or smaller items{remedy}")


def read_chars(item: Item) -> int:
    """How many characters the encoder reads of an item; a table's title, section and columns count in every row."""
    if item.modality != "table":
        return sum(map(len, (item.text, item.title, item.caption, item.words, *(c.text for c in item.cues))))
    names = [len(h) for h in item.header]
    cells = sum(len(c) + names[n] for r in item.rows for n, c in enumerate(r) if c)
    return cells + len(item.rows) * (len(item.title) + len(item.section))
