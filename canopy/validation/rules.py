"""The rules that data must meet, as plain functions over Arrow tables: one list for the stages and for generated suites."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its name, what it says to people, whether it stops the run, and a function giving the rows that break it."""

    name: str
    says: str
    blocking: bool
    failing: Callable[[Mapping[str, pa.Table]], Rows]


def _rows(table: pa.Table, mask: Any, *columns: str) -> Rows:
    return table.select(list(columns)).filter(mask).to_pylist()


def _duplicates(table: pa.Table, column: str) -> Rows:
    counted = table.group_by(column).aggregate([(column, "count")])
    return counted.filter(pc.greater(counted[f"{column}_count"], 1)).to_pylist()


def _empty(table: pa.Table, column: str) -> Rows:
    return _rows(table, pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(table[column])), 0), "id")


def _unknown(table: pa.Table, column: str, known: pa.Table) -> Rows:
    missing = pc.invert(pc.is_in(table[column], value_set=pc.unique(known["id"])))
    return _rows(table, missing, "question_id", "item_id")


def _contentless(items: pa.Table) -> Rows:
    texts = pc.and_(pc.equal(items["modality"], "text"), pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(items["text"])), 0))
    tables = pc.and_(pc.equal(items["modality"], "table"), pc.equal(pc.list_value_length(items["rows"]), 0))
    videos = pc.and_(pc.equal(items["modality"], "video"), pc.less_equal(items["duration"], 0))
    return _rows(items, pc.or_(texts, pc.or_(tables, videos)), "id", "modality")


def _outside(tables: Mapping[str, pa.Table]) -> Rows:
    size = {}
    for i in tables["items"].select(["id", "modality", "text", "rows", "duration"]).to_pylist():
        size[i["id"]] = {"text": len(i["text"]), "table": len(i["rows"]), "video": i["duration"]}.get(i["modality"], 0)
    return [{"question_id": a["question_id"], "item_id": a["item_id"], "span": s, "end": size.get(a["item_id"])}
            for a in tables["annotations"].to_pylist() for s in a["spans"] if not 0 <= s[0] <= s[1] <= size.get(a["item_id"], -1)]


def _two_sides(tables: Mapping[str, pa.Table]) -> Rows:
    side = dict(zip(tables["splits"]["question_id"].to_pylist(), tables["splits"]["split"].to_pylist(), strict=True))
    seen: dict[str, set[str]] = {}
    for q, i in zip(tables["gold"]["question_id"].to_pylist(), tables["gold"]["item_id"].to_pylist(), strict=True):
        seen.setdefault(i, set()).add(side.get(q, ""))
    return [{"item_id": i, "splits": sorted(s)} for i, s in seen.items() if len(s) > 1]


def _bad_fragments(tables: Mapping[str, pa.Table]) -> Rows:
    return [{"question_id": g["question_id"], "item_id": g["item_id"], "fragments": g["fragments"], "count": g["count"]}
            for g in tables["gold"].to_pylist() if not g["fragments"] or g["fragments"][0] < 0 or g["fragments"][-1] >= g["count"]]


def _bad_instances(tables: Mapping[str, pa.Table]) -> Rows:
    return [{"question_id": x["question_id"], "item_id": x["item_id"], "node": x["node"]} for x in tables["instances"].to_pylist()
            if len(x["child_nodes"]) < 2 or len(x["child_nodes"]) != len(x["child_gold"]) or not any(x["child_gold"])
            or (x["fully_gold"] and not all(x["child_gold"]))]


SUITES: Mapping[str, tuple[Rule, ...]] = {
    "benchmark": (
        Rule("item ids are unique", "No two items share an id.", True, lambda t: _duplicates(t["items"], "id")),
        Rule("question ids are unique", "No two questions share an id.", True, lambda t: _duplicates(t["questions"], "id")),
        Rule("items have content", "Texts have words, tables rows, videos a duration.", True, lambda t: _contentless(t["items"])),
        Rule("questions have words", "No question is empty.", True, lambda t: _empty(t["questions"], "question")),
        Rule("gold items are in the data", "Every annotation names an item that is there.", True,
             lambda t: _unknown(t["annotations"], "item_id", t["items"])),
        Rule("gold spans lie inside their items", "No span begins before or ends after its item.", True, _outside),
        Rule("questions have answers", "A question without an answer can be retrieved for but not scored.", False,
             lambda t: _rows(t["questions"], pc.equal(pc.list_value_length(t["questions"]["answers"]), 0), "id")),
    ),
    "gold_spans": (
        Rule("fragments lie inside their items", "Gold fragments are numbers from 0 to the item's count, at least one.", True, _bad_fragments),
        Rule("no gold item on both sides", "Train and test share no gold item.", True, _two_sides),
        Rule("one split a question", "No question is in two splits.", True, lambda t: _duplicates(t["splits"], "question_id")),
    ),
    "training_instances": (
        Rule("instances are preferences", "Every instance has at least two children, one of them gold.", True, _bad_instances),
    ),
    "corpus": (
        Rule("item ids are unique", "No two items of the corpus share an id.", True, lambda t: _duplicates(t["items"], "id")),
        Rule("items have content", "Texts have words, tables rows, videos a duration.", True, lambda t: _contentless(t["items"])),
    ),
}
