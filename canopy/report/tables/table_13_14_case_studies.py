"""Tables 13 and 14: two case studies, each a question, CANOPY's rounds, and what every system answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canopy.items import Item
from canopy.pages import in_one_line
from canopy.report.cases.model import FINDS, LOSES, Case, KeptRegion
from canopy.report.model import Block, Bullets, Column, Paragraph, Row, Section, Table, Tabular
from canopy.report.quotations import quote
from canopy.scoring.measure import label_of

PAGE = "cases.html"
STUDIES = ((FINDS, "Table 13"), (LOSES, "Table 14"))
_LONGEST = 240  # characters of a text in a table


def case_sections(cases: Sequence[Case], items: Mapping[str, Item]) -> list[Section]:
    """Where the cases are, and a part for each study: the first question of the run that shows it."""
    if not cases:
        return []
    text = f"{len(cases)} questions with their evidence forests, and what each system saw, on a page of their own."
    sections = [Section("cases", "Cases", (Paragraph(text), Paragraph("", (("The cases", PAGE),))))]
    for number, (why, place) in enumerate(STUDIES, 1):
        case = next((c for c in cases if c.why == why), None)
        if case is None:
            none = Paragraph("No question of this run shows it.")
            sections.append(Section(f"case-{number}", f"Case study {number}: {why}", (none,), (place,)))
        else:
            sections.append(_study(number, case, items, place))
    return sections


def _study(number: int, case: Case, items: Mapping[str, Item], place: str) -> Section:
    question = f"Question ({case.benchmark}, {case.question.id}): {_clean(case.question.question)}"
    accepted = f"Accepted: {'; '.join(map(_clean, case.question.answers)) or 'none given'}"
    tables = [t for t in (_rounds_table(number, case, items), _answers_table(number, case)) if t.rows]
    quotation = quote(place)
    blocks: list[Block] = [Bullets((question, accepted)), *(Tabular(t, len(tables) > 1) for t in tables)]
    if quotation is not None:
        blocks.append(quotation)
    return Section(f"case-{number}", f"Case study {number}: {case.why}", tuple(blocks), (place,))


def _rounds_table(number: int, case: Case, items: Mapping[str, Item]) -> Table:
    rows: list[Row] = []
    canopy = case.of("canopy")
    for step in canopy.steps if canopy else ():
        kept: dict[str, list[str]] = {}
        for region in step["kept"]:
            kept.setdefault(region["item_id"], []).append(_span(region))
        gold = [i for i in step["new"] if i in case.gold]
        rows.append({
            "round": step["round"], "query": _clean(step["query"]), "new": len(step["new"]),
            "again": len(step["retrieved"]) - len(step["new"]), "gold": "; ".join(_name(i, items) for i in gold) or "–",
            "kept": "; ".join(f"{_name(i, items)}: {', '.join(kept.get(i, ['nothing']))}" for i in gold) or "–"})
    columns = [Column("round", "round", "count"), Column("query", "query"), Column("new", "new items", "count"),
               Column("again", "in evidence already", "count"), Column("gold", "gold items among the new"),
               Column("kept", "their fragments kept, counted from 1")]
    return Table(f"case-{number}-rounds", "CANOPY's rounds", columns, rows, "", _about(case))


def _answers_table(number: int, case: Case) -> Table:
    rows: list[Row] = [
        {"system": a.system, "answer": _clean(a.prediction) or "(no answer)", "score": a.score, "gold": a.gold_recall,
         "tokens": a.tokens}
        for a in case.answers if a.family != "ablation"]
    columns = [Column("system", "system"), Column("answer", "answer"),
               Column("score", label_of(case.measure), "percent"),
               Column("gold", "gold kept", "percent"), Column("tokens", "tokens", "count")]
    return Table(f"case-{number}-answers", "What each system answered", columns, rows, "", _about(case))


def _about(case: Case) -> dict[str, str]:
    return {"read by": case.reader, "corpus": case.corpus, "gold": case.gold_words}


def _span(region: KeptRegion) -> str:
    """Fragments counted from 1."""
    lo, hi = region["lo"], region["hi"]
    return f"{lo + 1}" if hi - lo == 1 else f"{lo + 1}–{hi}"


def _name(item_id: str, items: Mapping[str, Item]) -> str:
    item = items.get(item_id)
    return _clean(item.title) or item_id if item else item_id


def _clean(text: str) -> str:
    """Text in one line, without control and direction characters; a long one is cut."""
    text = in_one_line(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} […]"
