"""The node store, write side: incremental by content key, shard by shard, resumable, swapped in whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from canopy.atomic import replace_directory, write_json
from canopy.digests import file_sha256, text_key
from canopy.embeddings.store import FORMAT, ROWS_SCHEMA, keys_name, shard_name
from canopy.encoder.base import NodeEncoder, NodeRequest
from canopy.hierarchy.leaves import cut_item
from canopy.hierarchy.tree import build_tree
from canopy.items import Item, write_table
from canopy.links import link_or_copy


@dataclass(slots=True)
class BuildCounts:
    """What a build did: nodes in the store, nodes encoded now, shard files rewritten and kept."""

    nodes: int = 0
    encoded: int = 0
    shards_written: int = 0
    shards_kept: int = 0


def shard_of(item_id: str, shards: int) -> int:
    """The shard an item belongs to: by a hash of its id, so that it never moves while the number of shards stays."""
    return int.from_bytes(text_key(item_id)[:8], "big") % shards


def node_request(item: Item, branching: int, segment_seconds: float) -> NodeRequest:
    """All nodes of an item's hierarchy, in level order."""
    leaves = cut_item(item, segment_seconds)
    tree = build_tree(leaves.count, branching)
    return NodeRequest(item, leaves, tree.lo, tree.hi)


class _Cache:
    """Vectors already computed: the shard of the last good store and of a killed build, by content key."""

    def __init__(self, folders: Sequence[Path], shard: int) -> None:
        self.parts = []
        for folder in folders:
            try:
                keys = np.load(folder / keys_name(shard))
                vectors = np.load(folder / shard_name(shard), mmap_mode="r")
            except (OSError, ValueError):
                continue
            if len(keys) == len(vectors) and keys.ndim == 2:
                flat = np.ascontiguousarray(keys).view("V16").ravel()
                self.parts.append((keys, vectors, {k.tobytes(): n for n, k in enumerate(flat)}))

    def fill(self, keys: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Copy what is held into ``out``; returns the positions that are missing."""
        missing = []
        for n, key in enumerate(keys):
            raw = key.tobytes()
            for _, vectors, where in self.parts:
                if raw in where:
                    out[n] = vectors[where[raw]]
                    break
            else:
                missing.append(n)
        return np.array(missing, dtype=np.int64)


def build_store(target: Path, work: Path, items: Iterable[Item], encoder: NodeEncoder, *, shards: int, branching: int,
                segment_seconds: float,
                advance: Callable[[int], None] = lambda n: None, beside: Sequence[Path] = ()) -> BuildCounts:
    """Build or bring up to date a node store.

    Only nodes whose content key is not held are encoded; a shard whose items and keys did not change keeps its file
    (the same inode). Finished shards of a killed build are found again in ``work``. The manifest is written last,
    then the whole folder is swapped in.

    Parameters
    ----------
    target : Path
        The store's folder; the last good store there is read and then replaced.
    work : Path
        Folder for resumable work, outside every output.
    advance : callable
        Called with the number of nodes done.
    beside : sequence of Path
        Other stores of as many shards, whose vectors are taken if the content key is the same.
    """
    by_shard: list[list[Item]] = [[] for _ in range(shards)]
    for item in items:
        by_shard[shard_of(item.id, shards)].append(item)
    counts, listed = BuildCounts(), []
    rows: list[dict[str, str | int]] = []
    work.mkdir(parents=True, exist_ok=True)
    with replace_directory(target) as out:
        for number, members in enumerate(by_shard):
            members.sort(key=lambda i: i.id)
            requests = [node_request(i, branching, segment_seconds) for i in members]
            keys = np.concatenate([encoder.node_keys(r) for r in requests]) if requests else np.zeros((0, 16), np.uint8)
            sound = _sound(target, number)
            if sound and np.array_equal(np.load(target / keys_name(number)), keys):
                for name in (shard_name(number), keys_name(number)):
                    link_or_copy(target / name, out / name)
                counts.shards_kept += 1
                advance(len(keys))
            else:
                sources = [*([target] if sound else []), work, *(b for b in beside if _sound(b, number))]
                counts.encoded += _write_shard(out, work, sources, number, requests, keys, encoder, advance)
                counts.shards_written += 1
            row = 0
            for r in requests:
                rows.append({"item_id": r.item.id, "shard": number, "row": row, "fragments": r.leaves.count,
                             "nodes": len(r.lo)})
                row += len(r.lo)
            counts.nodes += row
            listed.append({"file": shard_name(number), "nodes": row, "items": len(members),
                           "sha256": file_sha256(out / shard_name(number)),
                           "keys_sha256": file_sha256(out / keys_name(number))})
        rows.sort(key=lambda r: str(r["item_id"]))
        write_table(out / "items.parquet", rows, ROWS_SCHEMA)
        write_json(out / "manifest.json", {
            "format": FORMAT, "encoder": encoder.name, "digest": encoder.digest, "mode": encoder.mode,
            "dimension": encoder.dimension, "branching": branching, "segment_seconds": segment_seconds,
            "items": len(rows), "nodes": counts.nodes, "shards": listed})
    shutil.rmtree(work, ignore_errors=True)
    return counts


def _sound(target: Path, number: int) -> bool:
    """Whether the last good store's shard is what its manifest says; a damaged one is never read from."""
    try:
        listed = json.loads((target / "manifest.json").read_bytes())["shards"][number]
        return all(file_sha256(target / name) == listed[key]
                   for name, key in ((shard_name(number), "sha256"), (keys_name(number), "keys_sha256")))
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return False


def _write_shard(out: Path, work: Path, sources: Sequence[Path], number: int, requests: Sequence[NodeRequest],
                 keys: np.ndarray,
                 encoder: NodeEncoder, advance: Callable[[int], None], chunk: int = 256) -> int:
    """Write one shard's vectors and keys into ``work``, link them into ``out``; returns how many nodes were encoded."""
    vectors = np.zeros((len(keys), encoder.dimension), dtype=np.float16)
    missing = _Cache(sources, number).fill(keys, vectors)
    owner = np.repeat(np.arange(len(requests)), [len(r.lo) for r in requests])
    first = np.cumsum([0, *[len(r.lo) for r in requests]])
    advance(len(keys) - len(missing))
    needy = np.unique(owner[missing])
    for start in range(0, len(needy), chunk):
        part = []
        where = []
        for n in needy[start:start + chunk]:
            r, own = requests[n], missing[owner[missing] == n]
            nodes = own - first[n]
            part.append(NodeRequest(r.item, r.leaves, r.lo[nodes], r.hi[nodes]))
            where.append(own)
        for own, encoded in zip(where, encoder.encode_nodes(part), strict=True):
            vectors[own] = encoded
            advance(len(own))
    # Keys go first and come last: if a kill strikes between the two, there are no keys, and vectors without keys
    # are not held.
    (work / keys_name(number)).unlink(missing_ok=True)
    for name, array in ((shard_name(number), vectors), (keys_name(number), keys)):
        beside = work / f"{name}.building"
        with open(beside, "wb") as f:
            np.save(f, array)
            f.flush()
            os.fsync(f.fileno())
        os.replace(beside, work / name)
        link_or_copy(work / name, out / name)
    return len(missing)
