"""LongLLMLingua through the package with a tiny real causal model.

It runs on today's transformers, and users' words are never evaluated.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from canopy.config import Answers
from canopy.errors import DataError
from canopy.pipelines.local_models import hold_model
from canopy.pipelines.longllmlingua import SETTINGS, CachedModel, compress, load_compressor
from tests.llm.scripted_server import ScriptedServer
from tests.pipelines.served import Shelf
from tests.tiny_baselines import CORPUS, build_causal

pytest.importorskip("llmlingua")
WORDS = " ".join(CORPUS).split()
ASKED = "Who shared the Nobel Prize in Physics in 1903?"


@pytest.fixture(scope="module")
def compressor(shelf: Shelf) -> Any:
    return hold_model("longllmlingua", shelf.models, load_compressor)


def contexts(*sizes: int) -> list[str]:
    draw = random.Random(1)
    return [f"Title {n}: " + " ".join(draw.choice(WORDS) for _ in range(size)) for n, size in enumerate(sizes)]


def test_lists_of_keys_and_values_go_in_and_come_out(compressor: Any) -> None:
    import torch

    model = CachedModel(compressor.model._model)
    ids = compressor.tokenizer(ASKED, return_tensors="pt", add_special_tokens=False)["input_ids"]
    mask = torch.ones_like(ids)
    with torch.inference_mode():
        whole = model(ids, attention_mask=mask, past_key_values=None, use_cache=True)
        first = model(ids[:, :5], attention_mask=mask[:, :5], past_key_values=None, use_cache=True)
        halves = [[k[:, :, :5], v[:, :, :5]] for k, v in first.past_key_values]  # as the package slices them
        rest = model(ids[:, 5:], attention_mask=mask, past_key_values=halves, use_cache=True)
    assert torch.allclose(whole.logits[:, 5:], rest.logits, atol=1e-4)
    assert len(rest.past_key_values) == 2 and rest.past_key_values[0][0].shape == (1, 2, ids.shape[1], 4)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_without_the_wrapper_the_package_fails_on_this_transformers(shelf: Shelf) -> None:
    """If this fails, the package has caught up and `CachedModel` may go."""
    bare = load_compressor(shelf.models["longllmlingua"])
    bare.model = bare.model._model
    with pytest.raises((ValueError, TypeError, AttributeError)):
        compress(bare, ASKED, contexts(150, 150), 0.55)


def test_prompts_of_many_steps_shrink_to_about_the_rate_and_the_same_every_time(compressor: Any) -> None:
    texts = contexts(140, 160, 150, 130, 140)  # longer than the model's window of 1,000 tokens
    tokens = sum(len(compressor.tokenizer(c)["input_ids"]) for c in texts)
    assert tokens > compressor.max_position_embeddings
    text, notes = compress(compressor, ASKED, texts, 0.3)
    assert abs(len(compressor.tokenizer(text)["input_ids"]) / tokens - 0.3) < 0.15 and ASKED not in text and not notes
    assert compress(compressor, ASKED, texts, 0.3) == (text, notes)


def test_what_does_not_fit_the_window_is_told(compressor: Any) -> None:
    _, notes = compress(compressor, ASKED * 20, contexts(20, 900), 0.3)
    assert notes == {"items ranked by their beginning": 1, "question cut for the compressor": 1}
    assert compress(compressor, ASKED, [" ", ""], 0.5) == ("", {}) and compress(compressor, "", ["Neon"],
                                                                                0.5)[0] == "Neon"


def test_words_of_users_are_never_evaluated_or_parsed(compressor: Any, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "+print('evaluated')"
    text, _ = compress(compressor, evil, ["<llmlingua, rate=0.0, compress=True>kept?</llmlingua>", f"{evil} " * 5,
                                          "\n\n😀 日本 \ud800"], 1.0)
    assert capsys.readouterr().out == "" and "rate=0.0, compress=True>kept?" in text
    assert SETTINGS["context_budget"] == "+100"


def test_the_system_reads_the_compressed_words(shelf: Shelf) -> None:
    with ScriptedServer() as server:
        result, trace = shelf.answer("longllmlingua", server)
        assert [c.role for c in trace.calls] == ["reader"] and len(result.views) == 1
        assert result.views[0].title == "" and result.views[0].text == result.evidence[0].text


def test_a_model_with_too_small_a_window_is_refused(tmp_path: Any) -> None:
    folder = build_causal(tmp_path / "small", positions=512)
    with pytest.raises(DataError, match="at least 1000 are needed"):
        hold_model("longllmlingua", {"longllmlingua": folder}, load_compressor)


def test_a_text_over_the_readers_cap_is_read_up_to_it(shelf: Shelf) -> None:
    """Left out whole it would leave the reader nothing."""
    with ScriptedServer() as server:
        whole, _ = shelf.answer("longllmlingua", server, answers=Answers(k=9))
        assert whole.tokens > 100 and not whole.cap_cut
        cut, _ = shelf.answer("longllmlingua", server, answers=Answers(k=9, evidence_tokens=100))
    assert (
        cut.cap_cut and 90 <= cut.tokens <= 100 and whole.views[0].text.startswith(cut.views[0].text) and cut.rewritten
    )
