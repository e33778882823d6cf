"""Nodes go to the encoder of their item's modality, and to the shared one where there is none."""

from __future__ import annotations

import numpy as np

from canopy.embeddings.build import node_request
from canopy.encoder.by_modality import ModalityEncoder
from canopy.encoder.minilm import MiniLMEncoder
from canopy.items import Item

TEXT = Item("b/t", "b", "text", title="Nile", text="The Nile flows north. It is long.")
TABLE = Item("b/l", "b", "table", title="Lakes", header=("Lake", "Depth"), rows=(("Erie", "64"), ("Superior", "406")))


def test_each_modality_has_its_own_encoder(encoder: MiniLMEncoder) -> None:
    other = MiniLMEncoder("separate")
    both = ModalityEncoder(encoder, {"table": other})
    text, table = (node_request(i, 2, 30.0) for i in (TEXT, TABLE))
    found = both.encode_nodes([table, text, table])
    for vectors, own, request in zip(found, (other, encoder, other), (table, text, table), strict=True):
        assert np.allclose(vectors, own.encode_nodes([request])[0], atol=1e-5)
        assert np.array_equal(both.node_keys(request), own.node_keys(request))
    assert not np.allclose(found[0], encoder.encode_nodes([table])[0], atol=1e-3)
    assert np.array_equal(both.encode_queries(["How deep is Erie?"]), encoder.encode_queries(["How deep is Erie?"]))
    assert len({both.digest, encoder.digest, other.digest, ModalityEncoder(encoder, {"text": other}).digest}) == 4
