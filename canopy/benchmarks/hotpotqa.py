"""HotpotQA (CC BY-SA 4.0, hotpotqa.github.io): paragraphs as text items, supporting facts as gold sentences.

Files: ``hotpot_train_v1.1.json``, ``hotpot_dev_distractor_v1.json``, or ``hotpot_dev_fullwiki_v1.json`` (read where the distractor
file is absent, since its questions are the same), in the folder or in a ``data`` folder below it.
"""

from __future__ import annotations

import html
from itertools import accumulate
from pathlib import Path
from typing import Any

from canopy.benchmarks.base import Draft, Sink, Unusable, Waiting, item_id, load_json_list, text_of
from canopy.errors import DataError
from canopy.items import Annotation, Item, Question

ABOUT = "HotpotQA, CC BY-SA 4.0: hotpot_train_v1.1.json and hotpot_dev_distractor_v1.json from hotpotqa.github.io"


def release_files(raw: Path) -> list[tuple[Path, str]]:
    """The files to read and the split each belongs to."""
    for folder in (raw, raw / "data"):
        train = sorted(folder.glob("hotpot_train*.json"))
        dev = sorted(folder.glob("hotpot_dev_distractor*.json")) or sorted(folder.glob("hotpot_dev_fullwiki*.json"))
        if train or dev:
            return [(p, "train") for p in train] + [(p, "dev") for p in dev]
    raise DataError(f"{raw}: no hotpot_train*.json, hotpot_dev_distractor*.json or hotpot_dev_fullwiki*.json is there")


def read(raw: Path, sink: Sink) -> None:
    """Read every release file under ``raw``."""
    for path, split in release_files(raw):
        for number, record in enumerate(load_json_list(path)):
            name = str(record.get("_id") or record.get("id") or f"record {number}") if isinstance(record, dict) else f"record {number}"
            with sink.record(path, name) as draft:
                map_record(record, name, split, sink.benchmark, draft)


def paragraphs(record: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The context as (title, sentences), from the official pairs or a mirror's dict of lists."""
    context = record["context"]
    pairs = zip(context["title"], context["sentences"], strict=True) if isinstance(context, dict) else context
    out = []
    for title, sentences in pairs:
        if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
            raise Unusable(f"context paragraph {title!r}: its sentences must be a list of strings")
        out.append((text_of(title, "a context title"), sentences))
    return out


def supporting_facts(record: dict[str, Any]) -> list[tuple[str, int]]:
    """Supporting facts as (title, sentence number), from the official pairs or a mirror's dict of lists."""
    facts = record.get("supporting_facts", [])
    pairs = zip(facts["title"], facts["sent_id"], strict=True) if isinstance(facts, dict) else facts
    out = []
    for title, number in pairs:
        if not isinstance(number, int) or isinstance(number, bool):
            raise Unusable(f"supporting fact {title!r}: its sentence number must be an integer, not {number!r}")
        out.append((text_of(title, "a supporting fact's title"), number))
    return out


def map_record(record: Any, name: str, split: str, benchmark: str, draft: Draft) -> None:
    """One official object to items, a question and its gold sentences."""
    if not isinstance(record, dict):
        raise Unusable(f"an object is expected, not {type(record).__name__}")
    question = text_of(record["question"], "question").strip()
    answer = record.get("answer", "")
    by_title: dict[str, list[tuple[Item, list[str]]]] = {}
    for title, sentences in paragraphs(record):
        text = "".join(sentences)
        if not text.strip():
            continue
        text_of(text, f"paragraph {title!r}")
        shown = html.unescape(title)
        item = Item(item_id(benchmark, shown, text), benchmark, "text", title=shown, text=text, source=name)
        draft.items.append(item)
        by_title.setdefault(title, []).append((item, sentences))
    if not draft.items:
        raise Unusable("no paragraph with any text")
    qid = f"{benchmark}/{name}"
    answers = (text_of(answer, "answer"),) if answer else ()
    draft.questions.append(Question(qid, benchmark, question, answers, str(record.get("type", "")), split))
    wanted: dict[str, list[int]] = {}
    for title, number in supporting_facts(record):
        wanted.setdefault(title, []).append(number)
    missing = [t for t in wanted if t not in by_title]
    if missing:
        raise Waiting(f"supporting paragraph {missing[0]!r} is not in the context")
    for title, numbers in wanted.items():
        item, sentences = next((c for c in by_title[title] if max(numbers) < len(c[1])), by_title[title][0])
        ends = [0, *accumulate(len(s) for s in sentences)]
        spans = [(float(ends[n]), float(ends[n + 1])) for n in sorted(set(numbers)) if 0 <= n < len(sentences) and sentences[n].strip()]
        if len(spans) < len(set(numbers)):
            draft.fallbacks.append("supporting fact past the last sentence" if spans else "no supporting fact inside its paragraph: gold whole")
        draft.annotations.append(Annotation(qid, item.id, "chars" if spans else "item", tuple(spans)))
