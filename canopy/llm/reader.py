"""The reader over a language model.

A short answer, an option's letter or a list, from evidence in words and pictures, or from none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from canopy.items import Question
from canopy.llm.answer_text import clean_answer, clean_list
from canopy.llm.counting import Counter
from canopy.llm.prompting import load_prompt
from canopy.llm.roles import Chat, RegionView, Reply, Trace
from canopy.llm.showing import show_evidence
from canopy.llm.structured import give_up, without_thoughts
from canopy.llm.wire import Refused
from canopy.scoring.options import listed_options, may_list, parse_option

Form = Literal["short", "option", "list"]
LONGEST: dict[Form, int] = {"short": 128, "option": 64, "list": 256}


def form_of(question: Question) -> Form:
    """What an answer to this question looks like."""
    if listed_options(question):
        return "option"
    return "list" if may_list(question) else "short"


class LanguageReader:
    """See `canopy.llm.roles.Reader`.

    Parameters
    ----------
    name : str
        Of the model.
    counter : Counter
        If its counts are not in the model's own tokens, ``name`` says so.
    """

    def __init__(self, chat: Chat, name: str, counter: Counter, sees_media: bool = False) -> None:
        self._chat, self._counter, self.sees_media = chat, counter, sees_media
        self.name = f"{name} ({counter.says})" if counter.says else name

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Length of each text in the reader's own tokens, or as ``name`` says."""
        return self._counter.count(texts)

    def read(self, question: Question, evidence: Sequence[RegionView], trace: Trace) -> Reply:
        """One call.

        An empty answer, or one that names no option, is counted as a fallback; so is a request that the server refuses
        (too long for it).
        """
        form, options = form_of(question), listed_options(question)
        values = {"question": _with_options(question, options)}
        if options:
            values["letters"] = ", ".join(options)
        if evidence:
            messages = load_prompt(f"reader_{form}").messages(
                **values, evidence=show_evidence(evidence, self.sees_media, trace)
            )
        else:
            messages = load_prompt(f"closed_{form}").messages(**values)
        try:
            raw = self._chat.complete("reader", messages, trace, max_tokens=LONGEST[form])
        except Refused as e:
            give_up(e, "reader", trace)
            return Reply("")
        text = clean_list(raw) if form == "list" else clean_answer(raw)
        if not text:
            trace.fall_back("empty answer")
        elif options:
            letter = parse_option(without_thoughts(raw), options)
            if not letter:
                trace.fall_back("no option in the answer")
            text = letter or text
        return Reply(text, raw)


def _with_options(question: Question, options: dict[str, str]) -> str:
    """The question's words, with its options below them unless they stand in them."""
    words = question.question.strip()
    if all(re.search(rf"(?:^|\n)\s*\(?{letter}[).:]", words) for letter in options):
        return words
    return "\n".join([words, *(f"({letter}) {option}" for letter, option in options.items())])
