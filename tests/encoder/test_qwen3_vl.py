"""Qwen3-VL: what it is given is what the model's own code would give it, and a vector depends on the node alone."""

from __future__ import annotations

import dataclasses
import json
import shutil

import numpy as np
import pytest

from canopy.embeddings.build import build_store, node_request
from canopy.embeddings.store import NodeStore
from canopy.encoder.base import NodeRequest
from canopy.encoder.loading import load_encoder
from canopy.encoder.pictures import fit, media_file
from canopy.encoder.qwen3_vl import Qwen3VLEncoder
from canopy.encoder.qwen3_vl_inputs import end_sentence
from canopy.errors import DataError, DeviceError, EncoderMismatch
from canopy.items import Cue, Item
from tests.tiny_qwen3_vl import DIMENSION, build_checkpoint, tiny_config

TEXT = Item("x/t", "x", "text", title="Leopards",
            text="A leopard looks out of the grass. It waits. Nobody saw it come. The river is near.")
TABLE = Item("x/b", "x", "table", "Rivers", "Length", header=("River", "km"),
             rows=(("Nile", "6650"), ("Rhine", "1230"), ("Loire", "1012")))
IMAGE = Item("x/i", "x", "image", "Noise", caption="Many colours", media="noise.png", words="STOP")
FILM = Item("x/v", "x", "video", caption="Three colours", media="film.mp4", duration=95.0,
            cues=(Cue(2, 5, "It is red."), Cue(40, 44, "It is green.")))
ITEMS = (TEXT, TABLE, IMAGE, FILM)


def requests(items=ITEMS):
    return [node_request(i, 2, 30.0) for i in items]


@pytest.fixture(scope="module")
def vl(tiny_vl, pictures):
    return load_encoder(tiny_config(tiny_vl), media={"x": pictures})


def load_units(encoder, request):
    return [encoder.inputs.load(u) for u in encoder.inputs.plan(encoder._contents(request))]


def test_words_are_given_as_the_chat_template_does(vl):
    messages = [{"role": "system", "content": [{"type": "text", "text": "Represent the user's input."}]},
                {"role": "user", "content": [{"type": "text", "text": TEXT.text}]}]
    want = vl.inputs.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=True,
                                                   return_dict=True, return_tensors="pt")
    assert load_units(vl, requests([TEXT])[0])[0].ids.tolist() == want["input_ids"][0].tolist()
    query, = vl.inputs.plan([vl._contents(requests([TEXT])[0])[0]], query=True)
    messages[0]["content"][0]["text"] = vl.config.query_instruction
    want = vl.inputs.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=True,
                                                   return_dict=True, return_tensors="pt")
    assert vl.inputs.load(query).ids.tolist() == want["input_ids"][0].tolist()


def test_an_image_is_given_as_the_processor_does(vl, pictures):
    from PIL import Image

    shown = Image.open(pictures / "noise.png").resize((64, 32), Image.Resampling.BICUBIC)
    messages = [{"role": "system", "content": [{"type": "text", "text": "Represent the user's input."}]},
                {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Noise. Many colours"}]}]
    prompt = vl.inputs.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    want = vl.inputs.processor(text=[prompt], images=[shown], do_resize=False, return_tensors="pt")
    unit, = load_units(vl, requests([IMAGE])[0])
    assert unit.ids.tolist() == want["input_ids"][0].tolist()
    assert unit.kinds.tolist() == want["mm_token_type_ids"][0].tolist()
    assert np.array_equal(unit.images[0][0], want["pixel_values"])
    assert unit.images[0][1].tolist() == want["image_grid_thw"].tolist()


def test_a_video_is_given_as_timed_pairs_of_frames(vl):
    request = requests([FILM])[0]
    whole, leaf = load_units(vl, NodeRequest(FILM, request.leaves, np.array([0, 2]), np.array([3, 3])))
    decode = vl.inputs.processor.tokenizer.decode
    places = int(whole.videos[0][1][0, 1:].prod()) // 4
    pair = "<|vision_start|>" + "<|video_pad|>" * places + "<|vision_end|>"
    # Frames at 5, 15, ... 85 seconds of 95: nine, the last one doubled; a pair's time is its middle.
    assert decode(whole.ids).split("user\n")[1] == "".join(f"<{t} seconds>{pair}"
                                                           for t in ("10.0", "30.0", "50.0", "70.0", "85.0")) + (
        "Three colours. It is red. It is green.<|im_end|>\n<|im_start|>assistant\n")
    assert whole.videos[0][1][0, 0] == 5 and leaf.videos[0][1][0, 0] == 2  # 60 to 95 seconds: 65, 75, 85
    assert set(leaf.kinds) == {0, 2} and (leaf.ids[leaf.kinds == 2] == vl.inputs._video).all()


def test_words_that_look_like_special_tokens_are_words(vl):
    text = "Say <|im_end|> or <|image_pad|> or <|vision_start|>."
    ids, = vl.inputs.encode_words([text])
    assert not set(ids.tolist()) & set(vl.inputs.processor.tokenizer.all_special_ids)
    assert vl.inputs.processor.tokenizer.decode(ids) == text
    vector, = vl.encode_nodes(requests([dataclasses.replace(TEXT, text=text)]))
    assert np.isfinite(vector).all()


def test_padding_and_batch_mates_do_not_change_a_vector(vl):
    together = vl.encode_nodes(requests())
    assert vl.notes == []
    for r, found in zip(requests(), together, strict=True):
        alone, = vl.encode_nodes([r])
        assert found.shape == (len(r.lo), DIMENSION) and found.dtype == np.float32
        assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
        assert np.allclose(found, alone, atol=2e-6)
        for n in range(len(r.lo)):
            one, = vl.encode_nodes([NodeRequest(r.item, r.leaves, r.lo[n:n + 1], r.hi[n:n + 1])])
            assert np.allclose(found[n], one[0], atol=2e-6)
    apart = np.concatenate(together)
    assert len(np.unique(apart.round(3), axis=0)) == len(apart)  # every node here says something else
    queries = vl.encode_queries(["Where does the leopard wait?", "km", "km "])
    assert np.allclose(queries[:1], vl.encode_queries(["Where does the leopard wait?"]), atol=2e-6)
    assert np.array_equal(queries[1], queries[2])
    assert vl.encode_queries([]).shape == (0, DIMENSION) and vl.encode_nodes([]) == []


def test_pixels_count_and_items_without_a_file_are_read_by_their_words(vl, tiny_vl, pictures):
    blind = load_encoder(tiny_config(tiny_vl))
    gone = dataclasses.replace(IMAGE, media="gone.png", media_sha256="ab")
    seen, = vl.encode_nodes(requests([IMAGE]))
    words, = blind.encode_nodes(requests([IMAGE]))
    assert not np.allclose(seen, words, atol=1e-2)
    assert np.allclose(vl.encode_nodes(requests([gone]))[0], words, atol=2e-6)
    assert media_file(dataclasses.replace(IMAGE, media="../secret.png"), {"x": pictures / "deeper"}) is None
    assert media_file(IMAGE, {"x": (pictures / "elsewhere", pictures)}) == pictures / "noise.png"
    assert [d.text for d in blind._contents(requests([IMAGE])[0])] == ["Noise. Many colours. STOP"]
    # The model can read the sign itself.
    assert [d.text for d in vl._contents(requests([IMAGE])[0])] == ["Noise. Many colours"]


def test_a_file_that_breaks_is_noted_and_its_words_are_read(tiny_vl, tmp_path):
    (tmp_path / "noise.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (tmp_path / "film.mp4").write_bytes(b"no film")
    encoder = load_encoder(tiny_config(tiny_vl), media={"x": tmp_path})
    found = encoder.encode_nodes(requests([IMAGE, FILM]))
    words = load_encoder(tiny_config(tiny_vl)).encode_nodes(requests([IMAGE, FILM]))
    assert all(np.allclose(a, b, atol=2e-6) for a, b in zip(found, words, strict=True))
    assert len(encoder.notes) == 2 and all("by its words alone" in n for n in encoder.notes)
    assert "noise.png" in encoder.notes[0] and "film.mp4" in encoder.notes[1]


def test_frames_past_the_pictures_are_noted(tiny_vl, pictures):
    encoder = load_encoder(tiny_config(tiny_vl), media={"x": pictures})
    encoder.encode_nodes(requests([dataclasses.replace(FILM, duration=155.0)]))
    assert any("film.mp4" in n and "frames" in n for n in encoder.notes)
    assert any("by its words alone" in n for n in encoder.notes)  # the last segment, from 120 s on, has no frame


def test_long_nodes_come_in_windows_that_leave_nothing_out(tiny_vl, pictures):
    encoder = load_encoder(tiny_config(tiny_vl), media={"x": pictures})
    long = dataclasses.replace(TEXT, text=" ".join(f"Sentence {n} is here." for n in range(150)))
    tall = dataclasses.replace(TABLE, rows=tuple((f"River {n}", str(n)) for n in range(150)))
    talk = dataclasses.replace(FILM, cues=tuple(Cue(n, n + 1, f"Word {n} is said now.") for n in range(90)))
    for item in (long, tall, talk):
        r = requests([item])[0]
        root = NodeRequest(item, r.leaves, r.lo[:1], r.hi[:1])
        content, = encoder._contents(root)
        units = encoder.inputs.plan([content])
        assert len(units) > 2 and all(u.length <= 512 for u in units)
        owned = [u for u in units if u.view is None]
        whole, = encoder.inputs.encode_words([content.body])
        assert sum(u.weight for u in owned) == len(whole)
        head, = encoder.inputs.encode_words([content.head + "\n" if content.head else ""])
        # A table's title, a film's caption: in every window.
        assert all(u.words[:len(head)].tolist() == head.tolist() for u in owned)
        assert [u.view is not None for u in units].count(True) == (item is talk)
        vectors = np.stack([encoder._vectors(encoder.f0, [dataclasses.replace(u, slot=0)], 1)[0].numpy()
                            for u in units])
        want = (vectors * np.array([[u.weight] for u in units])).sum(0)
        assert np.allclose(encoder.encode_nodes([root])[0][0], want / np.linalg.norm(want), atol=1e-5)
    r = requests([long])[0]
    near = dataclasses.replace(long, text=long.text.replace("149", "941"))
    root = NodeRequest(long, r.leaves, r.lo[:1], r.hi[:1])
    # The last words count too.
    assert not np.allclose(*encoder.encode_nodes([root, dataclasses.replace(root, item=near)]), atol=1e-5)


def test_a_batch_out_of_memory_is_halved(tiny_vl, pictures):
    import torch

    class Small(Qwen3VLEncoder):
        sizes: list[int] = []  # noqa: RUF012

        def _forward(self, model, units):
            self.sizes.append(len(units))
            if len(units) > 4:
                raise torch.OutOfMemoryError("made up")
            return super()._forward(model, units)

    encoder, items = Small(tiny_config(tiny_vl), media={"x": pictures}), (TEXT, IMAGE)
    found = encoder.encode_nodes(requests(items))
    for a, b in zip(found, load_encoder(tiny_config(tiny_vl), media={"x": pictures}).encode_nodes(requests(items)),
                    strict=True):
        assert np.allclose(a, b, atol=2e-6)
    assert max(encoder.sizes) > 4 and any("halved" in n for n in encoder.notes)

    class Full(Qwen3VLEncoder):
        def _forward(self, model, units):
            raise torch.OutOfMemoryError("made up")

    with pytest.raises(DeviceError, match=r"encoder\.max_tokens"):
        Full(tiny_config(tiny_vl)).encode_queries(["why?"])


def test_keys_and_digest_name_what_decides_a_vector(vl, tiny_vl, pictures, tmp_path):
    keys = np.concatenate([vl.node_keys(r) for r in requests()])
    assert keys.dtype == np.uint8 and keys.shape[1] == 16 and len(np.unique(keys, axis=0)) == len(keys)

    def other(**changes):
        return load_encoder(tiny_config(tiny_vl, **changes), media={"x": pictures})

    def same(encoder, item=IMAGE, of=IMAGE):
        return np.array_equal(encoder.node_keys(requests([item])[0]), vl.node_keys(requests([of])[0]))

    assert same(other()) and other().digest == vl.digest and other(batch_tokens=256).digest == vl.digest
    assert same(other(query_instruction="Find it")) and other(query_instruction="Find it").digest != vl.digest
    for changes in ({"instruction": "Say it"}, {"dtype": "bf16"}, {"max_tokens": 256}, {"max_pixels": 4096 * 2},
                    {"video_pixels": 8 * 2048}, {"overlap": 16}):
        assert not same(other(**changes)) and other(**changes).digest != vl.digest
    assert not same(load_encoder(tiny_config(tiny_vl)))  # blind
    assert same(vl, dataclasses.replace(IMAGE, id="y/z", words="other words"))
    assert not same(vl, dataclasses.replace(IMAGE, media="bar.png"))
    assert not same(vl, dataclasses.replace(IMAGE, caption="Few colours"))
    assert same(vl, dataclasses.replace(FILM, source="x"), FILM)
    assert not same(vl, dataclasses.replace(FILM, media_sha256="00"), FILM)
    shutil.copytree(tiny_vl, tmp_path / "copy")
    assert load_encoder(tiny_config(tmp_path / "copy")).digest == load_encoder(tiny_config(tiny_vl)).digest
    build_checkpoint(tmp_path / "other", seed=1)
    assert load_encoder(tiny_config(tmp_path / "other")).digest != load_encoder(tiny_config(tiny_vl)).digest


def test_the_node_store_holds_all_four_modalities_and_encodes_only_what_is_new(vl, tmp_path):
    def build(items):
        return build_store(tmp_path / "store", tmp_path / "work", items, vl, shards=2, branching=2,
                           segment_seconds=30.0)

    counts = build(ITEMS)
    store = NodeStore.open(tmp_path / "store", digest=vl.digest)
    for item, want in zip(ITEMS, vl.encode_nodes(requests()), strict=True):
        assert np.allclose(store.vectors(item.id), want, atol=1e-3)
    assert counts.encoded == counts.nodes == sum(len(r.lo) for r in requests())
    assert build(ITEMS).encoded == 0
    longer = dataclasses.replace(FILM, cues=(*FILM.cues, Cue(70, 72, "It is blue.")))
    assert build((TEXT, TABLE, IMAGE, longer)).encoded == 2  # the whole and the last segment


def test_bf16_is_near_fp32(vl, tiny_vl, pictures):
    half = load_encoder(tiny_config(tiny_vl, dtype="bf16"), media={"x": pictures})
    for a, b in zip(half.encode_nodes(requests()), vl.encode_nodes(requests()), strict=True):
        assert (a * b).sum(1).min() > 0.99


@pytest.mark.parametrize(("size", "most", "want"), [
    ((640, 480), 64 * 64, (64, 32)), ((640, 480), 10**9, (640, 480)), ((10, 10), 10**6, (64, 64)),
    ((9000, 10), 32 * 32 * 8, (256, 32)),
    ((5, 4000), 32 * 32, (32, 32)), ((100, 100), 100 * 100, (96, 96))])
def test_pictures_are_shown_within_bounds(size, most, want):
    assert fit(*size, most, 32) == want
    assert want[0] * want[1] <= most and not want[0] % 32 and not want[1] % 32


def test_real_pictures_and_videos_have_vectors(tiny_vl, real_data):
    folder = real_data / "media"
    paths = sorted(str(p.relative_to(folder)) for end in ("*.jpg", "*.png", "*.mp4") for p in folder.rglob(end))
    items = [Item(f"m/{n}", "m", "video" if p.endswith("mp4") else "image", caption="A thing", media=p, duration=6.2
                  if p.endswith("mp4") else 0.0)
             for n, p in enumerate(paths)]
    encoder = load_encoder(tiny_config(tiny_vl), media={"m": folder})
    together = np.concatenate(encoder.encode_nodes(requests(items)))
    alone = np.concatenate([encoder.encode_nodes(requests([i]))[0] for i in items])
    assert len(items) > 4 and encoder.notes == [] and np.allclose(together, alone, atol=2e-6)
    assert len(np.unique(together.round(3), axis=0)) == len(items)  # equal captions: only the pixels differ


def test_instructions_end_as_sentences():
    assert end_sentence(" Find it ") == "Find it." and end_sentence("Find it!") == "Find it!" and end_sentence("") == ""


def test_checkpoints_that_cannot_be_used_say_why(tiny_vl, tmp_path, monkeypatch):
    def refuse(error, match, folder, **changes):
        with pytest.raises(error, match=match):
            load_encoder(tiny_config(folder, **changes)).encode_queries(["why?"])

    refuse(DataError, "no such folder", tmp_path / "nowhere")
    refuse(DataError, "allow_download", "Some/Model-That-Is-Not-There")
    refuse(DataError, r"config\.json: no such file", tmp_path)
    made = tmp_path / "made"
    shutil.copytree(tiny_vl, made)
    (made / "config.json").write_text(json.dumps({"model_type": "bert"}))
    refuse(EncoderMismatch, "'bert'", made)
    shutil.copy(tiny_vl / "config.json", made)
    weights = (made / "model.safetensors").read_bytes()
    (made / "model.safetensors").write_bytes(weights[:len(weights) // 2])
    refuse(DataError, "download it again", made)
    (made / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    refuse(DataError, "git lfs pull", made)
    (made / "model.safetensors").unlink()
    refuse(DataError, "not complete", made)
    (made / "model.safetensors").write_bytes(weights)
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
    (made / "model.safetensors.index.json").write_text(json.dumps(index))
    refuse(DataError, "model-00001-of-00002", made)
    (made / "model.safetensors.index.json").unlink()
    (made / "tokenizer.json").unlink()
    refuse(DataError, r"\*\.jinja", made)
    refuse(DataError, r"encoder\.max_tokens 64", tiny_vl, max_tokens=64)
    import torch

    if not torch.cuda.is_available():
        refuse(DeviceError, r"encoder\.device", tiny_vl, device="cuda")


def test_a_hub_id_is_fetched_only_when_that_is_allowed(tiny_vl, monkeypatch):
    import huggingface_hub

    asked = []

    def snapshot_download(model, revision, local_files_only, allow_patterns):
        asked.append((model, revision, local_files_only, huggingface_hub.constants.HF_HUB_OFFLINE))
        return str(tiny_vl)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    encoder = load_encoder(tiny_config("Qwen/Qwen3-VL-Embedding-2B"))
    assert encoder.name == "Qwen3-VL-Embedding-2B" and encoder.digest == load_encoder(tiny_config(tiny_vl)).digest
    load_encoder(tiny_config("Qwen/Qwen3-VL-Embedding-2B", allow_download=True, revision="abc"))
    assert asked == [("Qwen/Qwen3-VL-Embedding-2B", None, True, True),
                     ("Qwen/Qwen3-VL-Embedding-2B", "abc", False, False)]
    assert huggingface_hub.constants.HF_HUB_OFFLINE is True


def test_weights_that_are_missing_are_told(tiny_vl, tmp_path):
    from safetensors.torch import load_file, save_file

    shutil.copytree(tiny_vl, tmp_path / "made")
    held = load_file(tiny_vl / "model.safetensors")
    save_file({k: v for k, v in held.items() if "layers.1.mlp" not in k}, tmp_path / "made" / "model.safetensors",
              {"format": "pt"})
    with pytest.raises(DataError, match=r"3 weights of the model are missing.*layers\.1\.mlp"):
        load_encoder(tiny_config(tmp_path / "made")).encode_queries(["why?"])


def test_a_large_files_digest_is_remembered_until_the_file_changes(tiny_vl, tmp_path, monkeypatch):
    from canopy.encoder import checkpoint

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(checkpoint, "_LARGE", 0)
    monkeypatch.setattr(checkpoint, "_DIGESTS", {})
    shutil.copytree(tiny_vl, tmp_path / "made")
    first = checkpoint.checkpoint_digest(tmp_path / "made")
    book = tmp_path / "cache" / "canopy" / "weights.json"
    key, = json.loads(book.read_text())
    assert str(tmp_path / "made" / "model.safetensors") in key
    monkeypatch.setattr(checkpoint, "_DIGESTS", {})
    book.write_text(json.dumps({key: "f" * 64}))
    assert checkpoint.checkpoint_digest(tmp_path / "made") != first  # what is remembered is believed
    (tmp_path / "made" / "model.safetensors").write_bytes((tiny_vl / "model.safetensors").read_bytes() + b"\0")
    assert checkpoint.checkpoint_digest(tmp_path / "made") not in (first, "")
    assert len(json.loads(book.read_text())) == 2
    book.write_text("not JSON")
    monkeypatch.setattr(checkpoint, "_DIGESTS", {})
    shutil.copy2(tiny_vl / "model.safetensors", tmp_path / "made")
    assert checkpoint.checkpoint_digest(tmp_path / "made") == first
