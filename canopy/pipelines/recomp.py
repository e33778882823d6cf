"""RECOMP (Xu and others, 2024).

Models trained for it cut the retrieved items to the sentences nearest to the question, or rewrite them as a summary.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from canopy.config import Answers
from canopy.items import Evidence, Question
from canopy.llm.roles import Trace, encodable
from canopy.pipelines.base import Needs, Result, Round, System, SystemSpec
from canopy.pipelines.compression import keep_whole
from canopy.pipelines.evidence import answer_from
from canopy.pipelines.local_models import hold_model, load_pretrained
from canopy.pipelines.tools import Tools

EXTRACTIVE, ABSTRACTIVE = "recomp_extractive", "recomp_abstractive"
MODELS = {
    EXTRACTIVE: "RECOMP's dual encoder of sentences, a BERT fine-tuned from Contriever: download "
    "fangyuan/nq_extractive_compressor, or "
    "fangyuan/hotpotqa_extractive_compressor, from the Hugging Face hub and name its folder or hub id there",
    ABSTRACTIVE: "RECOMP's T5 that writes summaries: download fangyuan/nq_abstractive_compressor, or "
    "fangyuan/hotpotqa_abstractive, from the Hugging Face "
    "hub and name its folder or hub id there",
}
SENTENCES = 1  # N, the authors' and the paper's
SIZES = (2, 5, 10, 20)  # further N that the budget figures sweep over
BATCH = 32
SENTENCE_TOKENS = 512
DOCUMENT_TOKENS, SUMMARY_TOKENS = 1024, 512  # the authors' lengths of source and target
_KEPT_SCORES = 20_000
# endings of the names of models that are no encoders
_WRITERS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")


class DualEncoder:
    """Scores of sentences for a question.

    Inner products of mean-pooled token states, the question encoded as the sentences are (as the authors do).
    """

    def __init__(self, folder: Path) -> None:
        self._tokenizer, self._model = load_pretrained("AutoModel", folder)
        if self._model.config.is_encoder_decoder:
            raise ValueError("it is a model that generates, not an encoder")
        if named := [a for a in self._model.config.architectures or () if a.endswith(_WRITERS)]:
            raise ValueError(f"it is a {named[0]}, a model that writes, not an encoder")
        limits = (getattr(self._model.config, "max_position_embeddings", 0) or SENTENCE_TOKENS,
                self._tokenizer.model_max_length)
        self._window = int(min(SENTENCE_TOKENS, *limits))
        self._tokenizer.model_max_length = int(1e9)  # canopy cuts longer texts itself, and notes it
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, tuple[str, ...]], tuple[np.ndarray, int]] = OrderedDict()

    def score(self, question: str, texts: Sequence[str]) -> tuple[np.ndarray, int]:
        """Float32 scores of the texts, and how many of them were cut at the encoder's window.

        Equal requests (of other N) are answered from memory.
        """
        key = (question, tuple(texts))
        with self._lock:
            if key not in self._known:
                self._known[key] = self._score([encodable(t) for t in (question, *texts)])
                if len(self._known) > _KEPT_SCORES:
                    self._known.popitem(last=False)
            return self._known[key]

    def _score(self, texts: Sequence[str]) -> tuple[np.ndarray, int]:
        ids = self._tokenizer(texts)["input_ids"]
        lengths = np.array([len(i) for i in ids])
        vectors: list[Any] = [None] * len(ids)
        order = np.argsort(lengths, kind="stable")
        for start in range(0, len(order), BATCH):
            rows = order[start:start + BATCH].tolist()
            for n, v in zip(rows, self._embed([texts[r] for r in rows]), strict=True):
                vectors[n] = v
        return np.array([v @ vectors[0] for v in vectors[1:]],
                        dtype=np.float32), int((lengths[1:] > self._window).sum())

    def _embed(self, texts: list[str]) -> np.ndarray:
        import torch

        inputs = self._tokenizer(texts, padding=True, truncation=True, max_length=self._window,
                                 return_tensors="pt").to(self._model.device)
        with torch.inference_mode():
            states = self._model(**inputs).last_hidden_state
            mask = inputs["attention_mask"][..., None].to(states.dtype)
            return ((states * mask).sum(1) / mask.sum(1)).float().cpu().numpy()


class Summariser:
    """Summaries by a sequence-to-sequence model, decoded greedily."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer, self._model = load_pretrained("AutoModelForSeq2SeqLM", folder)
        self._tokenizer.model_max_length = int(1e9)
        self._window = min(DOCUMENT_TOKENS, int(getattr(self._model.config, "max_position_embeddings", 0)
                                                or DOCUMENT_TOKENS))
        self._lock = threading.Lock()

    def summarise(self, question: str, documents: str) -> tuple[str, bool]:
        """The summary, empty if the model finds nothing of use, and whether the documents were longer than the
        model was trained for and were cut."""
        import torch

        # the authors' template
        prompt = f"Question: {encodable(question)}\n Document: {encodable(documents)}\n Summary: "
        with self._lock, torch.inference_mode():  # the tokenizer too: it keeps from call to call whether it cuts
            ids = self._tokenizer(prompt)["input_ids"]
            inputs = self._tokenizer(prompt, truncation=True, max_length=self._window,
                                     return_tensors="pt").to(self._model.device)
            output = self._model.generate(**inputs, do_sample=False, num_beams=1, max_new_tokens=SUMMARY_TOKENS)
        return self._tokenizer.decode(output[0], skip_special_tokens=True).strip(), len(ids) > self._window


def set_apart(items: Sequence[str], tools: Tools) -> set[str]:
    """Items that a compressor of words leaves whole: images and videos whose pixels the reader sees."""
    return {i for i in items if tools.library.picture(i)} if tools.roles.reader.sees_media else set()


class RecompExtractive:
    """Retrieve k items, keep the N best sentences of all of them together (rows of tables, segments of videos, images
    whole), in retrieval order.

    A sentence is scored by its own words, a row with its table's title and column names. Images and videos that the
    reader sees stay whole.
    """

    def __init__(self, k: int, sentences: int = SENTENCES) -> None:
        self.k, self.sentences = k, sentences

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer from the N best sentences."""
        encoder = hold_model(EXTRACTIVE, tools.models, DualEncoder)
        ids = [i for i, _ in tools.find(question.id, question.question, self.k, trace)]
        apart, notes = set_apart(ids, tools), Counter[str]()
        regions = [Evidence(i, n, n + 1, 0.0, 0, span=tools.library.leaves(i).span(n, n + 1))
                   for i in ids if i not in apart for n in range(tools.library.leaves(i).count)]
        texts = [tools.library.show(r).text for r in regions]
        started = time.perf_counter()
        scores, cut = encoder.score(question.question, texts) if texts else (np.zeros(0, dtype=np.float32), 0)
        trace.spend("compress", time.perf_counter() - started)
        if cut:
            notes["sentences longer than the encoder's window"] = cut
        chosen = sorted(np.argsort(-scores, kind="stable")[:self.sentences].tolist())
        for n in chosen:
            regions[n].score = float(scores[n])
        by_item: dict[str, list[Evidence]] = {i: keep_whole([i], tools) for i in ids if i in apart}
        for n in chosen:
            by_item.setdefault(regions[n].item_id, []).append(regions[n])
        kept = tuple(r for i in ids for r in by_item.get(i, ()))
        return answer_from(question, tools, trace, [Round(question.question, tuple(ids), tuple(ids), kept)],
                           notes=notes)


class RecompAbstractive:
    """Retrieve k items, have their words summarised for the question, read the summary; an empty one means that nothing
    is shown.

    Images and videos that the reader sees stay whole beside the summary. The documents are cut if the summariser's
    training cut them (1,024 tokens); that is counted.
    """

    def __init__(self, k: int) -> None:
        self.k = k

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer from the summary."""
        writer = hold_model(ABSTRACTIVE, tools.models, Summariser)
        ids = [i for i, _ in tools.find(question.id, question.question, self.k, trace)]
        apart, notes = set_apart(ids, tools), Counter[str]()
        words = [i for i in ids if i not in apart]
        kept: list[Evidence] = []
        if words:
            started = time.perf_counter()
            summary, cut = writer.summarise(question.question,
                                            "\n".join(tools.library.show(e).words() for e in keep_whole(words, tools)))
            trace.spend("compress", time.perf_counter() - started)
            notes["documents cut for the summariser"] += cut
            notes["empty summary"] += not summary
            kept = rewritten(words[0], summary, tools)
        kept += keep_whole([i for i in ids if i in apart], tools)
        result = answer_from(question, tools, trace, [Round(question.question, tuple(ids), tuple(ids), tuple(kept))],
                             notes=+notes)
        result.rewritten = True
        return result


def rewritten(item: str, text: str, tools: Tools) -> list[Evidence]:
    """A text that stands for all items of a retrieval, filed under its first; nothing if it is empty."""
    return [Evidence(r.item_id, r.lo, r.hi, 0.0, 0, text, span=r.span)
            for r in keep_whole([item], tools)] if text.strip() else []


def _sizes(answers: Answers) -> Mapping[str, System]:
    return {f"N={n}": RecompExtractive(answers.k, n) for n in SIZES}


SYSTEMS = (
    SystemSpec("recomp-extractive",
               f"RECOMP: of all k items the N sentences nearest to the question (N = {SENTENCES}), by a dual encoder "
               "trained for it",
               lambda a: RecompExtractive(a.k), Needs(models=(EXTRACTIVE,)), "RECOMP (extractive)", "compressor",
               _sizes),
    SystemSpec("recomp-abstractive", "RECOMP: a summary of the k items for the question, by a T5 trained for it",
               lambda a: RecompAbstractive(a.k),
               Needs(models=(ABSTRACTIVE,)), "RECOMP (abstractive)", "compressor"),
)
