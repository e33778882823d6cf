"""The page of cases: of each question its gold, CANOPY's rounds and evidence forest, and what every system saw and answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from canopy.encoder.words import item_words
from canopy.gold.examples import escape
from canopy.gold.marking import Marked, clock, thumbnail
from canopy.hierarchy.leaves import Leaves, cut_item
from canopy.items import Item
from canopy.report.answer_tables import label_of
from canopy.report.case_studies import DRAWN, Case
from canopy.report.forest import Judged, judged_nodes

_UNITS = {"text": "sentence", "table": "row", "video": "segment", "image": "image"}
_LONGEST, _REGIONS, _SHORT = 320, 12, 220  # characters of a fragment, regions of a system, characters of a region
_OPEN = 2  # so many kept fragments of an item without gold are shown at once
_FRAGMENTS, _NODES = 40, 600  # fragments and nodes of one item; gold ones are always shown
_FOREST_ITEMS = 16  # items of a round whose forests are drawn


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

    def __init__(self, items: Mapping[str, Item], branching: int, segment_seconds: float, media: Mapping[str, Sequence[Path]]) -> None:
        self._items, self._branching, self._seconds, self._media = items, branching, segment_seconds, media
        self._cut: dict[str, Leaves] = {}

    def render(self, cases: Sequence[Case]) -> str:
        """The page of all cases, by benchmark."""
        body, contents, number = [], [], 0
        for benchmark in dict.fromkeys(c.benchmark for c in cases):
            links = []
            body.append(f'<h2 class="benchmark">{escape(benchmark)}</h2>')
            for case in (c for c in cases if c.benchmark == benchmark):
                number += 1
                links.append(f'<li><a href="#case{number}"{" class=study" if case.why != DRAWN else ""} title="{escape(case.why)}">{number}</a></li>')
                body.append(self._case(number, case))
            contents.append(f"<p>{escape(benchmark)}</p><ol>{''.join(links)}</ol>")
        lead = "The first cases of a benchmark were chosen for what they show, as each says; the others are drawn by the seed." if cases else \
            "No question was answered, so there is nothing to show."
        return Template((Path(__file__).parent / "templates" / "cases.html").read_text("utf-8")).substitute(lead=lead, contents="".join(contents), body="\n".join(body))

    def _case(self, number: int, case: Case) -> str:
        q = case.question
        answers = "".join(f'<li dir="auto">{escape(a)}</li>' for a in q.answers) or "<li class=none>none given</li>"
        options = "".join(f'<li dir="auto"><b>{escape(k)}</b> {escape(v)}</li>' for k, v in q.details if len(k) == 1)
        facts = " · ".join(escape(f) for f in (case.why, q.id, q.type, q.split) if f)
        tags = f'<p class="about"><span class="tag"><b>read by</b> {escape(case.reader)}</span><span class="tag"><b>corpus</b> {escape(case.corpus)}</span></p>'
        parts = [f'<section class="case" id="case{number}" aria-labelledby="title{number}"><h3 id="title{number}"><span class="number">{number}</span> '
                 f'<span dir="auto">{escape(q.question)}</span></h3><p class="note">{facts}</p><ul class="answers" aria-label="Accepted answers">{answers}</ul>'
                 + (f'<ul class="options" aria-label="Options">{options}</ul>' if options else "") + tags, self._answers(case)]
        if mine := case.of("canopy"):
            parts.append("<h4>CANOPY's evidence forest, round by round</h4>" + "".join(self._round(case, s) for s in mine["steps"]))
        parts.append("<h4>What each system saw</h4>" + "".join(self._saw(same) for same in _by_evidence(case.answers)))
        return "".join(parts) + "</section>"

    def _answers(self, case: Case) -> str:
        first, rest = ([a for a in case.answers if (a["family"] == "ablation") == ablation] for ablation in (False, True))
        more = f"<details><summary>{len(rest)} ablation{'s' if len(rest) > 1 else ''}</summary>{self._table(case, rest)}</details>" if rest else ""
        return self._table(case, first) + more

    def _table(self, case: Case, answers: Sequence[Mapping[str, Any]]) -> str:
        rows = "".join(
            f'<tr{" class=us" if a["system"] == "canopy" else ""}><th scope="row">{escape(a["system"])}</th><td dir="auto">{escape(a["prediction"] or "(no answer)")}</td>'
            f'<td class="n">{_share(a["score"])}</td><td class="n">{_share(a["gold_recall"])}</td><td class="n">{a["tokens"]:,}</td><td class="n">{a["rounds"]}</td></tr>'
            for a in answers)
        return (f'<div class="scroll" tabindex="0" role="region" aria-label="Answers"><table><thead><tr><th scope="col">system</th><th scope="col">answer</th>'
                f'<th scope="col" class="n">{escape(label_of(case.measure))}</th><th scope="col" class="n">gold kept</th><th scope="col" class="n">tokens</th>'
                f'<th scope="col" class="n">rounds</th></tr></thead><tbody>{rows}</tbody></table></div>')

    def _round(self, case: Case, step: Mapping[str, Any]) -> str:
        kept: dict[str, list[Mapping[str, Any]]] = {i: [] for i in step["new"]}
        for e in step["kept"]:
            kept.setdefault(e["item_id"], []).append(e)
        again = len(step["retrieved"]) - len(step["new"])
        told = f"{len(step['new'])} new of {len(step['retrieved'])} items" + (f", {again} in evidence already" if again else "")
        shown = list(kept)[:_FOREST_ITEMS]
        more = f'<p class="gap">[{len(kept) - len(shown)} more items left out]</p>' if len(kept) > len(shown) else ""
        return (f'<div class="round"><p class="query"><b>Round {step["round"]}</b> <span dir="auto">{escape(step["query"])}</span> <span class="note">{told}</span></p>'
                + "".join(self._forest(case, i, kept[i]) for i in shown) + more + "</div>")

    def _leaves(self, item: Item) -> Leaves:
        if item.id not in self._cut:
            self._cut[item.id] = cut_item(item, self._seconds)
        return self._cut[item.id]

    def _title(self, item_id: str) -> str:
        item = self._items.get(item_id)
        return escape(" — ".join(t for t in (item.title, item.section) if t.strip()) or item_id) if item else escape(item_id)

    def _forest(self, case: Case, item_id: str, kept: Sequence[Mapping[str, Any]]) -> str:
        item = self._items.get(item_id)
        if item is None:
            return f'<article><p class="none">{escape(item_id)}: the item is not among the corpus\'s</p></article>'
        leaves, gold = self._leaves(item), case.gold.get(item_id, frozenset())
        nodes = judged_nodes(leaves.count, self._branching, [(e["lo"], e["hi"]) for e in kept])
        held = sorted({n for e in kept for n in range(e["lo"], e["hi"])})
        unit = _UNITS[item.modality]
        whole = len(held) == leaves.count
        state = ("kept whole" if len(kept) == 1 else "split, nothing lost") if whole else f"{len(held)} of {leaves.count} {unit}s kept" if held else "dropped"
        score = f' · s = {max(e["score"] for e in kept):.3f}' if kept and any(e["score"] for e in kept) else ""
        badge = f'<span class="badge gold">{len(gold & set(held))} of {len(gold)} gold {unit}s kept</span>' if gold else ""
        picture = thumbnail(Marked(item, leaves, frozenset(), (), escape), self._media.get(item.benchmark, ())) if item.modality == "image" and held else ""
        told = self._fragments(item, leaves, set(held), gold)
        if not gold and len(held) > _OPEN:  # without gold there is little to look for in it
            told = f"<details><summary>{len(held)} {unit}s</summary>{told}</details>"
        return (f'<article><h5><span dir="auto">{self._title(item_id)}</span> <span class="badge">{state}</span>{badge}</h5><p class="note">{item.modality} · {escape(item_id)}{score}</p>'
                f"{_icicle(nodes, leaves.count, gold, unit) if leaves.count > 1 and len(nodes) <= _NODES else ''}{picture}{told}</article>")

    def _fragments(self, item: Item, leaves: Leaves, held: set[int], gold: frozenset[int]) -> str:
        """Kept and gold fragments in full, what was dropped between them as a gap."""
        once, each = item_words(item, leaves)
        unit, out, left, hidden = _UNITS[item.modality], [], 0, 0
        for n in [*range(leaves.count), -1]:
            if n >= 0 and n not in gold and (n not in held or len(out) >= _FRAGMENTS):
                left, hidden = left + (n not in held), hidden + (n in held)
                continue
            for count, what in ((left, "dropped"), (hidden, "kept, not shown")):
                if count:
                    out.append(f'<li class="gap">[{count} {unit}{"s" if count > 1 else ""} {what}]</li>')
            left = hidden = 0
            if n >= 0:
                kind = "kept" if n in held else "lost"
                time = f'<span class="note">{clock(leaves.bounds[n])}</span> ' if item.modality == "video" else ""
                mark = ' <span class="badge gold">gold</span>' if n in gold else ""
                words = _cut(each[n], _LONGEST) or '<span class="none">no words</span>'
                out.append(f'<li class="{kind}">{time}<span dir="auto">{words}</span>{mark}{"" if n in held else " <span class=badge>dropped</span>"}</li>')
        head = f'<p class="note" dir="auto">{_cut(once, _LONGEST)}</p>' if once.strip() and held else ""
        return f'{head}<ul class="fragments">{"".join(out)}</ul>'

    def _saw(self, answers: Sequence[Mapping[str, Any]]) -> str:
        """What systems that saw the same saw."""
        answer, regions = answers[0], answers[0]["evidence"]
        notes = ", ".join(f"{a['system']}: {n['note']}" + (f" ({n['count']})" if n["count"] > 1 else "") for a in answers for n in a["notes"])
        body = "".join(f'<li><b dir="auto">{self._title(e["item_id"])}</b> <span class="note">{self._where(e)} · {e["tokens"]:,} tokens</span><br>'
                       f'<span dir="auto">{self._region(e)}</span></li>' for e in regions[:_REGIONS])
        more = f'<li class="gap">[{len(regions) - _REGIONS} more regions]</li>' if len(regions) > _REGIONS else ""
        items = len({e["item_id"] for e in regions})
        return (f'<details><summary><b>{escape(", ".join(a["system"] for a in answers))}</b> <span class="note">{answer["tokens"]:,} tokens, {len(regions)} region{"s" if len(regions) != 1 else ""} of '
                f'{items} item{"s" if items != 1 else ""}{"; " + escape(notes) if notes else ""}</span></summary>'
                f'<ol class="saw">{body or "<li class=none>no evidence: it answered from the question alone</li>"}{more}</ol></details>')

    def _where(self, e: Mapping[str, Any]) -> str:
        item = self._items.get(e["item_id"])
        if item is None:
            return f'fragments {e["lo"] + 1}–{e["hi"]}'
        unit, count = _UNITS[item.modality], self._leaves(item).count
        if count == 1 or (e["lo"], e["hi"]) == (0, count):
            return f"{item.modality}, whole"
        return f'{unit} {e["lo"] + 1}' if e["hi"] - e["lo"] == 1 else f'{unit}s {e["lo"] + 1}–{e["hi"]} of {count}'

    def _region(self, e: Mapping[str, Any]) -> str:
        if e["text"] is not None:
            return f'<span class="badge">rewritten</span> {_cut(e["text"], _SHORT)}'
        item = self._items.get(e["item_id"])
        if item is None:
            return ""
        once, each = item_words(item, self._leaves(item))
        return _cut(" ".join(t for t in (once, *each[e["lo"]:e["hi"]]) if t.strip()), _SHORT)


def _by_evidence(answers: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Answers whose readers saw the same, in the same order, together."""
    held: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for a in answers:
        held.setdefault(tuple((e["item_id"], e["lo"], e["hi"], e["text"]) for e in a["evidence"]), []).append(a)
    return list(held.values())


def _cut(text: str, longest: int) -> str:
    """A text escaped; the end of a long one is left out, with a note of how much."""
    text = " ".join(text.split())
    return escape(text) if len(text) <= longest else f'{escape(text[:longest])} <span class="gap">[{len(text) - longest:,} characters left out]</span>'


def _share(value: float | None) -> str:
    return "–" if value is None or value != value else f"{100 * value:.0f}%"


def _icicle(nodes: Sequence[Judged], count: int, gold: frozenset[int], unit: str) -> str:
    """The hierarchy as bars, a row a level: what was kept, split and dropped; the last row marks the gold."""
    rows = []
    for depth in range(max(n.depth for n in nodes) + 1):
        bars = "".join(f'<i class="{n.state}" style="left:{100 * n.lo / count:.3f}%;width:{100 * (n.hi - n.lo) / count:.3f}%" '
                       f'title="{unit}s {n.lo + 1}–{n.hi}: {n.state}"></i>' for n in nodes if n.depth == depth)
        rows.append(f'<div class="level">{bars}</div>')
    marks = "".join(f'<i class="gold" style="left:{100 * g / count:.3f}%;width:{100 / count:.3f}%"></i>' for g in sorted(gold))
    kept = [f"{n.lo + 1}–{n.hi}" for n in nodes if n.state == "kept"]
    told = f"hierarchy over {count} {unit}s; kept: {', '.join(kept) or 'none'}" + (f"; gold: {', '.join(str(g + 1) for g in sorted(gold))}" if gold else "")
    return f'<div class="icicle" role="img" aria-label="{told}">{"".join(rows)}{f"<div class=level>{marks}</div>" if gold else ""}</div>'
