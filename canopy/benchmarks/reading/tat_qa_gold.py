"""Gold of a TAT-QA question.

Mapped facts if the file has them, otherwise where its answer or derivation stands on the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from canopy.benchmarks.reading.answer_spans import numbers_in, rows_of, spans_of
from canopy.benchmarks.reading.records import list_of
from canopy.ingest.sink import Unusable
from canopy.items import Annotation, Item

Spans = list[tuple[int, int]]


def gold_of(record: Mapping[str, Any], answers: Sequence[str], qid: str, table: Item | None,
            paragraphs: Mapping[int, Item],
            fallbacks: list[str]) -> list[Annotation]:
    """Annotations of one question, joint evidence all. What is said less exactly than the file should allow is added to
    ``fallbacks``.

    Raises
    ------
    Unusable
        If a mapping, an order number or a derivation is of the wrong form, or no part of the page that the question
        rests on can be used.
    """
    rows, spans, outside = read_mappings(record, table, paragraphs)
    pseudo = not rows and not spans
    whole: set[int] = set()
    if outside:
        fallbacks.append("a fact mapped to a place the page does not have left out" if not pseudo
                         else "facts mapped to places the page does not have: "
                         "located by answer and derivation")
    if pseudo:
        rows, spans, whole = locate_facts(record, answers, table, paragraphs, fallbacks)
    out = [Annotation(qid, table.id, "rows", tuple((float(r), float(r + 1)) for r in sorted(rows)),
                      pseudo=pseudo)] if rows and table else []
    out += [Annotation(qid, paragraphs[o].id, "chars", tuple((float(a), float(b)) for a, b in sorted(set(s))),
                       pseudo=pseudo) for o, s in spans.items()]
    wholes = [paragraphs[o] if o else table for o in sorted(whole)]
    return out + [Annotation(qid, item.id, "item", pseudo=pseudo) for item in wholes if item]


def read_mappings(record: Mapping[str, Any], table: Item | None,
           paragraphs: Mapping[int, Item]) -> tuple[set[int], dict[int, Spans], int]:
    """The rows and the paragraphs' spans that ``mappings`` name, and how many of its places the page does not have.

    ``{"table": [row, column]}``, the heads counted; ``{"paragraph_2": [start, end]}``, characters of the paragraph of
    that order.
    """
    rows: set[int] = set()
    spans: dict[int, Spans] = {}
    outside = 0
    for entry in list_of(record.get("mappings"), "mappings"):
        if not isinstance(entry, dict):
            raise Unusable(f"a mapping must be an object, not {type(entry).__name__}")
        for place, at in entry.items():
            if not (isinstance(at, list) and len(at) == 2 and all(isinstance(x, int) and not isinstance(x, bool)
                                                                  for x in at)):
                raise Unusable(f"a mapping to {place[:40]!r} must be two whole numbers, not {str(at)[:40]!r}")
            a, b = at
            order = re.fullmatch(r"paragraph_(\d{1,9})", place)
            if place == "table":
                if table and 0 <= a < len(table.rows) and 0 <= b < len(table.header):
                    rows.add(a)
                else:
                    outside += 1
            elif order is None:
                raise Unusable(f"a mapping must be to table or paragraph_N, not {place[:40]!r}")
            else:
                text = paragraphs[int(order[1])].text if int(order[1]) in paragraphs else ""
                if 0 <= a < b <= len(text) and text[a:b].strip():
                    spans.setdefault(int(order[1]), []).append((a, b))
                else:
                    outside += 1
    return rows, spans, outside


def locate_facts(record: Mapping[str, Any], answers: Sequence[str], table: Item | None, paragraphs: Mapping[int, Item],
            fallbacks: list[str]) -> tuple[set[int], dict[int, Spans], set[int]]:
    """Rows and spans that state the answer's facts, and what is gold whole: orders of paragraphs, 0 for the table.

    Facts: an arithmetic answer's are the numbers of its derivation, a count's are what was counted, another's the
    answer itself, with the numbers that a comparison compares. ``answer_from`` says where they stand: for
    ``table-text`` in the table before the named paragraphs.
    """
    source = record.get("answer_from")
    facts, compared = facts_of(record, answers)
    named = orders_of(record)
    rows: set[int] = set()
    spans: dict[int, Spans] = {}
    missing = set(facts)
    if table and source != "text":
        rows, missing = rows_of(facts, table.rows, str(record["question"]))
        rows |= rows_of(compared, table.rows, str(record["question"]))[0]
    if source != "table":
        absent = [f for f in facts if f in missing]
        for order in [o for o in named if o in paragraphs] or (list(paragraphs) if source == "text" else []):
            for fact in absent:
                places = spans_of(fact, paragraphs[order].text)
                if places:
                    spans.setdefault(order, []).extend(places)
                    missing.discard(fact)
    if rows or spans:
        if missing:
            fallbacks.append("part of the answer is not stated on its page: the rest is gold")
        return rows, spans, set()
    whole = {o for o in named if o in paragraphs and source != "table"} | ({0} if table and source != "text" else set())
    if not whole:
        raise Unusable(f"its {'paragraphs' if source == 'text' else 'table'} cannot be used, and nothing else on the "
                       "page states the answer")
    fallbacks.append("the answer is not stated on its page: what it rests on is gold whole")
    return rows, spans, whole


def facts_of(record: Mapping[str, Any], answers: Sequence[str]) -> tuple[list[str], list[str]]:
    """What the page must state for an answer, and what a comparison compares beside it."""
    kind, derivation = record.get("answer_type"), record.get("derivation") or ""
    if not isinstance(derivation, str):
        raise Unusable(f"derivation must be a string, not {type(derivation).__name__}")
    if kind == "arithmetic":
        return numbers_in(derivation) or list(answers), []
    if kind in ("count", "counting"):
        return [f.strip() for f in derivation.split("##") if f.strip()] or list(answers), []
    comparison = re.search(r"[<>]", derivation) and not re.search(r"[^\W\d_]", derivation)
    return list(answers), numbers_in(derivation) if comparison else []


def orders_of(record: Mapping[str, Any]) -> list[int]:
    """The order numbers of ``rel_paragraphs``, which are strings in the official files."""
    out = []
    for o in list_of(record.get("rel_paragraphs"), "rel_paragraphs"):
        if isinstance(o, bool) or not re.fullmatch(r"\s*\d{1,9}\s*", str(o)):
            raise Unusable(f"rel_paragraphs must be order numbers, not {str(o)[:40]!r}")
        out.append(int(o))
    return list(dict.fromkeys(out))
