"""A page of random mapped examples, the gold marked in each, by which a person judges whether the mapping is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canopy.gold.marking import (
    Gap,
    Marked,
    MarkedTable,
    MarkedVideo,
    Sentence,
    Words,
    cut_words,
    mark_table,
    mark_text,
    mark_video,
)
from canopy.gold.selection import draw
from canopy.gold.thumbnails import Thumbnail, make_thumbnail
from canopy.hierarchy.leaves import cut_item
from canopy.items import Annotation, Item, Question
from canopy.pages import render_page

TEMPLATES = Path(__file__).with_name("templates")
EXAMPLES, ALTERNATIVES = 20, 6
_COVERAGE = {"located": "gold inside the item", "whole": "gold whole"}
_Row = Mapping[str, Any]  # a gold row, as `canopy.gold.fragments.map_annotations` gives it


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item as the page shows it; the field of its modality holds its content."""

    id: str
    modality: str
    title: str
    coverage: str
    badge: str
    pseudo: bool
    gold: int
    count: int
    unit: str
    sentences: tuple[Sentence | Gap, ...] = ()
    table: MarkedTable | None = None
    video: MarkedVideo | None = None
    image: Thumbnail | None = None
    words: tuple[tuple[str, Words], ...] = ()


@dataclass(frozen=True, slots=True)
class ExampleView:
    """A question, the facts about it, and the items of each alternative; ``more`` alternatives are left out."""

    question: Question
    facts: str
    alternatives: list[list[ItemView]]
    count: int

    @property
    def more(self) -> int:
        """Alternatives that are left out."""
        return self.count - len(self.alternatives)


def render_examples(benchmark: str, questions: Sequence[Question], annotations: Iterable[Annotation],
                    rows: Iterable[_Row],
                    items: Mapping[str, Item], *, segment_seconds: float, seed: int, media: Sequence[Path] = (),
                    most: int = EXAMPLES) -> str:
    """The page of a benchmark, self-contained; the same input gives the same bytes.

    Parameters
    ----------
    questions : sequence of Question
        Those selected; the examples are drawn from those with gold.
    rows : iterable of dict
        Gold rows as `canopy.gold.fragments.map_annotations` gives them.
    items : mapping
        Gold items by id.
    media : sequence of Path
        Folders that images' paths count from; the first that holds the file is taken.
    """
    groups: dict[str, dict[int, list[_Row]]] = {}
    for r in rows:
        groups.setdefault(r["question_id"], {}).setdefault(r["group"], []).append(r)
    by_item: dict[tuple[str, str, int], list[Annotation]] = {}
    for a in annotations:
        by_item.setdefault((a.question_id, a.item_id, a.group), []).append(a)

    def view(question: Question) -> ExampleView:
        alternatives = []
        for group in sorted(groups[question.id])[:ALTERNATIVES]:
            views = []
            for r in groups[question.id][group]:
                of_item = by_item.get((question.id, r["item_id"], group), ())
                views.append(_view_item(r, of_item, items[r["item_id"]], segment_seconds, media))
            alternatives.append(views)
        facts = " · ".join(f for f in (question.id, question.type, question.split) if f)
        return ExampleView(question, facts, alternatives, len(groups[question.id]))

    sample = draw([q for q in questions if q.id in groups], most, seed)
    lead = (f"{len(sample)} of {len(groups)} questions with gold, drawn with seed {seed}." if sample else
            "No question with gold was selected, so there is nothing to show.")
    return render_page("examples.html", TEMPLATES, benchmark=benchmark, lead=lead, examples=list(map(view, sample)))


def _view_item(row: _Row, annotations: Sequence[Annotation], item: Item, seconds: float,
               media: Sequence[Path]) -> ItemView:
    leaves = cut_item(item, seconds)
    marked = Marked(item, leaves, frozenset(row["fragments"]), tuple(s for a in annotations for s in a.spans))
    # Imported documents say the section in the title as well.
    section = item.section if item.section not in item.title else ""
    title = " — ".join(t for t in (item.title, section) if t.strip()) or "(no title)"
    pseudo = bool(row.get("pseudo")) or any(a.pseudo for a in annotations)
    captions = (("caption", item.caption), ("words read off it", item.words))
    is_image = item.modality == "image"
    return ItemView(
        item.id, item.modality, title, row["coverage"], _COVERAGE[row["coverage"]], pseudo, len(marked.gold),
        leaves.count,
        marked.unit(leaves.count),
        sentences=mark_text(marked) if item.modality == "text" else (),
        table=mark_table(marked) if item.modality == "table" else None,
        video=mark_video(marked) if item.modality == "video" else None,
        image=make_thumbnail(item, media) if is_image else None,
        words=tuple((k, cut_words(v)) for k, v in captions if v.strip()) if is_image else ())
