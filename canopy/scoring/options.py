"""Multiple choice over videos (LVBench, LongVideoBench).

Which option a reply means, and accuracy with every miss counted.
"""

from __future__ import annotations

import re

from canopy.items import Question
from canopy.scoring.metric import Support, details_of, normalise_answer

PRIMARY = ("accuracy",)
RULES = ("Accuracy of the option's letter. A letter is taken where it is all there is, stands after "
         "'answer' or 'option', in brackets, before a full stop, or "
         "alone in the sentence; else the one option whose text the reply holds; a small letter where it is all there "
         "is, or is marked as an option, and there is no other reading. A reply without an option, or with "
         "several, and a missing reply count as wrong; "
         "parse_failed counts them. (LVBench's script leaves missing answers out, and LongVideoBench's guesses where "
         "it finds no letter; neither is done here.)")
# The letters that options have: LVBench publishes four a question, LongVideoBench up to five, UniversalRAG's MMLU four.
LETTERS = "ABCDE"
# Details of questions whose answers may have several parts (`may_list`).
_LIST_DETAILS = frozenset({"modalities", "answer_type", "list"})
# Ways to state a letter, the plainest first. _LOOSE ones are looked for in what is left without denied letters,
# options' own words and several letters in a row.
_STATED = (
    r"(?i:\banswer|\boption|\bchoice)\s*(?i:is|:|=)?\s*(?i:option\s*)?[\(\[\*\"']*([A-E])\b(?![a-z'])",
    r"[\(\[]\s*([A-E])\s*[\)\]]",
    r"^\W*([A-E])\s*[\.\):,]",
)
_LOOSE = (
    r"(?<![\w.'’&-])([A-E])(?=[\"'*]|\s*$|\s*[.,:;)!])",
    r"(?<![\w.'’&-])([B-E]|A(?!\s+[a-z])|A(?=\s+(?:is|was|because|since|as|seems|fits|matches|and|or)\b))(?![\w'’&-])",
)
_SMALL = (
    r"^\W*([a-e])\W*$",
    r"(?i:\banswer|\boption|\bchoice)\s*(?i:is|:|=)?\s*(?i:option\s*)?[\(\[\*\"']*([a-e])(?=\W*$|[\)\]\*\"'.,;:])",
    r"[\(\[]\s*([a-e])\s*[\)\]]",
    r"^\W*([a-e])[\.\):](?=\s|$)",
)
_DENIED = re.compile(
    r"(?i:\b(?:not|cannot|nor|never)|n['’]t)\s+(?i:be\s+)?(?i:option\s+)?[\(\[\"'*]*[A-E]\b[\)\]\"'*]*"
)
_SEVERAL = re.compile(r"\b[A-E](?:[\s,/&]+(?:and\s+|or\s+|nor\s+)?[A-E]\b)+")
_LEAD = re.compile(r"^.*?\b(?:answer|option|choice)\s*(?:is|:|=)\s*", re.I | re.S)


def listed_options(question: Question) -> dict[str, str]:
    """The options that the question's details list, by letter (A to E)."""
    return {k: v for k, v in details_of(question).items() if len(k) == 1 and k in LETTERS}


def options_of(question: Question) -> dict[str, str]:
    """The question's options by letter: those that its details list, otherwise those in its text ('\\n(A) ..')."""
    return listed_options(question) or dict(re.findall(r"(?:^|\n)\s*\(([A-E])\)\s*(.+)", question.question))


def may_list(question: Question) -> bool:
    """Whether the answers of the question's benchmark may have several parts.

    Such benchmarks publish one of ``_LIST_DETAILS`` for all their questions. Its presence decides, never its value:
    MultiModalQA's and TAT-QA's value says whether this very answer has several parts.
    """
    return any(k in _LIST_DETAILS for k, _ in question.details)


def parse_option(reply: str, options: dict[str, str]) -> str:
    """The letter that a reply means, empty if it means none or several."""
    known, reply = set(options) or set(LETTERS), reply.strip()
    alone = {m.upper() for m in re.findall(r"^\W*([A-E])\W*$", reply, re.M)} & known
    if len(alone) == 1:
        return alone.pop()
    texts = {k: words for k, v in options.items() if (words := normalise_answer(v))}
    # 'A dog' and 'The answer is A dog' are an option's words, not its letter.
    same = [k for k, words in texts.items() if words in (normalise_answer(reply),
                                                         normalise_answer(_LEAD.sub("", reply)))]
    if len(same) == 1:
        return same[0]
    whole, reply = reply, _DENIED.sub(" ", reply)
    for pattern in _STATED:
        letters = [m for m in re.findall(pattern, reply, re.M) if m in known]
        if len(set(letters)) > 1 and "answer" not in pattern:
            return ""
        if letters:
            return letters[-1]  # the verdict comes last: 'A or B? The answer is C'
    named = [k for k, words in texts.items() if re.search(rf"\b{re.escape(words)}\b", normalise_answer(reply))]
    if len(named) > 1:  # one option's words may lie inside another's
        named = [k for k in named if not any(k != o and texts[k] in texts[o] for o in named)]
    bare = reply
    for v in sorted(options.values(), key=len, reverse=True):
        bare = re.sub(rf"\b{re.escape(v.strip().rstrip('.'))}\b", " ", bare, flags=re.I) if len(v.strip()) > 2 else bare
    bare = _SEVERAL.sub(" ", bare)
    for pattern in _LOOSE:
        letters = [m for m in re.findall(pattern, bare, re.M) if m in known]
        if letters:
            return letters[0] if len(set(letters)) == 1 else ""
    return named[0] if len(named) == 1 else _small_letter(whole, known) if not named else ""


def _small_letter(reply: str, known: set[str]) -> str:
    """The option of a lower-case letter, where a reply has no other reading: it is all there is, or is marked as one.

    "a" before another word is an article.
    """
    if _DENIED.search(reply.upper()):
        return ""
    for pattern in _SMALL:
        letters = {m.upper() for m in re.findall(pattern, reply, re.M)} & known
        if letters:
            return letters.pop() if len(letters) == 1 else ""
    return ""


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``accuracy`` and ``parse_failed``."""
    chosen = parse_option(prediction, options_of(question))
    right = question.answers[0].strip().strip("()").upper() if question.answers else ""
    return {"accuracy": float(bool(chosen) and chosen == right), "parse_failed": float(not chosen)}
