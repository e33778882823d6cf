"""Context-independent wordings of TAT-QA's questions (T2-RAGBench, subset TAT-DQA) and which question each of them
rewords.

A row has ``question``, ``context`` (the page's text), ``program_answer``, ``original_answer`` and ids. Where an id is a
TAT-QA question's, that is the one. Else the page is the one an id names, or the one whose sentences and figures stand
in the context; and the question is the one on that page with the same answer, among several the one whose own words the
new wording keeps best. A row that fits no single question is left out and counted: a guess would ask for another
answer.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from canopy.benchmarks.reading.financial_tables import number_of
from canopy.benchmarks.reading.records import given_id, iterate_records, object_of
from canopy.ingest.fields import text_of
from canopy.ingest.sink import Sink, Waiting
from canopy.items import Item

_IDS = ("question_id", "question_uid", "uid", "id", "context_id", "document_id", "doc_uid", "doc_id", "table_uid",
        "table_id")
_SHINGLE, _LEAST_SHARE, _LEAST_HITS, _RIVAL = 6, 0.5, 3, 0.8
_SCALES = {"percent": Decimal("0.01"), "thousand": Decimal(10**3), "million": Decimal(10**6), "billion": Decimal(10**9)}
_WORDS = re.compile(r"[^\W_]+")


class PageLike(Protocol):
    """What is looked at of a page (`canopy.benchmarks.tat_qa.Page`)."""

    @property
    def uid(self) -> str:
        """The table's uid, which names the page."""
        ...

    @property
    def table(self) -> Item | None:
        """Its table; None if it has none that can be used."""
        ...

    @property
    def paragraphs(self) -> Mapping[int, Item]:
        """Its paragraphs by order number."""
        ...

    @property
    def questions(self) -> Sequence[Any]:
        """Its questions as published."""
        ...


def match_rewritten(files: Iterable[Path], pages: Sequence[PageLike], sink: Sink) -> dict[str, str]:
    """The new wording by question uid.

    Every row is a record: waiting if its page is not among ``pages``, a fallback if it fits no question.
    """
    wordings: dict[str, str] = {}
    files = list(files)
    if not files:
        return wordings
    index = _Pages(pages)
    for path in files:
        for place, row in iterate_records(path, sink):
            with sink.record(path, given_id(row, "id", "question_id") or place) as draft:
                words = text_of(object_of(row)["question"], "question").strip()
                uid = index.question_for(row, words)
                if uid is None:
                    draft.fallbacks.append("a context-independent question that fits no single question of its page: "
                                           "left out")
                elif wordings.setdefault(uid, words) != words:
                    draft.fallbacks.append("a second context-independent form of one question: left out")
    return wordings


class _Pages:
    """Pages by their uid, by their questions' uids, and by what their text says."""

    def __init__(self, pages: Sequence[PageLike]) -> None:
        self.pages = pages
        self.by_uid = {p.uid: n for n, p in enumerate(pages)}
        self.questions = {given_id(q, "uid") for p in pages for q in p.questions} - {""}
        self.size: list[int] = []
        self.saying: dict[str, list[int]] = {}
        for n, p in enumerate(pages):
            cells = [c for row in (p.table.rows if p.table else ()) for c in row]
            features = set().union(*(_features(i.text) for i in p.paragraphs.values()),
                                   _figures(cells)) if p.paragraphs or cells else set()
            self.size.append(len(features))
            for f in features:
                self.saying.setdefault(f, []).append(n)
        self.pages_of = lru_cache(maxsize=256)(self._pages_of)

    def question_for(self, row: Mapping[str, Any], words: str) -> str | None:
        """The uid of the question that a row rewords, None if none or several could be meant.

        Waiting if its page is not there.
        """
        ids = [row[k] for k in _IDS if isinstance(row.get(k), str)]
        direct = [i for i in ids if i in self.questions]
        if direct:
            return direct[0]
        pages = [self.by_uid[i] for i in ids if i in self.by_uid] or self.pages_of(text_of(row.get("context") or "",
                                                                                           "context", empty=True))
        if not pages:
            raise Waiting("the page it was written for is not among TAT-QA's files here")
        answers = [_answer_keys(row.get(k), None) for k in ("original_answer", "program_answer")]
        able = []
        for q in (q for n in pages for q in self.pages[n].questions if given_id(q, "uid")):
            keys = _answer_keys(q.get("answer"), q.get("scale"))
            if any(keys & w for w in answers):
                able.append((_share_kept(q.get("question"), words), given_id(q, "uid")))
        able.sort(reverse=True)
        return able[0][1] if able and able[0][0] > 0 and (len(able) == 1 or able[0][0] > able[1][0]) else None

    def _pages_of(self, context: str) -> list[int]:
        """The pages of whose features a context has at least half, and not much fewer than of the best one's."""
        hits = Counter(n for f in _features(context) | _figures(re.findall(r"\d[\d,.]*\d", context))
                       for n in self.saying.get(f, ()))
        share = {n: h / self.size[n] for n, h in hits.items() if h >= min(_LEAST_HITS, self.size[n])}
        best = max(share.values(), default=0.0)
        return sorted(n for n, s in share.items() if s >= max(_LEAST_SHARE, _RIVAL * best))


def _features(text: str) -> set[str]:
    """Runs of six words, by which a sentence is known again in other spacing and layout."""
    words = _WORDS.findall(text.casefold())
    return {" ".join(words[i:i + _SHINGLE]) for i in range(len(words) - _SHINGLE + 1)}


def _figures(cells: Iterable[str]) -> set[str]:
    """Numbers of at least three digits."""
    return {str(n) for n in map(number_of, cells) if n is not None and len(n.as_tuple().digits) >= 3}


def _share_kept(original: Any, words: str) -> float:
    """The share of a question's words that a new wording keeps."""
    own = set(_WORDS.findall(original.casefold())) if isinstance(original, str) else set()
    return len(own & set(_WORDS.findall(words.casefold()))) / len(own) if own else 0.0


def _answer_keys(answer: Any, scale: Any) -> set[str]:
    """Forms under which two statements of one answer meet.

    Its words, its number, and its number in full (``scale``).
    """
    if isinstance(answer, str) and answer[:1] == "[" and len(answer) < 10_000:
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            answer = ast.literal_eval(answer)
    parts = answer if isinstance(answer, (list, tuple)) else [answer]
    parts = [str(p) for p in parts if isinstance(p, (str, int, float)) and not isinstance(p, bool) and str(p).strip()]
    keys = {"words " + " ".join(sorted(_WORDS.findall(" ".join(parts).casefold())))} if parts else set()
    if len(parts) == 1:
        number = _decimal(parts[0])
        for factor in (Decimal(1), _SCALES.get(scale) if isinstance(scale, str) else None):
            if number is not None and factor is not None:
                keys.add(f"number {round(number * factor, 4).normalize():f}")
    return keys


def _decimal(text: str) -> Decimal | None:
    """A signed number below 10**15; brackets mean minus."""
    plain = re.sub(r"[\s,$€£¥%]", "", text)
    negative = plain.startswith(("-", "(", "−"))
    try:
        value = Decimal(plain.strip("()-−+"))
    except InvalidOperation:
        return None
    return None if not value.is_finite() or abs(value) >= 10**15 else -value if negative else value


