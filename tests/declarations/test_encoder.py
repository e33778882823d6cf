"""Adding an encoder is adding one file: a kind from a temporary folder encodes, fills a store and refines."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import canopy.encoder.kinds as kinds
from canopy.config import load_config
from canopy.embeddings.build import build_store
from canopy.embeddings.store import NodeStore
from canopy.encoder.loading import load_encoder
from canopy.errors import DataError
from canopy.index.item_index import ItemIndex
from canopy.items import Item
from canopy.refinement import refine
from canopy.settings import encoder_kinds, parse_encoder
from tests.import_graph import FILES

MODULE = '''
"""The kind ``words``: a node's vector counts its words in so many buckets."""

import zlib
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from canopy.digests import text_key, text_sha256
from canopy.encoder.words import region_text
from canopy.settings import EncoderSettings

REMEDY = "nothing to install"


class Settings(EncoderSettings):
    packages: ClassVar[tuple[str, ...]] = ("numpy",)

    kind: Literal["words"] = "words"
    buckets: int = Field(64, ge=8)

    @property
    def window_tokens(self):
        return 1_000_000


class Words:
    name, mode, device, notes = "words", "separate", "cpu", []

    def __init__(self, settings):
        self.dimension, self.batch_tokens = settings.buckets, settings.batch_tokens
        self.weights_sha256 = ""
        self.digest = text_sha256(f"words {settings.buckets}")

    def encode_queries(self, texts):
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for n, text in enumerate(texts):
            for word in text.casefold().replace(".", " ").replace("?", " ").split():
                vectors[n, zlib.crc32(word.encode()) % self.dimension] += 1
        return vectors / np.maximum(1e-9, np.linalg.norm(vectors, axis=1, keepdims=True))

    def _texts(self, request):
        nodes = zip(request.lo.tolist(), request.hi.tolist(), strict=True)
        return [region_text(request.item, request.leaves, lo, hi) for lo, hi in nodes]

    def encode_nodes(self, requests):
        return [self.encode_queries(self._texts(r)) for r in requests]

    def node_keys(self, request):
        keys = [text_key(self.digest + t)[:16] for t in self._texts(request)]
        return np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, 16)

    def count_tokens(self, texts):
        return np.array([len(t.split()) for t in texts], dtype=np.int64)


def load(settings, adapter, mode, media):
    return Words(settings)


def check(settings):
    return f"words: {settings.buckets} buckets"
'''
ITEMS = [
    Item("x/river", "x", "text", text="Boats are old. The Vltava flows through Prague. Bread is cheap. Nobody came."),
    Item("x/hill", "x", "text", text="The hill is green. Sheep graze there. Wind blows all day."),
]


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A params.yaml that configures the kind of the temporary folder."""
    folder = tmp_path / "kinds"
    folder.mkdir()
    (folder / "words.py").write_text(MODULE)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(folder)])
    path = tmp_path / "params.yaml"
    encoder = {"kind": "words", "buckets": 512, "window": 256, "model": ""}  # keys of other kinds, at their defaults
    path.write_text(json.dumps({"benchmarks": {"x": {"adapter": "native", "path": "x"}}, "encoder": encoder}))
    yield path
    sys.modules.pop("canopy.encoder.kinds.words", None)


def test_an_encoder_is_one_file(params: Path, tmp_path: Path) -> None:
    settings = load_config(params).encoder
    assert (settings.kind, settings.mode, settings.modes,
            settings.packages) == ("words", "separate", ("separate",), ("numpy",))
    assert not settings.light and parse_encoder({}).light
    assert settings.model_dump() == {"kind": "words", "mode": "separate", "overlap": 64, "batch_tokens": 4096,
                                     "buckets": 512}
    assert list(encoder_kinds()) == ["minilm", "qwen3_vl", "words"]
    assert encoder_kinds()["words"].check(settings) == "words: 512 buckets"

    encoder = load_encoder(settings)
    counts = build_store(tmp_path / "store", tmp_path / "work", ITEMS, encoder, shards=2, branching=2,
                         segment_seconds=30.0)
    assert counts.encoded == counts.nodes
    again = build_store(tmp_path / "store", tmp_path / "work", ITEMS, encoder, shards=2, branching=2,
                        segment_seconds=30.0)
    assert (again.encoded, again.shards_kept) == (0, 2)

    store = NodeStore.open(tmp_path / "store", digest=encoder.digest)
    query = encoder.encode_queries(["Which river flows through Prague?"])
    index = ItemIndex.build(store.item_ids, store.roots(), digest=encoder.digest)
    _, ids = index.search(query, 1)
    assert ids[0][0] == "x/river"
    (scores,), tree = store.scores(["x/river"], query[0]), store.tree("x/river")
    regions = np.flatnonzero(refine(tree, scores))
    assert [(int(tree.lo[v]), int(tree.hi[v])) for v in regions] == [(1, 2)]


def test_keys_of_another_kind_are_refused_unless_at_their_default(params: Path) -> None:
    with pytest.raises(ValueError,
        match=r"window\n +a setting of kind minilm, and kind is words: remove it, or set encoder.kind=minilm"):
        parse_encoder({"kind": "words", "window": 128})
    assert parse_encoder({"kind": "words", "window": 128}, lenient=True).kind == "words"
    params.write_text(params.read_text().replace('"buckets": 512', '"buckets": 1'))
    with pytest.raises(DataError, match=r"encoder\.buckets: Input should be greater than or equal to 8"):
        load_config(params)


def test_no_module_beyond_the_encoders_names_a_kind() -> None:
    """What differs between kinds is in their settings (``light``, ``modes``, ``packages``), for kinds to come too."""
    named = {path for path, file in FILES.items() if not path.startswith("canopy/encoder/")
             for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Compare)
             if {"minilm", "qwen3_vl"} & {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}}
    assert named == set()
