"""The page of cases: of each question its gold, CANOPY's rounds and evidence forest, and what every system saw and
answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from canopy.gold.examples import TEMPLATES as ITEM_TEMPLATES
from canopy.items import Item
from canopy.pages import plural, render_page
from canopy.report.cases.items import ItemViews, RegionView
from canopy.report.cases.model import DRAWN, Answer, Case, KeptRegion, Step
from canopy.report.cases.trees import ForestView
from canopy.report.page import TEMPLATES
from canopy.scoring.measure import label_of

_REGIONS = 12  # regions of a system
_FOREST_ITEMS = 16  # items of a round whose forests are drawn


@dataclass(frozen=True, slots=True)
class AnswerView:
    """A row of the table of answers."""

    system: str
    prediction: str
    score: str
    gold: str
    tokens: int
    rounds: int


@dataclass(frozen=True, slots=True)
class RoundView:
    """A round: its query, what came in words, and the forests of the new items; ``more`` items are left out."""

    number: int
    query: str
    came: str
    forests: list[ForestView]
    more: int


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """What some systems saw; ``more`` regions are left out."""

    systems: str
    summary: str
    regions: list[RegionView]
    more: int


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case as the page shows it; ``options`` are (letter, text)."""

    number: int
    case: Case
    is_study: bool
    facts: str
    options: list[tuple[str, str]]
    measure: str
    answers: list[AnswerView]
    ablations: list[AnswerView]
    rounds: list[RoundView]
    evidence: list[EvidenceView]


class CasePage:
    """Renders cases; self-contained, the same bytes for the same input.

    Parameters
    ----------
    items : mapping
        Every item that a case shows; one that is missing is named by its id.
    branching, segment_seconds
        As the hierarchy was built.
    media : mapping
        Benchmark to the folders that its media paths count from.
    """

    def __init__(self, items: Mapping[str, Item], branching: int, segment_seconds: float,
                 media: Mapping[str, Sequence[Path]]) -> None:
        self._items = ItemViews(items, branching, segment_seconds, media)

    def render(self, cases: Sequence[Case]) -> str:
        """The page of all cases, by benchmark."""
        benchmarks: dict[str, list[CaseView]] = {}
        ordered = [c for benchmark in dict.fromkeys(c.benchmark for c in cases) for c in cases
                   if c.benchmark == benchmark]
        for number, case in enumerate(ordered, 1):
            benchmarks.setdefault(case.benchmark, []).append(self._case(number, case))
        lead = ("The first cases of a benchmark were chosen for what they show, as each says; the others are drawn by "
                "the seed."
                if cases else "No question was answered, so there is nothing to show.")
        return render_page("cases.html", TEMPLATES, ITEM_TEMPLATES, lead=lead, benchmarks=benchmarks)

    def _case(self, number: int, case: Case) -> CaseView:
        q = case.question
        first, ablations = ([_view_answer(a) for a in case.answers if (a.family == "ablation") == ablation]
                            for ablation in (False, True))
        canopy = case.of("canopy")
        return CaseView(
            number, case, case.why != DRAWN, " · ".join(f for f in (case.why, q.id, q.type, q.split) if f),
            [(k, v) for k, v in q.details if len(k) == 1], label_of(case.measure), first, ablations,
            [self._round(case, s) for s in canopy.steps] if canopy else [],
            [self._evidence(same) for same in _by_evidence(case.answers)])

    def _round(self, case: Case, step: Step) -> RoundView:
        kept: dict[str, list[KeptRegion]] = {i: [] for i in step["new"]}
        for region in step["kept"]:
            kept.setdefault(region["item_id"], []).append(region)
        again = len(step["retrieved"]) - len(step["new"])
        came = f"{len(step['new'])} new of {len(step['retrieved'])} items"
        if again:
            came += f", {again} in evidence already"
        drawable = list(kept)[:_FOREST_ITEMS]
        forests = [self._items.forest(i, kept[i], case.gold.get(i, frozenset())) for i in drawable]
        return RoundView(step["round"], step["query"], came, forests, len(kept) - len(drawable))

    def _evidence(self, answers: Sequence[Answer]) -> EvidenceView:
        """What systems that saw the same saw."""
        answer, regions = answers[0], answers[0].evidence
        notes = [f"{a.system}: {n['note']}" + (f" ({n['count']})" if n["count"] > 1 else "") for a in answers
                 for n in a.notes]
        items = len({e["item_id"] for e in regions})
        summary = (f"{answer.tokens:,} tokens, {len(regions)} {plural(len(regions), 'region')} of {items} "
                   f"{plural(items, 'item')}"
                   + (f"; {', '.join(notes)}" if notes else ""))
        views = [self._items.region(e) for e in regions[:_REGIONS]]
        return EvidenceView(", ".join(a.system for a in answers), summary, views, max(0, len(regions) - _REGIONS))


def _view_answer(answer: Answer) -> AnswerView:
    return AnswerView(answer.system, answer.prediction or "(no answer)", _share(answer.score),
                      _share(answer.gold_recall), answer.tokens,
                      answer.rounds)


def _by_evidence(answers: Sequence[Answer]) -> list[list[Answer]]:
    """Answers whose readers saw the same, in the same order, together."""
    groups: dict[tuple[tuple[str, int, int, str | None], ...], list[Answer]] = {}
    for a in answers:
        groups.setdefault(tuple((e["item_id"], e["lo"], e["hi"], e["text"]) for e in a.evidence), []).append(a)
    return list(groups.values())


def _share(value: float | None) -> str:
    return "–" if value is None or value != value else f"{100 * value:.0f}%"
