"""MuSiQue (CC BY 4.0, github.com/StonyBrookNLP/musique): paragraphs as text items, supporting paragraphs as gold.

Gold is annotated a paragraph at a time. A paragraph that is marked as supporting is therefore located, and covers its
whole text: every sentence of it is gold, and keeping all of it is the right decision. Which of its sentences a
sub-question's answer stands in would be our guess.

Paragraphs are distinguished by ``idx``, not by title: a third of the questions have two of one title. MuSiQue-Full
gives each question twice under one id; the second record lacks a supporting paragraph and has ``answerable: false``. It
is kept as a question of its own, typed ``unanswerable``, without answers and with the supporting paragraphs that are
left. A question's ``details`` keep the steps it was composed of as published: ``#1`` stands for the first step's
answer, ``X >> relation`` is a step too.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.mirrors import field_of
from canopy.benchmarks.reading.records import (
    BLIND,
    HELD_OUT,
    Record,
    distinct_files,
    given_id,
    iterate_records,
    list_of,
    object_of,
    strings_of,
)
from canopy.benchmarks.reading.release import require_files
from canopy.gold.expected import Expected
from canopy.ingest.fields import item_id, text_of
from canopy.ingest.sink import Draft, Sink, Unusable, Waiting
from canopy.items import Annotation, Item, Question

SETS = ("ans", "full")
SPLITS = ("train", "dev", "test")
BENCHMARK = Benchmark(
    title="MuSiQue",
    licence="CC BY 4.0",
    home="https://github.com/StonyBrookNLP/musique",
    files=(
        *(ReleaseFile(f"{kind}_{split}", (f"musique_{kind}_v*_{split}.jsonl", f"musique_{kind}*{split}*.jsonl*",
                                          f"musique_{kind}*{split}*.json"),
                      f"MuSiQue-{kind.title()}, {split}" + (", answers withheld" if split == "test" else ""))
          for kind in SETS for split in SPLITS),
        *(ReleaseFile(split, (f"musique_{split}*.json*", f"musique-{split}*.json*", f"{split}.jsonl", f"{split}.json"),
                      f"a mirror's {split} file, same records") for split in SPLITS),
    ),
    needs=((*(f"{kind}_{split}" for kind in SETS for split in SPLITS), *SPLITS),),
    layout="musique/\n  data/musique_ans_v1.0_train.jsonl\n  data/musique_ans_v1.0_dev.jsonl\n  "
           "data/musique_full_v1.0_dev.jsonl (optional)",
    notes="The publisher gives one archive, musique_v1.0.zip on Google Drive (linked from the project's page): unpack "
          "it into the folder.",
    expected=(Expected("dev questions (answerable)", 2_417, "the release", split="dev"),),
    fold="redirects",
)


def read(raw: Path, sink: Sink) -> None:
    """Read every set and split under ``raw``, MuSiQue-Ans first. DataError if there is none, or a file is broken."""
    by_role = require_files(raw, BENCHMARK)
    files = [(p, split) for kind in ("ans_", "full_", "") for split in SPLITS for p in by_role[kind + split]]
    split_of = dict(files)
    origin: dict[str, str] = {}
    for path in distinct_files(split_of, sink):
        for place, record in iterate_records(path, sink):
            name = given_id(record, "id", "_id") or place
            with sink.record(path, name) as draft:
                map_record(record, name, split_of[path], sink, draft, origin)
            origin.update((q.id, path.name) for q in draft.questions if sink.questions.get(q.id) is q)


def map_record(record: Any, name: str, split: str, sink: Sink, draft: Draft, origin: dict[str, str]) -> None:
    """One official object to items, a question and its supporting paragraphs.

    ``origin`` names the file of each question kept so far: the answerable records of MuSiQue-Full are those of
    MuSiQue-Ans again, and only their paragraphs are added.
    """
    question = text_of(object_of(record)["question"], "question").strip()
    own_id = given_id(record, "id", "_id")
    answerable = record.get("answerable", True)
    if not isinstance(answerable, bool):
        raise Unusable(f"answerable must be true or false, not {str(answerable)[:80]!r}")
    answers = strings_of(record.get("answer"), "answer") + strings_of(record.get("answer_aliases"), "answer_aliases")
    items = paragraph_items(record, name, sink.benchmark)
    draft.items.extend({i.id: i for i in items.values()}.values())
    if not draft.items:
        raise Unusable("no paragraph with any text")
    gold = supporting(record)
    qid = (f"{sink.benchmark}/{text_of(own_id, 'id')}" if own_id
           else item_id(sink.benchmark, question)) + ("" if answerable else "/unanswerable")
    if qid in origin and sink.questions[qid].question == question:
        draft.fallbacks.append(f"same question as in {origin[qid]}: its paragraphs are added")
        return
    absent = [idx for idx in gold if idx not in items]
    if absent:
        raise Waiting(f"supporting paragraph {absent[0]} is not there or has no text")
    if not answerable:
        draft.fallbacks.append("marked unanswerable: no answer, and the supporting paragraphs that are left")
    elif not gold:
        draft.fallbacks.append("no supporting paragraph: question without gold" if answers or split != "test" else
                               "blind test: no answer and no supporting paragraph")
    if split == "test":
        split = HELD_OUT if answers or gold else BLIND
    hops = own_id.split("__")[0] if "hop" in own_id.split("__")[0] else ""
    kind = hops if answerable else f"{hops} unanswerable".strip()
    steps = tuple((f"step_{n}", text_of(s["question"], "a step's question")) for n, s in enumerate(steps_of(record), 1))
    draft.questions.append(Question(qid, sink.benchmark, question, tuple(dict.fromkeys(answers)) if answerable else (),
                                    kind, split, steps))
    draft.annotations.extend(Annotation(qid, i.id, "chars", ((0.0, float(len(i.text))),))
                             for i in {items[idx].id: items[idx] for idx in gold}.values())


def paragraph_items(record: Record, name: str, benchmark: str) -> dict[int, Item]:
    """The paragraphs that have any words, by ``idx`` (by position if a mirror drops it).

    Unusable if two share one.
    """
    items: dict[int, Item] = {}
    seen: set[int] = set()
    for position, paragraph in enumerate(list_of(field_of(record, "paragraphs"), "paragraphs")):
        idx = whole(object_of(paragraph, "a paragraph").get("idx", position), "a paragraph's idx")
        if idx in seen:
            raise Unusable(f"two paragraphs have idx {idx}")
        seen.add(idx)
        title = html.unescape(text_of(paragraph.get("title") or "", "a paragraph's title", empty=True)).strip()
        text = text_of(paragraph["paragraph_text"], f"paragraph {idx}", empty=True)
        if text.strip():
            items[idx] = Item(item_id(benchmark, title, text), benchmark, "text", title=title, text=text, source=name)
    return items


def supporting(record: Record) -> list[int]:
    """``idx`` of the supporting paragraphs: those marked ``is_supporting``, else those that the decomposition's steps
    name.

    In an unanswerable record the step whose paragraph was taken out names none.
    """
    marked = [whole(p.get("idx", n), "a paragraph's idx") for n,
              p in enumerate(list_of(record.get("paragraphs"), "paragraphs")) if flag(p.get("is_supporting"))]
    steps = [s.get("paragraph_support_idx") for s in steps_of(record)]
    return marked or list(dict.fromkeys(whole(s, "paragraph_support_idx") for s in steps if s is not None))


def steps_of(record: Record) -> list[Record]:
    """The steps that a question was composed of; empty if the record has none."""
    steps = list_of(record.get("question_decomposition"), "question_decomposition")
    return [object_of(s, "a step of the decomposition") for s in steps]


def flag(value: Any) -> bool:
    """Whether a paragraph is marked; Unusable if the mark is neither true, false nor absent."""
    if value is not None and not isinstance(value, bool):
        raise Unusable(f"is_supporting must be true or false, not {str(value)[:80]!r}")
    return bool(value)


def whole(value: Any, what: str) -> int:
    """A whole number; Unusable if it is something else."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unusable(f"{what} must be a whole number, not {str(value)[:80]!r}")
    return value
