"""The node store: only what changed is encoded and rewritten; a killed build is resumed; a wrong encoder is refused."""

import dataclasses
import json

import numpy as np
import pytest

from canopy.embeddings.build import build_store, node_request
from canopy.embeddings.store import NodeStore, keys_name, shard_name
from canopy.encoder.minilm import MiniLMEncoder
from canopy.errors import DataError, EncoderMismatch
from canopy.items import Item

ITEMS = [Item(f"x/{n}", "x", "text", title=f"Note {n}",
              text=f"Sentence one of note {n}. A second sentence. And number {n} again.") for n in range(12)]


class Counting:
    """An encoder that counts the nodes it is asked to encode and can be told to die."""

    def __init__(self, inner, die_after=None):
        self.inner, self.encoded, self.die_after = inner, 0, die_after

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def encode_nodes(self, requests):
        if self.die_after is not None and self.encoded >= self.die_after:
            raise KeyboardInterrupt
        self.encoded += sum(len(r.lo) for r in requests)
        return self.inner.encode_nodes(requests)


def build(tmp_path, items, encoder, **over):
    return build_store(tmp_path / "store", tmp_path / "work", items, encoder,
                       **{"shards": 4, "branching": 2, "segment_seconds": 30.0, **over})


def test_vectors_are_the_encoders(encoder, tmp_path):
    counts = build(tmp_path, ITEMS, encoder)
    store = NodeStore.open(tmp_path / "store", digest=encoder.digest)
    assert counts.encoded == counts.nodes == sum(len(node_request(i, 2, 30.0).lo) for i in ITEMS)
    assert store.item_ids == sorted(i.id for i in ITEMS) and "x/3" in store and "x/99" not in store
    for item in ITEMS:
        want, = encoder.encode_nodes([node_request(item, 2, 30.0)])
        assert store.vectors(item.id).dtype == np.float16
        assert np.allclose(store.vectors(item.id), want, atol=1e-3)
        assert len(store.tree(item.id)) == len(want)
    query = encoder.encode_queries(["number 5"])[0]
    assert np.allclose(store.scores(["x/5"], query)[0], store.vectors("x/5").astype(np.float32) @ query)
    assert np.array_equal(store.roots()[store.item_ids.index("x/7")], store.vectors("x/7")[0])


@pytest.mark.parametrize("mode", ["one_pass", "separate"])
def test_only_what_changed_is_encoded_and_rewritten(encoder, tmp_path, mode):
    inner = encoder if mode == "one_pass" else MiniLMEncoder("separate")
    build(tmp_path, ITEMS, inner)
    inodes = {p.name: p.stat().st_ino for p in (tmp_path / "store").glob("shard-*")}
    held = NodeStore.open(tmp_path / "store").vectors("x/8").copy()

    again = Counting(inner)
    assert build(tmp_path, ITEMS, again).encoded == again.encoded == 0

    changed = [dataclasses.replace(i, text=i.text.replace("second", "changed")) if i.id == "x/3" else i for i in ITEMS]
    counting = Counting(inner)
    counts = build(tmp_path, changed, counting)
    # one_pass: all 5 nodes of the item; separate: the changed sentence, its pair and the root
    assert counting.encoded == counts.encoded == (5 if mode == "one_pass" else 3)
    assert counts.shards_written == 1 and counts.shards_kept == 3
    now = {p.name: p.stat().st_ino for p in (tmp_path / "store").glob("shard-*")}
    assert sum(now[n] != inodes[n] for n in now) == 2  # one shard: its vectors and its keys
    assert np.array_equal(NodeStore.open(tmp_path / "store").vectors("x/8"), held)


def test_another_branching_takes_the_regions_that_it_shares(encoder, tmp_path):
    long = [dataclasses.replace(i, text=f"{i.text} One more for {i.id}. And a fifth.") for i in ITEMS]
    build(tmp_path, long, encoder)
    two = NodeStore.open(tmp_path / "store")
    counting = Counting(encoder)
    counts = build_store(tmp_path / "three", tmp_path / "work3", long, counting, shards=4, branching=3,
                         segment_seconds=30.0, beside=[tmp_path / "store"])
    three, spans = NodeStore.open(tmp_path / "three"), {}
    for b, store in ((2, two), (3, three)):
        spans[b] = {(i.id, lo, hi): v for i in long
                    for lo, hi, v in zip(store.tree(i.id).lo, store.tree(i.id).hi, store.vectors(i.id), strict=True)}
    shared = set(spans[2]) & set(spans[3])
    assert three.branching == 3 and 0 < len(shared) < len(spans[3])
    assert counting.encoded == counts.encoded == len(spans[3]) - len(shared)
    assert all(np.array_equal(spans[2][k], spans[3][k]) for k in shared)


def test_adding_and_removing_items_keeps_the_rest(encoder, tmp_path):
    build(tmp_path, ITEMS[:10], encoder)
    counting = Counting(encoder)
    build(tmp_path, ITEMS[2:], counting)
    assert counting.encoded == 10
    assert NodeStore.open(tmp_path / "store").item_ids == sorted(i.id for i in ITEMS[2:])


def test_a_killed_build_leaves_the_old_store_and_resumes(encoder, tmp_path):
    build(tmp_path, ITEMS[:4], encoder)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path, ITEMS, Counting(encoder, die_after=10))
    assert NodeStore.open(tmp_path / "store").item_ids == sorted(i.id for i in ITEMS[:4])
    counting = Counting(encoder)
    counts = build(tmp_path, ITEMS, counting)
    assert counting.encoded < counts.nodes - 20 and len(NodeStore.open(tmp_path / "store")) == 12
    assert [p.name for p in tmp_path.iterdir()] == ["store"]


def test_a_damaged_shard_is_encoded_anew(encoder, tmp_path):
    build(tmp_path, ITEMS, encoder, shards=1)
    path = tmp_path / "store" / shard_name(0)
    path.write_bytes(path.read_bytes()[:-100])
    counting = Counting(encoder)
    build(tmp_path, ITEMS, counting, shards=1)
    assert counting.encoded == 60
    assert len(np.load(tmp_path / "store" / keys_name(0))) == 60


def test_a_shard_with_one_flipped_bit_is_not_read_from(encoder, tmp_path):
    build(tmp_path, ITEMS, encoder, shards=1)
    path = tmp_path / "store" / shard_name(0)
    want = path.read_bytes()
    path.write_bytes(want[:-1] + bytes([want[-1] ^ 1]))
    assert build(tmp_path, ITEMS, Counting(encoder), shards=1).encoded == 60
    assert path.read_bytes() == want


def test_vectors_of_another_encoder_are_never_taken_for_ours(encoder, tmp_path, monkeypatch):
    """Two builds killed in a row, the second between writing a shard's vectors and its keys."""
    other = MiniLMEncoder("one_pass", window=128)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path, ITEMS, Counting(other, die_after=30), shards=2)
    assert (tmp_path / "work" / keys_name(0)).exists()
    real = np.save

    def killed(f, array):
        if array.dtype == np.uint8:
            raise KeyboardInterrupt
        real(f, array)

    monkeypatch.setattr(np, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path, ITEMS, encoder, shards=2)
    monkeypatch.undo()
    assert build(tmp_path, ITEMS, Counting(encoder), shards=2).encoded == 60


def test_an_incremental_store_is_close_to_a_fresh_one(encoder, tmp_path):
    """Encoded beside other items a vector may differ in the last digit of fp16, no more."""
    build(tmp_path / "a", ITEMS[:5], encoder)
    build(tmp_path / "a", ITEMS, encoder)
    build(tmp_path / "b", ITEMS, encoder)
    a, b = (NodeStore.open(tmp_path / x / "store") for x in "ab")
    assert all(np.allclose(a.vectors(i).astype(np.float32), b.vectors(i).astype(np.float32), atol=3e-4)
               for i in a.item_ids)


def test_what_does_not_fit_is_refused_when_opened(encoder, tmp_path):
    build(tmp_path, ITEMS[:2], encoder)
    with pytest.raises(EncoderMismatch, match="canopy run --stale"):
        NodeStore.open(tmp_path / "store", digest="0" * 64)
    with pytest.raises(DataError, match="'x/11' is not in the node store"):
        NodeStore.open(tmp_path / "store").vectors("x/11")
    (tmp_path / "store" / "manifest.json").unlink()
    with pytest.raises(DataError, match="no finished node store"):
        NodeStore.open(tmp_path / "store")


def test_equal_input_gives_equal_bytes(encoder, tmp_path):
    build(tmp_path / "a", ITEMS, encoder)
    build(tmp_path / "b", list(reversed(ITEMS)), encoder)
    files = sorted(p.name for p in (tmp_path / "a" / "store").iterdir())
    assert all((tmp_path / "a" / "store" / f).read_bytes() == (tmp_path / "b" / "store" / f).read_bytes()
               for f in files)
    assert json.loads((tmp_path / "a" / "store" / "manifest.json").read_text())["nodes"] == 60
