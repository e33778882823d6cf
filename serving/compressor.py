"""Questions and items in, evidence forests out: the served code, the same in the Bento, on the command line and in tests."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from canopy.bundle.parts import MANIFEST, part_sha256
from canopy.corpus.reader import Corpus
from canopy.embeddings.store import NodeStore
from canopy.encoder.base import NodeEncoder, NodeRequest
from canopy.encoder.loading import load_encoder
from canopy.encoder.words import item_words
from canopy.errors import CanopyError, DataError, EncoderMismatch
from canopy.hierarchy.leaves import Leaves, cut_item
from canopy.hierarchy.tree import Tree, build_tree, join_trees
from canopy.index.item_index import ItemIndex
from canopy.items import Item
from canopy.refinement import refine
from serving.bundle import ADAPTER, CORPUS, INDEX, STORE, Manifest
from serving.jobs import CompressJob, Job, Outcome, RetrieveJob
from serving.node_cache import NodeCache
from serving.schemas import MAX_ENCODED_CHARS, Fragment, Hit, ItemEvidence, Region

UNITS = {"text": "chars", "table": "rows", "video": "seconds", "image": "item"}
_DIGITS = 6
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Target:
    """One item of one job on its way through the batch."""

    item: Item
    leaves: Leaves
    tree: Tree
    scores: np.ndarray
    retrieval: float | None


class Compressor:
    """A bundle that is open and consistent.

    Raises
    ------
    EncoderMismatch
        From ``open``: the encoder that the bundle's adapter gives is not the one that made its store or its index.
    DataError
        From ``open``: a part is missing, or the corpus is not the one that the bundle pins.
    """

    def __init__(self, manifest: Manifest, encoder: NodeEncoder, store: NodeStore, index: ItemIndex, corpus: Corpus,
                 cache_bytes: int = 256 * 1024 * 1024) -> None:
        self.manifest = manifest
        self._encoder, self._store, self._index, self.corpus = encoder, store, index, corpus
        self._hierarchy = manifest.hierarchy_config()
        self._cache = NodeCache(cache_bytes)
        self.model = manifest.model()

    @classmethod
    def open(cls, folder: Path, cache_bytes: int = 256 * 1024 * 1024) -> Compressor:
        """Open a bundle and check that all its parts belong together."""
        manifest = Manifest.read(folder)
        parts, again = manifest.parts, "export it again with `canopy serve`"
        for part, pinned in ((STORE, parts.store), (INDEX, parts.index)):
            found = part_sha256(folder / part / MANIFEST)
            if found != pinned:
                raise EncoderMismatch(f"{folder / part}: its manifest is {found[:12]}..., the bundle pins {pinned[:12]}...; {again}")
        found = part_sha256(folder / CORPUS)
        if found != manifest.corpus_sha256:
            raise DataError(f"{folder / CORPUS}: this file is {found[:12]}..., the bundle pins {manifest.corpus_sha256[:12]}...; {again}")
        config = manifest.encoder_config()
        encoder = load_encoder(config, adapter=folder / ADAPTER)
        if encoder.digest != parts.digest:
            raise EncoderMismatch(f"{folder / ADAPTER}: this adapter's encoder is {encoder.digest[:12]}..., the bundle pins "
                                  f"{parts.digest[:12]}...; {again}")
        query_digest = load_encoder(config).digest
        if query_digest != parts.query_digest:
            raise EncoderMismatch(f"{folder / INDEX}: made by encoder {parts.query_digest[:12]}..., but queries are encoded by "
                                  f"{query_digest[:12]}...; run `canopy run` to build the index again")
        return cls(manifest, encoder, NodeStore.open(folder / STORE, digest=encoder.digest),
                   ItemIndex.open(folder / INDEX, dimension=encoder.dimension, digest=query_digest), Corpus.open_packed(folder / CORPUS),
                   cache_bytes)

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
        found = self._search(jobs, queries)
        targets: list[_Target] = []
        owners: list[int] = []
        for number, job in enumerate(jobs):
            if isinstance(job, RetrieveJob):
                outcomes[number].hits = [Hit(id=i, score=round(s, _DIGITS), modality=(item := self.corpus[i]).modality,
                                             title=item.title) for i, s in found[number]]
                continue
            hits = found[number] if not job.item_ids and not job.items else [(i, None) for i in job.item_ids]
            mine = self._targets(job, hits, queries[number], outcomes[number])
            targets += mine
            owners += [number] * len(mine)
        for target, number, evidence in zip(targets, owners, self._refine(targets, jobs, owners), strict=True):
            evidence.retrieval_score = None if target.retrieval is None else round(target.retrieval, _DIGITS)
            outcomes[number].items.append(evidence)
        return outcomes

    def _encode_queries(self, questions: Sequence[str]) -> np.ndarray:
        # One by one: a batch pads and blocks differently, and the last bits of a vector would depend on the neighbours.
        distinct = {q: n for n, q in enumerate(dict.fromkeys(questions))}
        vectors = np.concatenate([self._encoder.encode_queries([q]) for q in distinct])
        return vectors[[distinct[q] for q in questions]]

    def _search(self, jobs: Sequence[Job], queries: np.ndarray) -> dict[int, list[tuple[str, float]]]:
        asking = [n for n, j in enumerate(jobs) if isinstance(j, RetrieveJob) or not (j.item_ids or j.items)]
        if not asking:
            return {}
        depth = min(max(jobs[n].k for n in asking), len(self.corpus.ids))
        scores, ids = self._index.search(queries[asking], depth)
        return {n: [(i, float(s)) for i, s in zip(ids[row][:jobs[n].k], scores[row], strict=False)]
                for row, n in enumerate(asking)}

    def _targets(self, job: CompressJob, hits: Sequence[tuple[str, float | None]], query: np.ndarray,
                 outcome: Outcome) -> list[_Target]:
        branching = job.branching or self._hierarchy.branching
        stored = branching == self._store.branching
        with_nodes = [self.corpus.folds.exact_representative(i) for i, _ in hits]
        scored = dict(zip([i for i, _ in hits], self._store.scores(with_nodes, query), strict=True)) if stored and hits else {}
        targets = []
        known = [(self.corpus[i], s, scored.get(i)) for i, s in hits]
        chars = sum(map(read_chars, [*job.items, *(() if stored else (i for i, _, _ in known))]))
        if chars > MAX_ENCODED_CHARS:
            outcome.status, outcome.error = 413, (
                f"the items to encode have {chars} characters as the encoder reads them (a table's title and columns count in every row); at most "
                f"{MAX_ENCODED_CHARS} a request: send fewer or smaller items" + ("" if stored or not known else ", or leave out `branching`"))
            return []
        for item, retrieval, scores in [*known, *((i, None, None) for i in job.items)]:
            leaves = cut_item(item, self._hierarchy.segment_seconds)
            tree = build_tree(leaves.count, branching)
            if scores is None:
                scores = self._encode_nodes(item, leaves, tree, branching, outcome).astype(np.float32) @ query
            else:
                outcome.cached += 1
            targets.append(_Target(item, leaves, tree, np.asarray(scores, dtype=np.float32), retrieval))
        return targets

    def _encode_nodes(self, item: Item, leaves: Leaves, tree: Tree, branching: int, outcome: Outcome) -> np.ndarray:
        key = f"{item.content_digest()}:{branching}"
        held = self._cache.get(key)
        if held is not None:
            outcome.cached += 1
            return held
        # Half precision as in the store: an item gets the same evidence by id and sent in. One item a call, as for queries.
        vectors = self._encoder.encode_nodes([NodeRequest(item, leaves, tree.lo, tree.hi)])[0].astype(np.float16)
        self._cache.put(key, vectors)
        outcome.encoded += 1
        return vectors

    def _refine(self, targets: Sequence[_Target], jobs: Sequence[Job],
                owners: Sequence[int]) -> list[ItemEvidence]:
        if not targets:
            return []
        kept = _keep(targets, [jobs[n] for n in owners])
        words = [item_words(t.item, t.leaves) for t in targets]
        counted = self._encoder.count_tokens([text for once, each in words for text in (once, *each)])
        out, start = [], 0
        for number, (target, (once, each)) in enumerate(zip(targets, words, strict=True)):
            tokens = counted[start:start + 1 + len(each)]
            start += 1 + len(each)
            job = jobs[owners[number]]
            out.append(describe(target.item, target.leaves, target.tree, target.scores, kept[number], once, each, tokens,
                                fragments=isinstance(job, CompressJob) and job.fragments))
        return out


def _keep(targets: Sequence[_Target], jobs: Sequence[Job]) -> list[np.ndarray]:
    """Nodes that each target's own job keeps of it; targets under the same rule are refined together."""
    rules = [(j.rule, j.margin) if isinstance(j, CompressJob) else ("parent", 0.0) for j in jobs]
    kept: list[np.ndarray] = [np.zeros(0, dtype=np.int64) for _ in targets]
    for rule, margin in dict.fromkeys(rules):
        members = [n for n, r in enumerate(rules) if r == (rule, margin)]
        forest, offsets = join_trees([targets[n].tree for n in members])
        chosen = refine(forest, np.concatenate([targets[n].scores for n in members]), rule=rule, margin=margin)
        for place, n in enumerate(members):
            kept[n] = np.flatnonzero(chosen[offsets[place]:offsets[place + 1]])
    return kept


def read_chars(item: Item) -> int:
    """How many characters the encoder reads of an item: a table's title, section and column names come again with every row."""
    if item.modality != "table":
        return sum(map(len, (item.text, item.title, item.caption, item.words, *(c.text for c in item.cues))))
    names = [len(h) for h in item.header]
    cells = sum(len(c) + names[n] for r in item.rows for n, c in enumerate(r) if c)
    return cells + len(item.rows) * (len(item.title) + len(item.section))


def describe(item: Item, leaves: Leaves, tree: Tree, scores: np.ndarray, kept: np.ndarray, once: str, each: Sequence[str],
             tokens: np.ndarray, *, fragments: bool) -> ItemEvidence:
    """Kept nodes of one item as regions in reading order.

    ``tokens`` holds the tokens of ``once`` (the words that come once with whatever is kept), then of each fragment.
    """
    order = kept[np.argsort(tree.lo[kept], kind="stable")]
    regions, covered = [], np.zeros(leaves.count, dtype=bool)
    for v in order:
        lo, hi = int(tree.lo[v]), int(tree.hi[v])
        covered[lo:hi] = True
        span, text = region_words(item, leaves, lo, hi, each)
        regions.append(Region(fragments=(lo, hi), span=span, score=round(float(scores[v]), _DIGITS), depth=int(tree.depth[v]),
                              tokens=int(tokens[1 + lo:1 + hi].sum()), text=text))
    shown = None
    if fragments:
        cut = [region_words(item, leaves, i, i + 1, each) for i in range(leaves.count)]
        shown = [Fragment(span=s, text=t, kept=bool(covered[i])) for i, (s, t) in enumerate(cut)]
    return ItemEvidence(id=item.id, modality=item.modality, title=item.title, unit=UNITS[item.modality], count=leaves.count,
                        head=once, tokens_before=int(tokens.sum()), tokens_after=int(tokens[0] + tokens[1:][covered].sum()),
                        regions=regions, fragments=shown)


def region_words(item: Item, leaves: Leaves, lo: int, hi: int, each: Sequence[str]) -> tuple[tuple[float, float], str]:
    """A region's span and words; a text's span is narrowed to its words, so that ``text[start:end]`` is the region's text."""
    start, end = leaves.span(lo, hi)
    if item.modality != "text":
        return (start, end), "\n".join(t for t in each[lo:hi] if t)
    a, b = int(start), int(end)
    raw = item.text[a:b]
    a, b = a + len(raw) - len(raw.lstrip()), b - (len(raw) - len(raw.rstrip()))
    return ((a, b), item.text[a:b]) if a < b else ((int(start), int(start)), "")
