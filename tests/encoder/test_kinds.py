"""The settings of each kind of encoder: what is refused, what earlier versions wrote, equal digests."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from canopy.encoder.loading import load_encoder
from canopy.settings import EncoderSettings, foreign_keys, parse_encoder

# What an earlier version wrote for each kind: the keys of both.
MINILM = {
    "kind": "minilm", "mode": "one_pass", "window": 256, "overlap": 64, "batch_tokens": 4096, "model": "",
    "revision": "",
    "allow_download": False, "instruction": "Represent the user's input.",
    "query_instruction": "Retrieve images or text relevant to the user's query.", "device": "auto", "dtype": "auto",
    "max_tokens": 8192, "max_pixels": 1843200, "video_pixels": 7864320}
QWEN = {**MINILM, "kind": "qwen3_vl", "mode": "separate", "model": "Qwen/Qwen3-VL-Embedding-2B", "device": "cuda",
        "dtype": "bf16"}


def test_what_earlier_versions_wrote_is_read() -> None:
    assert parse_encoder(MINILM) == parse_encoder({}) and isinstance(parse_encoder({}), EncoderSettings)
    assert {k: v for k, v in QWEN.items() if k != "window"} == parse_encoder(QWEN).model_dump()
    assert parse_encoder({**MINILM, "model": "old"}, lenient=True) == parse_encoder({})
    assert foreign_keys(QWEN) == {"window": "minilm"} and foreign_keys({"kind": "bert"}) == {}


@pytest.mark.parametrize(("raw", "message"), [
    ({"kind": "bert"}, r"kind\n +'bert' is none of minilm, qwen3_vl"),
    ({"model": "x"}, r"model\n +a setting of kind qwen3_vl, and kind is minilm"),
    ({**QWEN, "window": 128}, r"window\n +a setting of kind minilm, and kind is qwen3_vl"),
    ({**QWEN, "mode": "one_pass"}, "set encoder.mode=separate"),
    ({**QWEN, "model": " "}, "kind qwen3_vl needs model"),
    ({**QWEN, "max_tokens": 100}, "overlap 64 is more than half of max_tokens 100"),
    ({"device": "cuda"}, "kind minilm runs on the CPU"),
    ({"overlap": 200}, "overlap 200 is more than half of the window of 256 tokens"),
    ({"windows": 1}, "Extra inputs are not permitted")])
def test_settings_that_do_not_fit_are_refused(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        parse_encoder(raw)


def test_the_default_encoders_digest_is_what_it_was() -> None:
    # Of the commit before the kinds had settings of their own.
    digest = load_encoder(parse_encoder(MINILM)).digest
    assert digest == "cd10f5dcad1981d1a5280c2b6c49e109aee75d5f06eef3c624603c4dea7754d5"
