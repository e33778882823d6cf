"""Training f_theta on Qwen3-VL: the visual tower and f0 stay; memory that runs out costs time alone."""

from __future__ import annotations

import hashlib
import shutil

import numpy as np
import pytest

from canopy.config import Training
from canopy.encoder.adapter import adapter_digest, load_adapter, save_adapter
from canopy.encoder.base import NodeRequest
from canopy.encoder.examples import Example, build_examples, halve
from canopy.encoder.loading import load_encoder
from canopy.encoder.memory import Accumulation
from canopy.encoder.qwen3_vl import Qwen3VLEncoder
from canopy.encoder.qwen3_vl_model import load_backbone
from canopy.encoder.training import decision_losses, train_adapter
from canopy.errors import DeviceError, EncoderMismatch
from canopy.gold.instances import build_instances
from canopy.hierarchy.leaves import cut_item
from canopy.hierarchy.tree import build_tree
from tests.encoder.test_qwen3_vl import FILM, IMAGE, TABLE, TEXT, requests
from tests.tiny_qwen3_vl import tiny_config

ITEMS = {i.id: i for i in (TEXT, TABLE, FILM)}
QUESTIONS = {"q0": "Who waits in the grass?", "q1": "How long is the Rhine?", "q2": "What is green?"}
SETTINGS = Training(epochs=4, batch=2, learning_rate=1e-2, dropout=0.0, checkpoint_steps=3)


def examples():
    gold = [{"question_id": q, "item_id": i.id, "group": 0, "fragments": [n % cut_item(i).count],
             "count": cut_item(i).count, "modality": i.modality,
             "coverage": "located"} for n, q in enumerate(QUESTIONS) for i in ITEMS.values()]
    rows = []
    for x in build_instances(gold, dict.fromkeys(QUESTIONS, "train"), 2):
        tree = build_tree(x["count"], 2)
        rows.append({**x, "child_spans": [(int(tree.lo[c]), int(tree.hi[c])) for c in x["child_nodes"]]})
    return build_examples(rows, QUESTIONS, ITEMS, 30.0)


def weights(model):
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()


@pytest.fixture(scope="module")
def vl(tiny_vl, pictures):
    return load_encoder(tiny_config(tiny_vl), media={"x": pictures})


def gradients(encoder, model, made, queries, count, note=lambda s: None):
    """The gradient of all examples' losses, and their sum."""
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        p.grad = None
    adding = Accumulation(trained, lambda run: decision_losses(encoder, model, [e for e, _ in run],
                                                               queries[[n for _, n in run]], 20.0), halve, note)
    total = adding.add([(e, n) for n, e in enumerate(made)], count)
    return total, [p.grad.clone() for p in trained]


@pytest.mark.slow
def test_training_leaves_f0_and_the_visual_tower_alone_and_resumes_at_the_same_bytes(vl, tiny_vl, pictures, tmp_path):
    import torch

    made, before = examples(), weights(vl.f0)
    queries = torch.from_numpy(vl.encode_queries([e.question for e in made]))
    with torch.inference_mode():
        untrained = float(decision_losses(vl, vl.f0, made, queries, 20.0).mean())
    model, curve = train_adapter(vl, made, SETTINGS, tmp_path / "a")
    with torch.inference_mode():
        assert float(decision_losses(vl, model, made, queries, 20.0).mean()) < 0.8 * untrained
    trained = [n for n, p in model.named_parameters() if p.requires_grad]
    assert trained and all("language_model" in n and "lora_" in n
                           for n in trained) and not any("visual" in n for n in trained)
    assert weights(vl.f0) == before == weights(load_backbone(tiny_vl, torch.float32, "cpu"))
    save_adapter(model, tmp_path / "one", vl.name)
    written = (tmp_path / "one" / "adapter_config.json").read_text()
    assert str(tmp_path) not in written and str(tiny_vl.parent) not in written

    class Killed(Exception):
        pass

    def die(step, *_):
        if step == 5:
            raise Killed

    with pytest.raises(Killed):
        train_adapter(vl, made, SETTINGS, tmp_path / "b", die)
    torch.rand(7)
    again, resumed = train_adapter(vl, made, SETTINGS, tmp_path / "b")
    save_adapter(again, tmp_path / "two", vl.name)
    assert resumed == curve and adapter_digest(tmp_path / "one") == adapter_digest(tmp_path / "two")

    everything = requests((TEXT, TABLE, IMAGE, FILM))
    with torch.inference_mode():
        want = vl.node_vectors(model, everything).numpy()
        beside = vl.node_vectors(load_adapter(load_backbone(tiny_vl, torch.float32, "cpu"), tmp_path / "one",
                                              merge=False), everything).numpy()
    tuned = load_encoder(tiny_config(tiny_vl), tmp_path / "one", media={"x": pictures})
    assert np.allclose(np.concatenate(tuned.encode_nodes(everything)), want,
                       atol=1e-5) and np.allclose(beside, want, atol=1e-6)
    half = load_encoder(tiny_config(tiny_vl, dtype="bf16"), tmp_path / "one", media={"x": pictures})
    assert (np.concatenate(half.encode_nodes(everything)) * want).sum(1).min() > 0.99
    assert np.array_equal(tuned.encode_queries(["Who?"]), vl.encode_queries(["Who?"]))
    assert not np.allclose(np.concatenate(tuned.encode_nodes(everything)), np.concatenate(vl.encode_nodes(everything)),
                           atol=1e-2)
    assert tuned.digest != vl.digest and all((a != b).any(1).all() for a, b in (
        (tuned.node_keys(r), vl.node_keys(r)) for r in everything))


def test_halves_of_a_run_have_its_losses_and_gradient(vl):
    import torch

    made = examples()
    queries = torch.from_numpy(vl.encode_queries([e.question for e in made]))
    torch.manual_seed(1)
    model = vl.add_adapter(vl.fresh_backbone(), rank=2, alpha=4, dropout=0.0).train()
    with torch.no_grad():
        for n, p in model.named_parameters():
            if "lora_B" in n:
                p.normal_(std=0.1)
    parts, todo = [], [[(e, n) for n, e in enumerate(made)]]
    while todo:
        run = todo.pop()
        cut = halve(run)
        todo += cut
        parts += [] if cut else [run]
    assert all(len(p) == 1 and p[0][0].decisions == 1 for p in parts)
    assert len(parts) == sum(e.decisions for e in made)
    # Alternatives of one decision stay together: it costs the least of them.
    r = made[0].request
    either = Example("?", NodeRequest(r.item, r.leaves, r.lo[:3], r.hi[:3]), ((1, 0, 0), (2, 0, 1), (1, 2, 2)),
                     (0, 1, 0))
    (first, number), = halve([(either, 7)])[0]
    assert number == 7 and first.decision == (0, 0) and first.pairs == ((1, 0, 0), (1, 2, 1))

    want, exact = gradients(vl, model, made, queries, 5)
    got = 0.0
    sums = [torch.zeros_like(g) for g in exact]
    for run in parts:
        trained = [p for p in model.parameters() if p.requires_grad]
        for p in trained:
            p.grad = None
        loss = decision_losses(vl, model, [e for e, _ in run], queries[[n for _, n in run]], 20.0).sum() / 5
        loss.backward()
        got += float(loss.detach())
        sums = [s + p.grad for s, p in zip(sums, trained, strict=True)]
    assert got == pytest.approx(want, rel=1e-4)
    assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in zip(sums, exact, strict=True))


def test_training_runs_out_of_memory_are_halved_and_done_again(tiny_vl, pictures, vl):
    import torch

    class Small(Qwen3VLEncoder):
        """Holds five nodes' graphs; what is larger fails in the forward pass, or half way through the backward pass."""

        fails_backward = False

        def node_vectors(self, model, requests):
            if sum(len(r.lo) for r in requests) <= 5:
                return super().node_vectors(model, requests)
            if not self.fails_backward:
                raise torch.OutOfMemoryError("made up")
            vectors = super().node_vectors(model, requests)
            last = next(p for n, p in model.named_parameters()
                        if "layers.0.self_attn.q_proj.lora_A" in n)  # its gradient comes late

            def fail(_):
                handle.remove()
                raise torch.OutOfMemoryError("made up")

            handle = last.register_hook(fail)
            return vectors

    made = examples()
    queries = torch.from_numpy(vl.encode_queries([e.question for e in made]))
    small = Small(tiny_config(tiny_vl), media={"x": pictures})
    torch.manual_seed(1)
    model = small.add_adapter(small.fresh_backbone(), rank=2, alpha=4, dropout=0.0).train()
    want, exact = gradients(vl, model, made, queries, 5)
    for small.fails_backward in (False, True):
        notes: list[str] = []
        got, found = gradients(small, model, made, queries, 5, notes.append)
        assert got == pytest.approx(want, rel=1e-4) and len(notes) > 3 and all("halved" in n for n in notes)
        assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in zip(found, exact, strict=True))

    class Full(Qwen3VLEncoder):
        def node_vectors(self, model, requests):
            raise torch.OutOfMemoryError("made up")

    with pytest.raises(DeviceError, match="one node and its children"):
        gradients(Full(tiny_config(tiny_vl)), model, made, queries, 5)


def test_runs_are_cut_by_tokens(vl):
    costs = {e.request.item.id: vl.request_cost(e.request) for e in examples()}
    assert costs[FILM.id] > costs[TABLE.id] and all(c % 4 == 0 for c in costs.values())
    tokens = sum(u.length for u in vl.inputs.plan(vl._contents(examples()[0].request)))
    assert costs[examples()[0].request.item.id] == 4 * tokens


def test_an_adapter_of_another_base_is_refused(tiny_vl, tmp_path):
    from tests.tiny_model import make_adapter

    make_adapter(tmp_path / "minilm")
    encoder = load_encoder(tiny_config(tiny_vl), tmp_path / "minilm")
    with pytest.raises(EncoderMismatch, match=r"encoder\.kind"):
        encoder.encode_nodes(requests([TEXT]))
    shutil.rmtree(tmp_path / "minilm")
