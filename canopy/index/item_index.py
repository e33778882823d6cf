"""FAISS behind a small interface: exact inner-product search over items, fp16 quantisation, CPU or GPUs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.atomic import replace_directory, write_json
from canopy.digests import file_sha256
from canopy.errors import DataError, DeviceError, EncoderMismatch

FORMAT = 1


class ItemIndex:
    """Items by the inner product of their f0 vectors with a query.

    ``search`` returns item ids, not positions. The saved file is always in CPU form; a GPU copy lives in memory only.
    """

    def __init__(self, index: Any, ids: list[str], digest: str) -> None:
        self.ids, self.digest, self.dimension = ids, digest, index.d
        self._cpu, self._search = index, index

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each item."""
        return {i: n for n, i in enumerate(self.ids)}

    @classmethod
    def build(cls, ids: Sequence[str], vectors: np.ndarray, *, digest: str) -> ItemIndex:
        """Index the given items.

        Parameters
        ----------
        ids : sequence of str
        vectors : ndarray, shape (len(ids), dimension)
            Unit vectors by the encoder that ``digest`` names.
        """
        import faiss

        if len(ids) != len(vectors):
            raise ValueError(f"{len(ids)} ids but {len(vectors)} vectors")
        index = faiss.IndexScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        full = np.ascontiguousarray(vectors, dtype=np.float32)
        index.train(full[:1])
        index.add(full)
        return cls(index, list(ids), digest)

    def save(self, path: Path) -> None:
        """Write index.faiss, ids.parquet and, last, manifest.json; swapped in whole."""

        with replace_directory(path) as out:
            self.write(out)

    def write(self, out: Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write the files into an existing folder; ``extra`` goes into the manifest."""
        import faiss

        faiss.write_index(self._cpu, str(out / "index.faiss"))
        pq.write_table(pa.table({"item_id": pa.array(self.ids, pa.string())}), out / "ids.parquet", compression="zstd")
        sums = {f"{name}_sha256": file_sha256(out / file)
                for name, file in (("index", "index.faiss"), ("ids", "ids.parquet"))}
        write_json(out / "manifest.json", {
            **(extra or {}), **sums, "format": FORMAT, "digest": self.digest, "dimension": self.dimension,
            "items": len(self.ids),
            "metric": "inner product",
            "quantisation": "fp16"})

    @classmethod
    def open(cls, path: Path, *, dimension: int, digest: str, device: str = "cpu") -> ItemIndex:
        """Open a saved index for queries of one encoder.

        Raises
        ------
        DataError
            If there is no whole index.
        EncoderMismatch
            If dimension or encoder digest do not fit: refused here, not at the first search.
        DeviceError
            If ``device`` is cuda and there is no GPU, or FAISS was installed without GPU support.
        """
        import faiss

        try:
            manifest = json.loads((path / "manifest.json").read_bytes())
            sums = {f"{name}_sha256": file_sha256(path / file)
                    for name, file in (("index", "index.faiss"), ("ids", "ids.parquet"))}
            whole = manifest["format"] == FORMAT and all(manifest[key] == value for key, value in sums.items())
            known = manifest["digest"], manifest["dimension"]
        except (OSError, ValueError, KeyError, TypeError):
            raise DataError(f"{path}: no finished index there; run `canopy run`") from None
        if not whole:
            raise DataError(f"{path}: cannot be read: its files are not those of its manifest; "
                            "run `canopy run --force item_index`")
        if known[0] != digest:
            raise EncoderMismatch(f"{path}: built with encoder {known[0][:12]}, opened with {digest[:12]}; "
                                  "run `canopy run --stale`")
        if known[1] != dimension:
            raise EncoderMismatch(f"{path}: vectors of {known[1]} dimensions, the encoder gives {dimension}; "
                                  "run `canopy run --stale`")
        try:
            index = faiss.read_index(str(path / "index.faiss"))
        except RuntimeError as e:
            raise DataError(f"{path / 'index.faiss'}: cannot be read ({str(e).splitlines()[0][:120]}); "
                            "run `canopy run --force item_index`") from None
        ids = pq.read_table(path / "ids.parquet")["item_id"].to_pylist()
        if index.ntotal != len(ids) or index.d != dimension:
            raise DataError(f"{path}: index of {index.ntotal} vectors of {index.d} dimensions beside {len(ids)} ids; "
                            "run `canopy run --force item_index`")
        opened = cls(index, ids, digest)
        if device == "cuda":
            opened._search = _to_gpus(index)
        return opened

    def search(self, queries: np.ndarray, k: int, *,
               among: np.ndarray | None = None) -> tuple[np.ndarray, list[list[str]]]:
        """The k nearest items of each query, best first.

        Parameters
        ----------
        among : ndarray of bool, shape (items,), or None
            Search only these; applied inside the index, so that k results come if there are as many.

        Returns
        -------
        scores : ndarray of float32, shape (queries, min(k, items searched))
        ids : list of list of str
        """
        searched = len(self.ids) if among is None else int(np.count_nonzero(among))
        k = min(k, searched)
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        if k == 0 or len(queries) == 0:
            return np.zeros((len(queries), k), np.float32), [[] for _ in queries]
        if among is None or searched == len(self.ids):
            scores, rows = self._search.search(queries, k)
        elif self._search is self._cpu:
            scores, rows = _search_among(self._search, queries, k, among)
        else:
            scores, rows = _filter_deeper(self._search, queries, k, among)
        return scores, [[self.ids[r] for r in row] for row in rows]


def _search_among(index: Any, queries: np.ndarray, k: int, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Search the marked rows through FAISS's bitmap selector."""
    import faiss

    bits = np.packbits(among, bitorder="little")
    selector = faiss.IDSelectorBitmap(len(among), faiss.swig_ptr(bits))
    parameters = faiss.SearchParameters()
    parameters.sel = selector
    return index.search(queries, k, params=parameters)


def _filter_deeper(index: Any, queries: np.ndarray, k: int, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for an index without selectors (on GPUs): look deeper until every query has k marked rows."""
    depth = k
    while True:
        depth = min(len(among), 2 * depth)
        scores, rows = index.search(queries, depth)
        kept = among[rows]
        if depth == len(among) or (kept.sum(1) >= k).all():
            chosen = [np.flatnonzero(m)[:k] for m in kept]
            best_scores = [s[c] for s, c in zip(scores, chosen, strict=True)]
            return np.stack(best_scores), np.stack([r[c] for r, c in zip(rows, chosen, strict=True)])


def _to_gpus(index: Any) -> Any:
    """A copy sharded over all GPUs, fp16 as on the CPU."""
    import faiss

    if not hasattr(faiss, "StandardGpuResources"):
        raise DeviceError("index.device is cuda but this FAISS has no GPU support; "
                          "install `canopy-rag[gpu]` (faiss-gpu) or set index.device: cpu")
    if faiss.get_num_gpus() == 0:
        raise DeviceError("index.device is cuda but no GPU is visible; check nvidia-smi or set index.device: cpu")
    # FAISS shards a flat index over several GPUs but leaves a scalar-quantised one on the CPU; the values are fp16
    # already, so nothing is lost.
    flat = faiss.IndexFlatIP(index.d)
    flat.add(index.reconstruct_n(0, index.ntotal))
    options = faiss.GpuMultipleClonerOptions()
    options.shard = True
    options.useFloat16 = True
    return faiss.index_cpu_to_all_gpus(flat, co=options)
