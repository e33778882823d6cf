"""LongLLMLingua (Jiang and others, 2024).

A causal language model drops the tokens of the evidence that the question makes least surprising use of.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from canopy.config import Answers
from canopy.items import Evidence, Question
from canopy.llm.roles import Trace, encodable
from canopy.pipelines.base import Needs, Result, Round, System, SystemSpec
from canopy.pipelines.compression import keep_whole
from canopy.pipelines.evidence import answer_from, cap_of, cut_text
from canopy.pipelines.local_models import hold_model, load_pretrained
from canopy.pipelines.recomp import rewritten, set_apart
from canopy.pipelines.tools import Tools

if TYPE_CHECKING:
    from llmlingua import PromptCompressor

MODEL = "longllmlingua"
MODELS = {MODEL: "the causal language model that weighs tokens, the authors': download NousResearch/Llama-2-7b-hf from "
                 "the Hugging Face hub (any causal model "
                 "that transformers loads will do, a small one is quicker) and name its folder or hub id there"}
RATE = 0.55  # rho, the share of tokens kept: the authors' example and the paper
# tokens that the model looks at at once, if it could take more: Llama 2's, so that memory stays bounded
WINDOW = 4096
STEP = 200  # tokens that are judged at once (the authors')
LEAST = 8  # tokens; of fewer none can be spared, and the package fails on one
# LongLLMLingua as its authors call it (the package's README): contexts ranked by how likely they make the question and
# put in that order, a token weighed by what the question adds to it, better contexts cut less. `context_budget` is
# evaluated as Python by the package: it is this constant, always.
SETTINGS: Mapping[str, Any] = {
    "rank_method": "longllmlingua", "condition_in_question": "after_condition", "condition_compare": True,
    "reorder_context": "sort",
    "dynamic_context_compression_ratio": 0.3, "context_budget": "+100", "iterative_size": STEP,
    "concate_question": False,
}


class CachedModel:
    """A causal model that speaks the package's dialect: keys and values as one (keys, values) a layer, where
    transformers has had Cache objects since 4.36 (with which the package crashes on prompts of more than one step)."""

    def __init__(self, model: Any) -> None:
        self._model = model
        # renamed in transformers 5.2x
        self._argument = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"

    def __call__(self, input_ids: Any, *, attention_mask: Any, past_key_values: Sequence[Sequence[Any]] | None,
                 use_cache: bool) -> Any:
        """The model's output; its ``past_key_values`` is a list of (keys, values), tensors of shape (1, heads, tokens,
        head dimension).

        Raises
        ------
        ValueError
            If the model remembers in another way (a state-space model).
        """
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer, (keys, values) in enumerate(past_key_values or ()):
            cache.update(keys, values, layer)
        out = self._model(input_ids=input_ids, attention_mask=attention_mask, use_cache=use_cache,
                          **{self._argument: cache})
        layers = getattr(getattr(out, self._argument, None), "layers", ())
        if not layers or not all(getattr(layer, "keys", None) is not None for layer in layers):
            raise ValueError("the model keeps no keys and values of past tokens")
        return SimpleNamespace(logits=out.logits, past_key_values=[(layer.keys, layer.values) for layer in layers])


@lru_cache(maxsize=1)
def _compressor() -> type[PromptCompressor]:
    """The package's class with three of its methods made to fit.

    Made when first used, since the package imports torch, nltk and tiktoken.
    """
    from llmlingua import PromptCompressor

    class Compressor(PromptCompressor):  # type: ignore[misc, unused-ignore]  # the package has no types
        """Loads from a folder alone.

        The package's own start fetches a vocabulary from OpenAI to fill in statistics, and runs code out of model
        folders.
        """

        def __init__(self, folder: Path) -> None:
            self.tokenizer, model = load_pretrained("AutoModelForCausalLM", folder)
            if not self.tokenizer.is_fast:
                raise ValueError("its tokenizer has no tokenizer.json")
            self.tokenizer.model_max_length = int(1e9)  # canopy cuts longer texts itself, and notes it
            self.model, self.device = CachedModel(model), str(model.device)
            window = getattr(model.config.get_text_config(), "max_position_embeddings", 0) or WINDOW
            self.max_position_embeddings = min(WINDOW, int(window))
            if self.max_position_embeddings < 5 * STEP:
                raise ValueError(f"it takes {window} tokens at once, and at least {5 * STEP} are needed")
            self.model_name, self.use_llmlingua2, self.retrieval_model, self.retrieval_model_name = (
                str(folder),
                False,
                None,
                None,
            )
            self.open_api_config: dict[str, str] = {}
            self.cache_bos_num, self.prefix_bos_num = 10, 100
            self.context_idxs: list[Any] = []
            self.oai_tokenizer = _Uncounted()
            self.lock, self.ranked_by_beginning = threading.Lock(), 0
            # What the package holds of a question in its cache must leave room for steps of evidence, or it fails or
            # never ends.
            self.question_room = self.max_position_embeddings - 4 * STEP

        def get_prefix_length(self, prefix: str, text: str) -> int:
            """Tokens that begin inside ``prefix``, by their offsets: the package compares decoded texts, and fails
            if a tokenizer does not give back what it was given (lower case, blanks, half a character)."""
            offsets = self.tokenizer(prefix + text[:100], add_special_tokens=False,
                                     return_offsets_mapping=True)["offset_mapping"]
            return max(1, sum(start < len(prefix) for start, _ in offsets))

        def get_condition_ppl(self, text: str, question: str, condition_in_question: str = "none",
                              granularity: str = "sentence") -> Any:
            """How likely a text makes the question. One that leaves no room for the question in the window is ranked by
            its beginning; the package would rank it by nothing."""
            ids = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            room = self.max_position_embeddings - self.get_token_length(question) - 2
            if len(ids["input_ids"]) > room > 0:
                self.ranked_by_beginning += 1
                text = text[:ids["offset_mapping"][room - 1][1]]
            return super().get_condition_ppl(text, question, condition_in_question, granularity)

    return Compressor


class _Uncounted:
    """Stands where the package counts OpenAI's tokens for its statistics, which canopy does not use."""

    def encode(self, text: str) -> list[str]:
        """One a blank-separated word."""
        return text.split()


def load_compressor(folder: Path) -> PromptCompressor:
    """The compressor over a causal model's folder.

    See `canopy.pipelines.local_models.hold_model` for what may go wrong.
    """
    return _compressor()(folder)


def compress(compressor: Any, question: str, contexts: Sequence[str], rate: float) -> tuple[str, Counter[str]]:
    """Contexts compressed to about ``rate`` of their tokens, and what was too long for the model: contexts ranked by
    their beginning, a question of which the end alone was looked at.

    Texts of users reach the package as ``context`` and ``question`` only, which it tokenizes; what it evaluates or
    parses (``context_budget``, the tags of its structured form) is never among them.
    """
    texts, notes = [encodable(t).strip() for t in contexts if t.strip()], Counter[str]()
    if not texts:
        return "", notes
    if sum(len(compressor.tokenizer(t, add_special_tokens=False)["input_ids"]) for t in texts) < LEAST:
        return "\n\n".join(texts), notes
    text = encodable(question).strip() or "?"
    offsets = compressor.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    if len(offsets) > compressor.question_room:
        text = text[offsets[-compressor.question_room][0]:]
        notes["question cut for the compressor"] = 1
    with compressor.lock:
        compressor.context_idxs, compressor.ranked_by_beginning = [], 0
        result = compressor.compress_prompt(texts, instruction="", question=text, rate=rate, **SETTINGS)
        notes["items ranked by their beginning"] = compressor.ranked_by_beginning
    return str(result["compressed_prompt"]).strip(), +notes


class LongLlmLingua:
    """Retrieve k items, drop contexts and tokens of their words until about a share of rho is left, read that.

    Tables and segments come in words, as the reader would get them. Images and videos that the reader sees stay whole,
    beside what is left of the rest. What is left is one text: of one longer than the reader's cap the beginning is
    read, which holds the contexts ranked best.
    """

    def __init__(self, k: int, rate: float = RATE) -> None:
        self.k, self.rate = k, rate

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer from the compressed words."""
        compressor = hold_model(MODEL, tools.models, load_compressor)
        ids = [i for i, _ in tools.find(question.id, question.question, self.k, trace)]
        apart, notes = set_apart(ids, tools), Counter[str]()
        words = [i for i in ids if i not in apart]
        kept: list[Evidence] = []
        cut = False
        if words:
            started = time.perf_counter()
            text, notes = compress(compressor, question.question,
                                   [tools.library.show(e).words() for e in keep_whole(words, tools)], self.rate)
            trace.spend("compress", time.perf_counter() - started)
            text, cut = cut_text(text, cap_of(tools), tools)
            kept = rewritten(words[0], text, tools)
        kept += keep_whole([i for i in ids if i in apart], tools)
        result = answer_from(question, tools, trace, [Round(question.question, tuple(ids), tuple(ids), tuple(kept))],
                             notes=notes)
        result.rewritten, result.cap_cut = True, result.cap_cut or cut
        return result


def _sizes(answers: Answers) -> Mapping[str, System]:
    return {f"budget={b:g}": LongLlmLingua(answers.k, b) for b in answers.budgets}


SYSTEMS = (SystemSpec("longllmlingua",
                      "LongLLMLingua: the share rho of the k items' tokens that tells most about the question (rho = "
                      f"{RATE})",
                      lambda a: LongLlmLingua(a.k), Needs(models=(MODEL,), packages=("llmlingua",)), "LongLLMLingua",
                      "compressor", _sizes),)
