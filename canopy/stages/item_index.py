"""Stage `item_index`: FAISS over the f0 embeddings of whole items, the roots of the node store, and BM25 over their
words."""

from __future__ import annotations

import numpy as np

from canopy.atomic import replace_directory
from canopy.config import Config
from canopy.corpus.folds import read_folds
from canopy.corpus.reader import Corpus
from canopy.embeddings.store import NodeStore
from canopy.index.item_index import ItemIndex
from canopy.index.search import ItemSearch, write_index
from canopy.index.terms import item_terms
from canopy.paths import Paths
from canopy.progress import counted, progress
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.protocol import Validator

STAGE = Stage("item_index", per_benchmark=False, group="retrieval", kinds=("faiss",))


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Index the representatives in the f0 store into ``data/item_index``; folded items are left out."""
    store = NodeStore.open(paths.output("node_embeddings") / "f0")
    folds = read_folds(paths.output("corpus"))
    searched = np.array([folds.representative(i) == i for i in store.item_ids], dtype=bool)
    tracker.log_params({"quantisation": "fp16", "metric": "inner product", "retrieval": config.index.retrieval,
                        "encoder_digest": store.digest})
    with replace_directory(paths.output("item_index")) as out:
        ids = [i for i, s in zip(store.item_ids, searched, strict=True) if s]
        with progress(f"indexing {len(ids):,} items"):
            index = ItemIndex.build(ids, store.roots()[searched], digest=store.digest)
        corpus = Corpus.open(paths.output("corpus"))
        words = (item_terms(corpus[i]) for i in counted(ids, "indexing words", len(ids), "items"))
        write_index(out, index, words, config.index.retrieval)
        # Opened as a searcher opens it: a file that cannot be searched on the configured device fails here.
        ItemSearch.open(out, dimension=store.dimension, digest=store.digest, device=config.index.device)
        result = StageResult(metrics={"items": float(len(index)), "dimension": float(index.dimension),
                                      "bytes": float((out / "index.faiss").stat().st_size)})
        write_summary(out, result)
    return result
