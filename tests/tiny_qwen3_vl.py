"""A tiny Qwen3-VL checkpoint with random weights, as the real classes write it."""

from __future__ import annotations

import json
from pathlib import Path

from canopy.settings import EncoderSettings, parse_encoder

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
           "<|video_pad|>"]
WORDS = ["system\nRepresent the user's input.", "user\nA leopard looks out of the grass.",
         "assistant\nThe river Nile is 6650 km long. <0.5 seconds>"]
CHAT = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}{% for "
        "c in m.content %}"
        "{% if c.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% elif c.type == 'video' "
        "%}<|vision_start|><|video_pad|><|vision_end|>"
        "{% else %}{{ c.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
DIMENSION = 32


def build_checkpoint(folder: Path, seed: int = 0) -> Path:
    """Write the checkpoint: 3 language layers, 2 visual blocks, a byte tokenizer, Qwen3-VL's processors."""
    from canopy.encoder.vision_imports import require_torchvision

    require_torchvision()
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        Qwen2Tokenizer,
        Qwen2VLImageProcessor,
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
        Qwen3VLProcessor,
        Qwen3VLVideoProcessor,
    )
    from transformers.utils import logging

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.train_from_iterator(WORDS * 20, trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL, show_progress=False,
                                                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(raw.to_str())["model"]
    tokenizer = Qwen2Tokenizer(vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]], eos_token="<|im_end|>",
                               pad_token="<|endoftext|>",
                               additional_special_tokens=SPECIAL[1:])
    patches = {"patch_size": 16, "temporal_patch_size": 2, "merge_size": 2, "image_mean": [0.5] * 3,
               "image_std": [0.5] * 3}
    processor = Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessor(**patches, size={"shortest_edge": 32 * 32, "longest_edge": 128 * 128}),
        tokenizer=tokenizer,
        video_processor=Qwen3VLVideoProcessor(**patches, size={"shortest_edge": 32 * 32, "longest_edge": 64 * 64 * 16}),
        chat_template=CHAT)
    number = dict(zip(SPECIAL, tokenizer.convert_tokens_to_ids(SPECIAL), strict=True))
    config = Qwen3VLConfig(
        text_config={"vocab_size": len(tokenizer), "hidden_size": DIMENSION, "intermediate_size": 64,
                     "num_hidden_layers": 3, "num_attention_heads": 4,
                     "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 4096,
                     "pad_token_id": tokenizer.pad_token_id,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1],
                                         "mrope_interleaved": True}},
        vision_config={"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2,
                       "out_hidden_size": DIMENSION, "num_position_embeddings": 64,
                       "deepstack_visual_indexes": [0, 1], "patch_size": 16, "spatial_merge_size": 2,
                       "temporal_patch_size": 2},
        image_token_id=number["<|image_pad|>"], video_token_id=number["<|video_pad|>"],
        vision_start_token_id=number["<|vision_start|>"],
        vision_end_token_id=number["<|vision_end|>"], tie_word_embeddings=True)
    torch.manual_seed(seed)
    made = Qwen3VLForConditionalGeneration(config).eval()
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with torch.no_grad():
            for name, p in made.named_parameters():
                if "norm" not in name and p.ndim > 1:
                    p.mul_(4)  # as they come, random weights are so small that every input gets nearly the same vector
        made.save_pretrained(folder)
        processor.save_pretrained(folder)
    finally:
        if shown:
            logging.enable_progress_bar()
    return folder


def tiny_config(folder: Path, **changes: object) -> EncoderSettings:
    """An encoder's configuration over the checkpoint, with small pictures."""
    given = {"kind": "qwen3_vl", "mode": "separate", "model": str(folder), "device": "cpu", "dtype": "fp32",
             "max_tokens": 512, "overlap": 8,
             "batch_tokens": 1024, "max_pixels": 64 * 64, "video_pixels": 8 * 32 * 32}
    return parse_encoder({**given, **changes})
