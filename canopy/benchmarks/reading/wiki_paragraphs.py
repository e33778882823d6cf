"""Multi-hop questions over Wikipedia paragraphs in the shape that HotpotQA began and 2WikiMultiHopQA took over: one
reader for both.

A record has a question, a context of titled paragraphs cut into sentences, and supporting facts that name a title and a
sentence number. Official files hold pairs, ``[[title, [sentence, ...]], ...]``; mirrors hold a dict of lists (``title``
with ``sentences`` or ``content``, and ``title`` with ``sent_id``) and may drop the id.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canopy.benchmarks.reading.mirrors import field_of
from canopy.benchmarks.reading.records import (
    BLIND,
    HELD_OUT,
    Record,
    given_id,
    iterate_records,
    list_of,
    object_of,
    pair_of,
    pairs_of,
)
from canopy.ingest.fields import item_id, text_of
from canopy.ingest.sink import Draft, Sink, Unusable, Waiting
from canopy.items import Annotation, Item, Question

Answers = Callable[[Record], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A context paragraph as an item, and the characters ``[start, end)`` of each of its official sentences."""

    item: Item
    sentences: tuple[tuple[int, int], ...]


class Reader:
    """Reads the files of one release into a sink.

    A supporting paragraph that its own record lacks (the full-wiki setting retrieves its contexts) is looked for by
    title among the contexts of all other records; a record still without it waits. Such records are therefore mapped
    last.

    Parameters
    ----------
    answers : callable
        A record's accepted answers, () if it has none; raises Unusable on a field of the wrong type.
    stripped : bool
        Whether the release's sentences come without the space between them, if a record has too few to tell.
    """

    def __init__(self, sink: Sink, answers: Answers, stripped: bool) -> None:
        self.sink, self.answers, self.stripped = sink, answers, stripped
        self.pool: dict[str, dict[str, Paragraph]] = {}
        self.postponed: list[tuple[Path, str, Any, str]] = []

    def read_files(self, files: Sequence[tuple[Path, str]]) -> None:
        """Every file with the split it belongs to."""
        for path, split in files:
            for place, record in iterate_records(path, self.sink):
                name = given_id(record, "_id", "id") or place
                if lacks_gold(record):
                    self._learn(self._contexts(record, name))
                    self.postponed.append((path, name, record, split))
                else:
                    self._map(path, name, record, split)
        for path, name, record, split in self.postponed:
            self._map(path, name, record, split)

    def _contexts(self, record: Record, name: str) -> list[Paragraph]:
        return contexts(record, name, self.sink.benchmark, self.stripped)

    def _learn(self, paragraphs: Sequence[Paragraph]) -> None:
        for p in paragraphs:
            self.pool.setdefault(title_key(p.item.title), {})[p.item.id] = p

    def _map(self, path: Path, name: str, record: Any, split: str) -> None:
        with self.sink.record(path, name) as draft:
            paragraphs = self._contexts(object_of(record), name)
            self._learn(paragraphs)
            map_record(record, paragraphs, split, self.sink.benchmark, draft, self.answers, self.pool)


def title_key(title: str) -> str:
    """What two spellings of one title have in common.

    They differ in HTML entities (``Etiquette &amp; Espionage``), in the encoding of accents and in spacing.
    """
    return " ".join(unicodedata.normalize("NFC", html.unescape(title)).split())


def context_pairs(record: Record) -> list[tuple[str, list[str]]]:
    """The context as (title, sentences), from the official pairs or a mirror's dict of lists.

    Unusable if it is neither.
    """
    context = field_of(record, "context")
    if isinstance(context, str):
        raise Unusable("context is a string that holds no JSON list")
    if isinstance(context, dict):
        texts = context["sentences"] if "sentences" in context else context["content"]
        pairs = pairs_of(context["title"], texts, "context")
    else:
        paragraphs = list_of(context, "context")
        pairs = [(p["title"], p["sentences"]) if isinstance(p, dict) else pair_of(p, "a context paragraph")
                 for p in paragraphs]
    out = []
    for title, sentences in pairs:
        if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
            raise Unusable(f"context paragraph {str(title)[:80]!r}: its sentences must be a list of strings")
        out.append((text_of(title, "a context title", empty=True), sentences))
    return out


def supporting_facts(record: Record) -> dict[str, list[int]]:
    """Supporting facts as sentence numbers by title, from the official pairs or a mirror's dict of lists.

    {} if there are none.
    """
    facts = record.get("supporting_facts")
    if isinstance(facts, dict):
        pairs = pairs_of(facts["title"], facts["sent_id"], "supporting_facts")
    else:
        pairs = [pair_of(f, "a supporting fact") for f in list_of(facts, "supporting_facts")]
    out: dict[str, list[int]] = {}
    for title, number in pairs:
        if not isinstance(number, int) or isinstance(number, bool):
            raise Unusable(f"supporting fact {str(title)[:80]!r}: its sentence number must be an integer, not "
                           f"{str(number)[:80]!r}")
        out.setdefault(text_of(title, "a supporting fact's title", empty=True), []).append(number)
    return out


def lacks_gold(record: Any) -> bool:
    """Whether a well-formed record names a supporting title that its own context does not have."""
    if not isinstance(record, dict):
        return False
    try:
        titles = {title_key(t) for t, sentences in context_pairs(record)
                  if text_of("".join(sentences), "a paragraph", empty=True).strip()}
        return bool({title_key(t) for t in supporting_facts(record)} - titles)
    except (Unusable, KeyError):
        return False  # mapping it says what is wrong


def contexts(record: Record, name: str, benchmark: str, stripped: bool) -> list[Paragraph]:
    """The context's paragraphs that have any words.

    HotpotQA's sentences bring the space before them, so joining them gives the paragraph back byte for byte;
    2WikiMultiHopQA's and some mirrors' are stripped, and are joined by a space. Which it is shows in the record as a
    whole: do most sentences bring one?
    """
    pairs = context_pairs(record)
    seams = [a[-1:].isspace() or b[:1].isspace() for _, s in pairs for a, b in zip(s[:-1], s[1:], strict=True)]
    gap = " " if (sum(seams) * 2 < len(seams) if len(seams) >= 4 else stripped) else ""
    out = []
    for title, sentences in pairs:
        text, spans = "", []
        for s in sentences:
            text += gap if text and s and not text[-1].isspace() and not s[0].isspace() else ""
            spans.append((len(text), len(text) + len(s)))
            text += s
        if text.strip():
            heading = html.unescape(title).strip()
            text_of(text, f"paragraph {title[:80]!r}")
            item = Item(item_id(benchmark, heading, text), benchmark, "text", title=heading, text=text, source=name)
            out.append(Paragraph(item, tuple(spans)))
    return out


def _by_title(paragraphs: Sequence[Paragraph]) -> dict[str, list[Paragraph]]:
    out: dict[str, list[Paragraph]] = {}
    for p in paragraphs:
        out.setdefault(title_key(p.item.title), []).append(p)
    return out


def map_record(record: Record, paragraphs: Sequence[Paragraph], split: str, benchmark: str, draft: Draft,
               answers: Answers,
               pool: dict[str, dict[str, Paragraph]]) -> None:
    """One official object to items, a question and its gold sentences.

    A record without an id takes one from the digest of its question. Facts past the last sentence of their paragraph
    fall back to those inside it, or to the paragraph whole; a record whose answer and facts are withheld is a question
    without gold.
    """
    question = text_of(record["question"], "question").strip()
    own = given_id(record, "_id", "id")
    qid = f"{benchmark}/{text_of(own, 'id')}" if own else item_id(benchmark, question)
    facts, accepted = supporting_facts(record), answers(record)
    draft.items.extend(p.item for p in paragraphs)
    if not paragraphs:
        raise Unusable("no paragraph with any text")
    if split == "test":
        split = HELD_OUT if facts or accepted else BLIND
    if not facts:
        draft.fallbacks.append("blind test: no answer and no supporting facts" if split == BLIND
                               else "no supporting facts: question without gold")
    kind = record.get("type")
    draft.questions.append(Question(qid, benchmark, question, accepted, kind if isinstance(kind, str) else "", split))
    own_titles = _by_title(paragraphs)
    numbers_of: dict[str, set[int]] = {}
    for title, numbers in facts.items():
        numbers_of.setdefault(title_key(title), set()).update(numbers)
    for key, marked in numbers_of.items():
        if key in own_titles:
            paragraph = next((p for p in own_titles[key] if max(marked) < len(p.sentences)), own_titles[key][0])
        else:
            paragraph = _elsewhere(key, max(marked), pool)
            draft.items.append(paragraph.item)
            draft.fallbacks.append("a supporting paragraph that its context lacks, found in another record's")
        draft.annotations.append(_gold(qid, paragraph, marked, draft))


def _elsewhere(key: str, last: int, pool: dict[str, dict[str, Paragraph]]) -> Paragraph:
    """The one paragraph with this title and enough sentences in any record.

    Waiting if there is none, or more than one.
    """
    able = [p for p in pool.get(key, {}).values() if last < len(p.sentences)]
    if len(able) != 1:
        more = f"; {len(able)} different paragraphs elsewhere have this title" if able else ""
        raise Waiting(f"supporting paragraph {key!r} is not in the context{more}")
    return able[0]


def _gold(qid: str, paragraph: Paragraph, numbers: set[int], draft: Draft) -> Annotation:
    text, sentences = paragraph.item.text, paragraph.sentences
    spans = [sentences[n] for n in sorted(numbers) if 0 <= n < len(sentences)]
    inside = tuple((float(a), float(b)) for a, b in spans if text[a:b].strip())
    if len(inside) < len(numbers):
        draft.fallbacks.append("a supporting fact past the last sentence, or blank" if inside
                               else "no supporting fact inside its paragraph: gold whole")
    return Annotation(qid, paragraph.item.id, "chars" if inside else "item", inside)
