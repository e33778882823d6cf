"""A page of random mapped examples, the gold marked in each: what a person looks at to judge whether the mapping is right."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from canopy.gold.marking import Marked, mark_image, mark_table, mark_text, mark_video
from canopy.gold.selection import draw
from canopy.hierarchy.leaves import cut_item
from canopy.items import Annotation, Item, Question

EXAMPLES, ALTERNATIVES = 20, 6
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_COVERAGE = {"located": "gold inside the item", "whole": "gold whole"}


def escape(text: str) -> str:
    """Text as it may stand in the page; control and direction characters, which would show nothing or turn a line around, become U+FFFD."""
    return html.escape(_UNSHOWN.sub("\ufffd", text))


def render_examples(benchmark: str, questions: Sequence[Question], annotations: Iterable[Annotation], rows: Iterable[Mapping[str, Any]],
                    items: Mapping[str, Item], *, segment_seconds: float, seed: int, media: Sequence[Path] = (), most: int = EXAMPLES) -> str:
    """The page of a benchmark, self-contained; the same input gives the same bytes.

    Parameters
    ----------
    questions : sequence of Question
        Those selected; the examples are drawn from those with gold.
    rows : iterable of dict
        Gold rows as ``canopy.gold.fragments.map_annotations`` gives them.
    items : mapping
        Gold items by id.
    media : sequence of Path
        Folders that images' paths count from; the first that holds the file is taken.
    """
    held: dict[str, dict[int, list[Mapping[str, Any]]]] = {}
    for r in rows:
        held.setdefault(r["question_id"], {}).setdefault(r["group"], []).append(r)
    said: dict[tuple[str, str, int], list[Annotation]] = {}
    for a in annotations:
        said.setdefault((a.question_id, a.item_id, a.group), []).append(a)
    chosen = draw([q for q in questions if q.id in held], most, seed)
    body = [_example(n, q, held[q.id], said, items, segment_seconds, media) for n, q in enumerate(chosen, 1)]
    lead = (f"{len(chosen)} of {len(held)} questions with gold, drawn with seed {seed}." if chosen else
            "No question with gold was selected, so there is nothing to show.")
    return Template(Path(__file__).with_name("examples.html").read_text("utf-8")).substitute(
        benchmark=escape(benchmark), lead=lead, contents="".join(f'<li><a href="#e{n}">{n}</a></li>' for n in range(1, len(chosen) + 1)), body="\n".join(body))


def _example(number: int, question: Question, groups: Mapping[int, Sequence[Mapping[str, Any]]],
             said: Mapping[tuple[str, str, int], Sequence[Annotation]], items: Mapping[str, Item], seconds: float, media: Sequence[Path]) -> str:
    facts = " · ".join(escape(f) for f in (question.id, question.type, question.split) if f)
    answers = "".join(f'<li dir="auto">{escape(a)}</li>' for a in question.answers) or "<li class=none>none given</li>"
    shown = []
    for place, group in enumerate(sorted(groups)[:ALTERNATIVES], 1):
        parts = "".join(_item(r, said.get((question.id, r["item_id"], group), ()), items[r["item_id"]], seconds, media) for r in groups[group])
        title = f"<h3>Alternative {place} of {len(groups)}" + (", any one of which suffices" if place == 1 else "") + "</h3>" if len(groups) > 1 else ""
        joint = f'<p class=note>{len(groups[group])} items, evidence together.</p>' if len(groups[group]) > 1 else ""
        shown.append(f'<div class="group">{title}{joint}{parts}</div>')
    if len(groups) > ALTERNATIVES:
        shown.append(f'<p class="gap">[{len(groups) - ALTERNATIVES} more alternatives left out]</p>')
    return (f'<section id="e{number}" class="example"><h2><span class="number">{number}</span> <span dir="auto">{escape(question.question)}</span></h2>'
            f'<p class="note">{facts}</p><ul class="answers" aria-label="Accepted answers">{answers}</ul>{"".join(shown)}</section>')


def _item(row: Mapping[str, Any], said: Sequence[Annotation], item: Item, seconds: float, media: Sequence[Path]) -> str:
    leaves = cut_item(item, seconds)
    marked = Marked(item, leaves, frozenset(row["fragments"]), tuple(s for a in said for s in a.spans), escape)
    body = {"text": mark_text, "table": mark_table, "video": mark_video}.get(item.modality)
    content = body(marked) if body else mark_image(marked, media)
    pseudo = bool(row.get("pseudo")) or any(a.pseudo for a in said)
    badges = f'<span class="badge {row["coverage"]}">{_COVERAGE[row["coverage"]]}</span>' + (
        '<span class="badge pseudo" title="found by locating the answer, not annotated by anyone">pseudo gold</span>' if pseudo else "")
    # Imported documents say the section in the title as well.
    title = " — ".join(t for t in (item.title, item.section if item.section not in item.title else "") if t.strip()) or "(no title)"
    return (f'<article><h4><span dir="auto">{escape(title)}</span> {badges}</h4><p class="note">{item.modality} · {escape(item.id)} · '
            f'{len(marked.gold)} of {leaves.count} {marked.unit(leaves.count)} gold</p>{content}</article>')
