"""Training: learns, is deterministic, resumes after a kill with the same bytes, and leaves f0 alone."""

import hashlib
import json

import numpy as np
import pytest

from canopy.config import Training
from canopy.encoder.adapter import adapter_digest, save_adapter
from canopy.encoder.examples import build_examples, epoch_batches, micro_batches
from canopy.encoder.minilm import MiniLMEncoder
from canopy.encoder.training import decision_losses, train_adapter
from canopy.gold.instances import build_instances
from canopy.hierarchy.tree import build_tree
from canopy.items import Item

SENTENCES = ("Bees dance to tell where nectar is.", "The town hall burned down in 1702.", "Copper turns green in rain.",
             "A sonnet has fourteen lines.")
ITEMS = {f"x/{n}": Item(f"x/{n}", "x", "text", title=f"Notes {n}", text=" ".join(SENTENCES[n:] + SENTENCES[:n]))
         for n in range(4)}
QUESTIONS = {"q0": "How do bees find food?", "q1": "When did fire destroy the town hall?",
             "q2": "Why are old roofs green?", "q3": "How long is a sonnet?"}
SETTINGS = Training(epochs=3, batch=4, learning_rate=5e-4, checkpoint_steps=2)


def examples():
    gold = [{"question_id": q, "item_id": i, "group": 0, "fragments": [(int(q[1]) - int(i[2])) % 4], "count": 4,
             "modality": "text", "coverage": "located"}
            for q in QUESTIONS for i in ITEMS]
    tree = build_tree(4, 2)
    rows = [{**x, "child_spans": [(int(tree.lo[c]), int(tree.hi[c])) for c in x["child_nodes"]]}
            for x in build_instances(gold, dict.fromkeys(QUESTIONS, "train"), 2)]
    return build_examples(rows, QUESTIONS, ITEMS, 30.0)


def test_batches_cover_every_example_and_keep_an_items_questions_together(encoder):
    made = examples()
    for epoch in range(3):
        batches = epoch_batches(made, 8, 1, epoch)
        assert sorted(n for b in batches for n in b) == list(range(len(made)))
        assert [len({made[n].request.item.id for n in b}) for b in batches] == [2, 2]
        cut = {size: [micro_batches(b, made, size, encoder.request_cost) for b in batches] for size in (80, 16)}
        assert cut[80] == [[b] for b in batches]
        assert [[len(runs), [n for run in runs for n in run]] for runs in cut[16]] == [[2, b] for b in batches]
    assert epoch_batches(made, 8, 1, 0) != epoch_batches(made, 8, 1, 1)


@pytest.mark.slow
def test_training_learns_resumes_at_the_same_bytes_and_leaves_f0_alone(encoder, tmp_path):
    import torch

    made = examples()
    before = hashlib.sha256(b"".join(p.numpy().tobytes() for p in encoder.f0.parameters())).hexdigest()
    queries = torch.from_numpy(encoder.encode_queries([e.question for e in made]))
    with torch.inference_mode():
        untrained = float(decision_losses(encoder, encoder.f0, made, queries, 20.0).mean())

    model, curve = train_adapter(encoder, made, SETTINGS, tmp_path / "a")
    save_adapter(model, tmp_path / "one")
    with torch.inference_mode():
        assert float(decision_losses(encoder, model, made, queries, 20.0).mean()) < 0.8 * untrained
    assert hashlib.sha256(b"".join(p.numpy().tobytes() for p in encoder.f0.parameters())).hexdigest() == before
    assert {n.split(".")[-2] for n, p in model.named_parameters() if p.requires_grad} == {"default"}

    class Killed(Exception):
        pass

    def die(step, *_):
        if step == 5:
            raise Killed

    with pytest.raises(Killed):
        train_adapter(encoder, made, SETTINGS, tmp_path / "b", die)
    torch.rand(7)  # whatever the process drew since must not matter
    weights = torch.load(tmp_path / "b" / "checkpoint.pt", weights_only=True)
    assert len(weights["curve"]) == 4
    seen = []
    again, resumed = train_adapter(encoder, made, SETTINGS, tmp_path / "b", lambda s, *_: seen.append(s))
    assert seen == [*range(1, len(curve) + 1)] and resumed == curve  # steps 1 to 4 are told again from the checkpoint
    save_adapter(again, tmp_path / "two")
    assert adapter_digest(tmp_path / "one") == adapter_digest(tmp_path / "two")

    loaded = MiniLMEncoder("one_pass", adapter=tmp_path / "one")
    request = made[0].request
    with torch.inference_mode():
        want = encoder.node_vectors(model, [request]).numpy()
    assert np.allclose(loaded.encode_nodes([request])[0], want, atol=1e-5)
    assert loaded.digest != encoder.digest
    assert np.array_equal(loaded.encode_queries(["bees"]), encoder.encode_queries(["bees"]))
    written = json.loads((tmp_path / "one" / "adapter_config.json").read_text())
    assert written["base_model_name_or_path"] == "all-MiniLM-L6-v2"


def test_a_checkpoint_of_another_run_is_not_resumed(encoder, tmp_path):
    made = examples()[:4]
    settings = SETTINGS.model_copy(update={"epochs": 2, "batch": 2, "checkpoint_steps": 1})

    def die(step, *_):
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_adapter(encoder, made, settings, tmp_path, die)
    assert (tmp_path / "checkpoint.pt").is_file()
    seen = []
    train_adapter(encoder, made, settings.model_copy(update={"seed": 99}), tmp_path, lambda s, *_: seen.append(s))
    assert seen == [1, 2, 3, 4]
    (tmp_path / "checkpoint.pt").write_bytes(b"cut short")
    train_adapter(encoder, made, settings, tmp_path)
