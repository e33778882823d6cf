"""MiniLM: f0 is what sentence-transformers computes; one_pass pools what it says; nothing is truncated."""

import numpy as np
import pytest

from canopy.embeddings.build import node_request
from canopy.encoder.minilm import MiniLMEncoder, model_folder
from canopy.encoder.words import item_pieces, region_text
from canopy.hierarchy.leaves import cut_item
from canopy.items import Cue, Item

TEXT = Item("x/t", "x", "text", title="Lighthouse",
            text="The tower stands on a reef. Its lamp burned whale oil. Keepers rowed out twice a month. "
            "In 1911 it was rebuilt in granite.")
TABLE = Item("x/b", "x", "table", title="Rivers", section="Length", header=("River", "km"),
             rows=(("Nile", "6650"), ("Rhine", ""), ("Loire", "1012")))
VIDEO = Item("x/v", "x", "video", title="Tea", caption="How tea is made", duration=70.0,
             cues=(Cue(2, 5, "Pick the leaves."), Cue(40, 44, "Roll them.")))
IMAGE = Item("x/i", "x", "image", title="Peaks", caption="A bar chart")


@pytest.mark.slow
def test_f0_agrees_with_sentence_transformers(encoder):
    from sentence_transformers import SentenceTransformer

    texts = ["A lighthouse on a reef.", "Whale oil", "x",
             "Which river is the longest one in Africa, and where does it end?"]
    want = SentenceTransformer(str(model_folder()), device="cpu").encode(texts, normalize_embeddings=True)
    assert np.allclose(encoder.encode_queries(texts), want, atol=1e-5)


@pytest.mark.parametrize("mode", ["one_pass", "separate"])
def test_batch_mates_do_not_change_a_vector(encoder, mode):
    e = encoder if mode == "one_pass" else MiniLMEncoder("separate")
    requests = [node_request(i, 2, 30.0) for i in (TEXT, TABLE, VIDEO, IMAGE)]
    together = e.encode_nodes(requests)
    for r, found in zip(requests, together, strict=True):
        alone, = e.encode_nodes([r])
        assert found.shape == (len(r.lo), 384) and found.dtype == np.float32
        assert np.allclose(found, alone, atol=2e-6)
        assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_one_pass_is_the_mean_of_the_spans_token_states(encoder):
    import torch

    r = node_request(TEXT, 2, 30.0)
    text = "".join(p.text for p in item_pieces(TEXT, r.leaves)[0])
    coded = encoder.tokenizer.encode(text, add_special_tokens=False)
    with torch.inference_mode():
        states = encoder.f0(input_ids=torch.tensor([[encoder.cls, *coded.ids, encoder.sep]])).last_hidden_state[0,
            1:-1].numpy()
    starts = np.array([o[0] for o in coded.offsets])
    head = len("Lighthouse. ")
    found, = encoder.encode_nodes([r])
    for n, (lo, hi) in enumerate(zip(r.lo, r.hi, strict=True)):
        a, b = r.leaves.span(lo, hi)
        own = states[(starts < head) | ((starts >= head + a) & (starts < head + b))].mean(0)
        assert np.allclose(found[n], own / np.linalg.norm(own), atol=1e-5)


def test_a_text_longer_than_the_window_is_read_to_its_end(encoder):
    filler = "The weather on that coast is mild and nothing of note happened there. " * 60
    items = [Item("x/a", "x", "text", text=filler + last)
             for last in ("Penguins breed on the cliffs.", "The treaty was signed by candlelight.")]
    for mode in ("one_pass", "separate"):
        e = encoder if mode == "one_pass" else MiniLMEncoder("separate")
        requests = [node_request(i, 2, 30.0) for i in items]
        a, b = e.encode_nodes(requests)
        assert float(a[0] @ b[0]) < 0.99999, mode
        last = int(np.flatnonzero(requests[0].lo == requests[0].leaves.count - 1)[0])
        query, = e.encode_queries(["Where do penguins breed?"])
        assert float(a[last] @ query) > float(b[last] @ query) + 0.2


def test_headers_are_part_of_every_table_node(encoder):
    renamed = Item("x/b", "x", "table", title="Rivers", section="Length", header=("River", "miles"), rows=TABLE.rows)
    for e in (encoder, MiniLMEncoder("separate")):
        a, b = e.encode_nodes([node_request(TABLE, 2, 30.0), node_request(renamed, 2, 30.0)])
        changed = np.abs(a - b).max(axis=1) > 1e-4
        empty_cell = [n
            for n, (lo, hi) in enumerate(zip(node_request(TABLE, 2, 30.0).lo, node_request(TABLE, 2, 30.0).hi,
                                             strict=True)) if (lo, hi) == (1, 2)]
        assert all(changed[n] for n in range(len(changed)) if n not in empty_cell)


def test_region_text_is_verbatim_and_says_columns_once():
    leaves = cut_item(TEXT)
    assert region_text(TEXT, leaves, 1, 3) == "Its lamp burned whale oil. Keepers rowed out twice a month."
    assert region_text(TABLE, cut_item(TABLE), 0, 2) == "Rivers. Length\nRiver is Nile; km is 6650\nRiver is Rhine"
    assert region_text(VIDEO, cut_item(VIDEO), 1, 2) == "Tea. How tea is made. Roll them."
    assert region_text(IMAGE, cut_item(IMAGE), 0, 1) == "Peaks. A bar chart"


def test_keys_name_content_not_ids(encoder):
    other = MiniLMEncoder("separate")
    moved = Item("y/else", "y", "text", title=TEXT.title, text=TEXT.text)
    changed = Item("x/t", "x", "text", title=TEXT.title, text=TEXT.text.replace("granite", "concrete"))
    for e in (encoder, other):
        key = e.node_keys(node_request(TEXT, 2, 30.0))
        assert np.array_equal(key, e.node_keys(node_request(moved, 2, 30.0)))
        same = (key == e.node_keys(node_request(changed, 2, 30.0))).all(axis=1)
        # one_pass vectors depend on the whole item; separate ones on their own words only
        assert not same.any() if e.mode == "one_pass" else (same.sum() == 4)
    assert encoder.digest != other.digest != MiniLMEncoder("separate", window=128).digest
