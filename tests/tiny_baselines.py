"""Tiny random checkpoints of the kinds that baselines load (BERT, T5, Llama), as the real classes write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CORPUS = ["The Nile flows north through eleven countries. Who shared the Nobel Prize in Physics in 1903?",
          "Question: Document: Summary: Element is Neon; Boiling point"]


def _quietly(model: Any, tokenizer: Any, folder: Path) -> Path:
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    finally:
        if shown:
            logging.enable_progress_bar()
    return folder


def _start(seed: int) -> Any:
    from canopy.encoder.vision_imports import prepare_torchvision

    prepare_torchvision()
    import torch

    torch.manual_seed(seed)
    return torch


def byte_tokenizer(longest: int, **special: str) -> Any:
    """A byte-level BPE tokenizer: it gives back any text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer, raw.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    raw.train_from_iterator(CORPUS * 20, trainers.BpeTrainer(vocab_size=420, special_tokens=list(special.values()),
                                                             show_progress=False,
                                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return PreTrainedTokenizerFast(tokenizer_object=raw, model_max_length=longest, **special)


def build_bert(folder: Path, seed: int = 0) -> Path:
    """A BERT of two layers with a word-piece tokenizer, as RECOMP's dual encoder is one."""
    _start(seed)
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]",
               "mask_token": "[MASK]"}
    raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    raw.normalizer, raw.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    raw.train_from_iterator(CORPUS * 20,
        trainers.WordPieceTrainer(vocab_size=200, special_tokens=list(special.values()), show_progress=False))
    raw.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]",
        special_tokens=[(t, raw.token_to_id(t)) for t in ("[CLS]", "[SEP]")])
    config = BertConfig(vocab_size=raw.get_vocab_size(), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=64)
    return _quietly(BertModel(config, add_pooling_layer=False),
                    PreTrainedTokenizerFast(tokenizer_object=raw, model_max_length=64, **special), folder)


def build_t5(folder: Path, seed: int = 0) -> Path:
    """A T5 of one layer a side, as RECOMP's summariser is one."""
    _start(seed)
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = byte_tokenizer(512, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    config = T5Config(vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
                      decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)
    return _quietly(T5ForConditionalGeneration(config), tokenizer, folder)


def build_causal(folder: Path, seed: int = 0, positions: int = 1000) -> Path:
    """A Llama of two layers with grouped heads, as LongLLMLingua's model is one."""
    torch = _start(seed)
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = byte_tokenizer(positions, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    config = LlamaConfig(vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=positions, bos_token_id=0, eos_token_id=1)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" not in name and weight.ndim > 1:
                weight.mul_(8)  # as they come, random weights make every token as likely as any
    return _quietly(model, tokenizer, folder)
