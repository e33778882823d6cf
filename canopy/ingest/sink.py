"""Where each record of a release or folder goes: mapped, fallback, waiting or quarantined, counted in one place."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canopy.items import Annotation, Item, Question

# What reading data raises: a missing field, a value out of range, a nesting too deep, a file that cannot be read.
# TypeError, AttributeError and other RuntimeErrors are faults of the code: adapters check the shape of a record first.
_STRUCTURE = (KeyError, ValueError, IndexError, OverflowError, RecursionError, OSError)


class Unusable(Exception):
    """This record cannot be used; its message is the reason in the quarantine file."""


class Waiting(Exception):
    """This record is sound but needs a document that is not there; counted apart, outside the quarantine limit."""


@dataclass(slots=True)
class Draft:
    """What one record gives; nothing of it is kept unless the record succeeds as a whole."""

    items: list[Item] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Origin:
    """The record that a question, image or video came from, and how it is counted.

    ``mapped``, ``fallback``, ``waiting`` or ``quarantined``.
    """

    file: str
    record: str
    outcome: str
    fallbacks: tuple[str, ...] = ()


class Sink:
    """Collects items, questions and annotations.

    Counts every record read as mapped, fallback, waiting or quarantined.
    """

    def __init__(self, benchmark: str, out: Path) -> None:
        self.benchmark, self.out = benchmark, out
        self.items: dict[str, Item] = {}
        self.questions: dict[str, Question] = {}
        self.annotations: list[Annotation] = []
        self.quarantine: list[dict[str, str]] = []
        self.counts: Counter[str] = Counter()
        self.read_from: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.waiting: list[dict[str, str]] = []
        self.notes: list[str] = []
        # Of questions, images and videos: a medium that turns out to be broken takes what needs it out again
        # (canopy.ingest.withdrawal).
        self.question_origins: dict[str, Origin] = {}
        self.item_origins: dict[str, Origin] = {}
        # An adapter that knows what its media show sets this: nothing is read off them.
        self.words_given = False
        # Called with 1 for each record read.
        self.advance: Callable[[int], None] = lambda n: None

    @contextmanager
    def record(self, file: Path | str, record: str, place: str = "") -> Iterator[Draft]:
        """Handle one record of a file. An error of reading data puts it into quarantine, with where and why.

        ``place`` (``line 3``) stands behind the reason if the record is called by another name.
        """
        draft, name = Draft(), Path(file).name
        where = f" ({place})" if place and place != record else ""
        self.counts["read"] += 1
        self.read_from[name] += 1
        self.advance(1)
        try:
            yield draft
            self._keep(draft)
        except Waiting as e:
            kept = Draft(items=draft.items)  # the documents that did come are still there to be found
            self._keep(kept)
            self._remember(kept, Origin(name, record, "waiting"))
            self.counts["waiting"] += 1
            self.waiting.append({"file": name, "record": record, "reason": f"{e}{where}"})
        except Unusable as e:
            self._reject(name, record, f"{e}{where}")
        except _STRUCTURE as e:
            self._reject(name, record, f"not in the expected structure: {type(e).__name__}: {str(e)[:200]}{where}")
        else:
            self.counts["fallback" if draft.fallbacks else "mapped"] += 1
            self.fallbacks.update(dict.fromkeys(draft.fallbacks, 1))  # records, not mentions
            self._remember(
                draft,
                Origin(
                    name, record, "fallback" if draft.fallbacks else "mapped", tuple(dict.fromkeys(draft.fallbacks))
                ),
            )

    def _remember(self, draft: Draft, origin: Origin) -> None:
        self.question_origins.update((q.id, origin) for q in draft.questions)
        for i in draft.items:
            if i.modality in ("image", "video"):
                self.item_origins.setdefault(i.id, origin)

    def _reject(self, file: str, record: str, reason: str) -> None:
        self.counts["quarantined"] += 1
        self.quarantine.append({"file": file, "record": record, "reason": reason})

    def reject(self, file: Path | str, record: str, reason: str) -> None:
        """Quarantine a record that could not even be parsed."""
        self.counts["read"] += 1
        self.read_from[Path(file).name] += 1
        self.advance(1)
        self._reject(Path(file).name, record, reason)

    def _keep(self, draft: Draft) -> None:
        for q in draft.questions:
            if q.id in self.questions:
                raise Unusable(f"duplicate question id {q.id!r}; the first one read is kept")
            refuse_surrogates(q)
        for i in draft.items:
            earlier = self.items.get(i.id)
            if earlier is None:
                refuse_surrogates(i)
            if earlier is not None and earlier.content_digest() != i.content_digest():
                raise Unusable(f"duplicate item id {i.id!r} with other content; the first one read is kept")
        known = {i.id for i in draft.items}
        for a in draft.annotations:
            if a.item_id not in known and a.item_id not in self.items:
                raise Unusable(f"gold names item {a.item_id!r}, which is not in the data")
        for i in draft.items:
            self.items.setdefault(i.id, i)
        self.questions.update((q.id, q) for q in draft.questions)
        self.annotations.extend(draft.annotations)


def refuse_surrogates(value: Any) -> None:
    """Refuse a string, item or question that holds what UTF-8 cannot."""
    try:
        (
            value
            if isinstance(value, str)
            else repr(value) + json.dumps(dataclasses.astuple(value), ensure_ascii=False)
        ).encode("utf-8")
    except UnicodeEncodeError:
        raise Unusable("a lone surrogate in the text: it cannot be written as UTF-8") from None


