"""RECOMP over tiny real checkpoints.

The best sentences, the summary, and what is said where a model is absent or none.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from canopy.errors import DataError
from canopy.llm.roles import Trace
from canopy.pipelines import recomp
from canopy.pipelines.availability import Situation, find_models, find_obstacles
from canopy.pipelines.base import find_systems
from canopy.pipelines.local_models import hold_model
from canopy.pipelines.recomp import DualEncoder, RecompExtractive, Summariser
from tests.llm.scripted_server import ScriptedServer, words_of
from tests.pipelines.served import ANSWERS, QUESTION, Shelf


@pytest.fixture(autouse=True)
def short_summaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random model never writes the end of its summary."""
    monkeypatch.setattr(recomp, "SUMMARY_TOKENS", 12)


def test_scores_are_inner_products_of_mean_pooled_states_whatever_the_batch(shelf: Shelf) -> None:
    import torch

    encoder = DualEncoder(shelf.models["recomp_extractive"])
    texts = ["Neon", "The Nile flows north through eleven countries, one after the other.", "",
             "He shared the Nobel Prize"]
    scores, cut = encoder.score("Who shared the prize?", texts)
    model, tokenizer = encoder._model, encoder._tokenizer
    with torch.inference_mode():
        alone = [model(**tokenizer([t], return_tensors="pt")).last_hidden_state[0].mean(0).numpy()
                 for t in ("Who shared the prize?", *texts)]
    assert np.allclose(scores, [v @ alone[0] for v in alone[1:]], atol=1e-4) and cut == 0
    assert encoder.score("q", ["word " * 200])[1] == 1


def test_the_n_best_sentences_of_all_items_are_read(shelf: Shelf) -> None:
    with ScriptedServer() as server:
        tools = shelf.tools(server, models=shelf.models)
        kept = {n: RecompExtractive(4, n).answer(QUESTION, tools, Trace()) for n in (1, 3, 500)}
    assert [len(kept[n].evidence) for n in (1, 3)] == [1, 3] and all(e.hi - e.lo == 1 for e in kept[3].evidence)
    everything = [(e.item_id, e.lo) for e in kept[500].evidence]
    assert everything == [(i, n) for i in kept[500].rounds[0].retrieved for n in range(shelf.library.leaves(i).count)]
    best = sorted(kept[500].evidence, key=lambda e: -e.score)
    assert {(e.item_id, e.lo) for e in kept[3].evidence} == {(e.item_id, e.lo) for e in best[:3]}


def test_the_summary_is_shown_alone_and_an_empty_one_not_at_all(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as server:
        result, _ = shelf.answer("recomp-abstractive", server)
        writer = hold_model("recomp_abstractive", shelf.models, Summariser)
        expected, cut = writer.summarise(QUESTION.question, "\n".join(shelf.library.show(e).words()
                                                                      for e in _whole(result, shelf)))
        assert [s.text for s in result.views] == [expected] * bool(expected) and result.notes.get(
            "documents cut for the summariser", 0
        ) == cut
        assert all(s.title == "" and s.modality == "text" for s in result.views)
        monkeypatch.setattr(Summariser, "summarise", lambda self, question, documents: ("", False))
        result, _ = shelf.answer("recomp-abstractive", server)
        assert (
            result.evidence == []
            and result.notes == {"empty summary": 1}
            and "There is no evidence" in words_of(server.requests[-1])
        )


def _whole(result: Any, shelf: Shelf) -> Any:
    from canopy.pipelines.compression import keep_whole

    return keep_whole(result.rounds[0].retrieved, shelf.tools())


def test_summaries_are_the_same_every_time_and_long_documents_are_told(shelf: Shelf) -> None:
    writer = Summariser(shelf.models["recomp_abstractive"])
    summaries = [writer.summarise("Who?", "The Nile. " * n) for n in (3, 3, 900)]
    assert summaries[0] == summaries[1] and [m[1] for m in summaries] == [False, False, True]


def test_a_model_that_is_absent_or_none_is_said_so(tmp_path: Path, shelf: Shelf) -> None:
    (spec,) = find_systems(["recomp-extractive"])
    obstacles = find_obstacles(spec, Situation(llm=True))
    assert (
        len(obstacles) == 1
        and "answers.models.recomp_extractive is not set" in obstacles[0]
        and "fangyuan/nq_extractive_compressor" in obstacles[0]
    )
    named = {"recomp_extractive": "nowhere/at-all"}
    assert find_models(named, tmp_path) == {} and "nowhere/at-all" in find_obstacles(spec, Situation(named=named))[0]
    (tmp_path / "models").mkdir()
    folders = find_models({"recomp_extractive": "models"}, tmp_path)
    assert find_obstacles(spec, Situation(models=folders)) == []
    with pytest.raises(DataError, match=r"answers.models.recomp_extractive: .*models: cannot be loaded"):
        RecompExtractive(4).answer(QUESTION, shelf.tools(models=folders), Trace())
    with pytest.raises(DataError, match="generates, not an encoder"):
        hold_model("recomp_extractive", {"recomp_extractive": shelf.models["recomp_abstractive"]}, DualEncoder)
    with pytest.raises(DataError, match=r"weights that .* needs are not in it"):
        hold_model("recomp_abstractive", {"recomp_abstractive": _without_a_weight(shelf.models["recomp_abstractive"],
                                                                                  tmp_path / "lacking")}, Summariser)
    with pytest.raises(DataError, match="evaluate --list"):
        hold_model("recomp_extractive", {}, DualEncoder)


def _without_a_weight(whole: Path, folder: Path) -> Path:
    from safetensors.torch import load_file, save_file

    shutil.copytree(whole, folder)
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.final_layer_norm.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


def test_sizes_are_named_for_the_budget_figures() -> None:
    for name, expected in {"recomp-extractive": "N=2", "aks": "M=8", "longllmlingua": "budget=0.3"}.items():
        sizes = find_systems([name])[0].sizes
        assert sizes is not None and expected in sizes(ANSWERS)


def damaged(whole: Path, folder: Path, how: str) -> Path:
    """A copy of a checkpoint with something wrong in it."""
    shutil.copytree(whole, folder)
    weights = folder / "model.safetensors"
    if how == "cut off":
        weights.write_bytes(weights.read_bytes()[:2000])
    elif how == "a pointer":
        weights.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n")
    elif how in ("another format", "empty"):
        weights.unlink()
        (folder / "pytorch_model.bin").write_bytes(b"" if how == "empty" else b"no pickle")
    elif how == "wrong config":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"hidden_size": "x", "d_model": "x"}))
    else:
        for file in folder.glob("tokenizer*"):
            file.unlink()
    return folder


@pytest.mark.parametrize("how", ["cut off", "a pointer", "another format", "empty", "wrong config", "no tokenizer"])
@pytest.mark.parametrize(("key", "load"), [("recomp_extractive", DualEncoder), ("recomp_abstractive", Summariser)])
def test_a_damaged_folder_is_told_in_a_line(shelf: Shelf, tmp_path: Path, how: str, key: str, load: Any) -> None:
    with pytest.raises(DataError, match=rf"answers.models.{key}: .*damaged: cannot be loaded") as error:
        hold_model(key, {key: damaged(shelf.models[key], tmp_path / "damaged", how)}, load)
    assert "\n" not in str(error.value)


def test_a_model_that_writes_is_no_dual_encoder(shelf: Shelf) -> None:
    with pytest.raises(DataError, match="LlamaForCausalLM, a model that writes, not an encoder"):
        hold_model("recomp_extractive", {"recomp_extractive": shelf.models["longllmlingua"]}, DualEncoder)


def test_the_summarisers_tokenizer_is_one_threads_at_a_time(shelf: Shelf) -> None:
    """It keeps from call to call whether it cuts: another thread's call in between would change this one's."""
    writer = Summariser(shelf.models["recomp_abstractive"])
    inner, log = writer._tokenizer, []

    class Watched:
        def __call__(self, *args: Any, **more: Any) -> Any:
            log.append(writer._lock.locked())
            return inner(*args, **more)

        def decode(self, *args: Any, **more: Any) -> str:
            return str(inner.decode(*args, **more))

    writer._tokenizer = Watched()
    writer.summarise("Who?", "The Nile.")
    assert log == [True, True]


def test_a_summariser_with_a_smaller_window_is_not_asked_for_more(shelf: Shelf) -> None:
    writer = Summariser(shelf.models["recomp_abstractive"])
    assert writer._window == recomp.DOCUMENT_TOKENS
    writer._window = 16
    assert writer.summarise("Who?", "The Nile. " * 9)[1]


def test_a_home_folder_of_nobody_is_not_found(tmp_path: Path) -> None:
    assert find_models({"recomp_extractive": "~nobody-of-this-name/model"}, tmp_path) == {}
