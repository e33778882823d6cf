"""The two case studies as the report shows them: a question, CANOPY's rounds, and what every system answered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from canopy.items import Item
from canopy.report.answer_tables import label_of
from canopy.report.case_studies import FINDS, LOSES, Case
from canopy.report.sections import Section, bullets, paragraphs, section
from canopy.report.tables import Column, Table

PAGE = "cases.html"
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 240


def case_sections(cases: Sequence[Case], items: Mapping[str, Item]) -> list[Section]:
    """Where the cases are, and a part for each study; the first question of the run that shows it, benchmarks in their order."""
    if not cases:
        return []
    page, text = paragraphs(f"{len(cases)} questions with their evidence forests, and what each system saw, on a page of their own.")
    out = [Section("cases", "Cases", f'{page}<p><a href="{PAGE}">The cases</a></p>', f"{text}\n[The cases]({PAGE})\n")]
    for number, (why, place) in enumerate(((FINDS, "Table 13"), (LOSES, "Table 14")), 1):
        case = next((c for c in cases if c.why == why), None)
        if case is None:
            out.append(Section(f"case-{number}", f"Case study {number}: {why}", *paragraphs("No question of this run shows it."), places=(place,)))
        else:
            out.append(_study(number, case, items, place))
    return out


def _study(number: int, case: Case, items: Mapping[str, Item], place: str) -> Section:
    rounds, answers = _rounds(number, case, items), _answers(number, case)
    told, plain = bullets([f"Question ({case.benchmark}, {case.question.id}): {_clean(case.question.question)}", f"Accepted: {'; '.join(map(_clean, case.question.answers)) or 'none given'}"])
    part = section(f"case-{number}", f"Case study {number}: {case.why}", [], [t for t in (rounds, answers) if t.rows], places=(place,))
    return Section(part.key, part.title, told + part.html, plain + part.markdown, part.places, part.tables)


def _rounds(number: int, case: Case, items: Mapping[str, Item]) -> Table:
    rows = []
    mine = case.of("canopy")
    for step in mine["steps"] if mine else ():
        kept: dict[str, list[str]] = {}
        for e in step["kept"]:
            kept.setdefault(e["item_id"], []).append(f"{e['lo'] + 1}" if e["hi"] - e["lo"] == 1 else f"{e['lo'] + 1}–{e['hi']}")
        gold = [i for i in step["new"] if i in case.gold]
        rows.append({"round": step["round"], "query": _clean(step["query"]), "new": len(step["new"]), "again": len(step["retrieved"]) - len(step["new"]),
                     "gold": "; ".join(_name(i, items) for i in gold) or "–", "kept": "; ".join(f"{_name(i, items)}: {', '.join(kept.get(i, ['nothing']))}" for i in gold) or "–"})
    return Table(f"case-{number}-rounds", "CANOPY's rounds", [Column("round", "round", "count"), Column("query", "query"), Column("new", "new items", "count"),
                                                              Column("again", "in evidence already", "count"), Column("gold", "annotated items among the new"),
                                                              Column("kept", "their fragments kept, counted from 1")], rows, "", {"read by": case.reader, "corpus": case.corpus})


def _answers(number: int, case: Case) -> Table:
    rows = [{"system": a["system"], "answer": _clean(a["prediction"]) or "(no answer)", "score": a["score"], "gold": a["gold_recall"], "tokens": a["tokens"]} for a in case.answers if a["family"] != "ablation"]
    return Table(f"case-{number}-answers", "What each system answered", [Column("system", "system"), Column("answer", "answer"), Column("score", label_of(case.measure), "percent"),
                                                                       Column("gold", "gold kept", "percent"), Column("tokens", "tokens", "count")], rows, "",
                 {"read by": case.reader, "corpus": case.corpus})


def _name(item_id: str, items: Mapping[str, Item]) -> str:
    item = items.get(item_id)
    return _clean(item.title) or item_id if item else item_id


def _clean(text: str) -> str:
    """Text in one line, without what would show nothing or turn a line around; a long one is cut."""
    text = " ".join(_UNSEEN.sub(" ", text).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} […]"
