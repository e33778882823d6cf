"""OTT-QA (MIT; Wikipedia text CC BY-SA 3.0): tables and their linked passages as items, traced answer nodes as gold.

Files as in github.com/wenhuchen/OTT-QA: ``released_data/{train,dev}.traced.json`` (else ``{train,dev}.json``, which carry no
nodes), ``data/traindev_tables_tok/<table_id>.json`` and ``data/traindev_request_tok/<table_id>.json``.
Answer nodes are weak labels: each is an alternative (a group of its own). They are located by coordinates and link, never by text.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

from canopy.benchmarks.base import (
    Draft,
    Sink,
    Unusable,
    Waiting,
    item_id,
    load_json,
    load_json_list,
    occurrences,
    text_of,
)
from canopy.errors import DataError
from canopy.items import Annotation, Item, Question

ABOUT = "OTT-QA, MIT: released_data/ and data/traindev_{tables,request}_tok/ of github.com/wenhuchen/OTT-QA"
TABLES, REQUESTS = "data/traindev_tables_tok", "data/traindev_request_tok"


class Tables:
    """The table and request files of a release, by table id, each read once and mapped to items once."""

    def __init__(self, tables: Path, requests: Path, benchmark: str) -> None:
        if not tables.is_dir():
            raise DataError(f"{tables}: no such folder; it holds one JSON file a table in the official release")
        self.benchmark = benchmark
        self._tables, self._requests = ({unicodedata.normalize("NFC", p.stem): p for p in sorted(folder.glob("*.json"))}
                                        for folder in (tables, requests))
        self.broken: dict[str, dict[str, str]] = {}
        self.load = lru_cache(maxsize=None)(self._load)

    def ids(self) -> list[str]:
        """All table ids there are files for."""
        return list(self._tables)

    def _load(self, table_id: str) -> tuple[Item, list[list[list[str]]], dict[str, Item]]:
        """A table as an item, its cells' links, and its passages by link. Unusable where a file is broken."""
        table_id = unicodedata.normalize("NFC", table_id)
        path = self._tables.get(table_id)
        if path is None:
            raise Waiting(f"table {table_id!r} has no file in {TABLES.rsplit('/', 1)[-1]}")
        try:
            raw = load_json(path)
            request = self._requests.get(unicodedata.normalize("NFC", path.stem))
            passages = load_json(request) if request else {}
        except DataError as e:
            raise Unusable(str(e)) from None
        if not isinstance(raw, dict) or not isinstance(passages, dict):
            raise Unusable(f"{path.name}: an object is expected")
        for cell in (c for r in [raw["header"], *raw["data"]] for c in r):
            if not (isinstance(cell, list) and len(cell) == 2 and isinstance(cell[1], list)):
                raise Unusable(f"table {table_id!r}: a cell is [text, [links]], not {str(cell)[:60]!r}")
        header = tuple(text_of(c[0], "a header cell", empty=True) for c in raw["header"])
        rows = tuple(tuple(text_of(c[0], "a cell", empty=True) for c in r) for r in raw["data"])
        if not rows or not any(c.strip() for r in rows for c in r):
            raise Unusable(f"table {table_id!r} has no row with any words")
        width = max(len(header), *(len(r) for r in rows))
        header = header + ("",) * (width - len(header))
        rows = tuple(r + ("",) * (width - len(r)) for r in rows)
        links = [[[x for x in c[1] if isinstance(x, str)] for c in r] for r in raw["data"]]
        table = Item(f"{self.benchmark}/table/{table_id}", self.benchmark, "table", title=text_of(raw.get("title", ""), "title", empty=True),
                     section=text_of(raw.get("section_title") or "", "section_title", empty=True), header=header, rows=rows, source=path.name)
        found = {}
        for link, text in passages.items():
            try:
                text_of(text, f"passage {link!r}")
            except Unusable as e:
                self.broken.setdefault(table_id, {})[link] = str(e)
            else:
                title = link.rsplit("/", 1)[-1].replace("_", " ")
                found[link] = Item(item_id(self.benchmark, title, link, text), self.benchmark, "text", title=title, text=text, source=link)
        return table, links, found


def read(raw: Path, sink: Sink) -> None:
    """Read the questions of every split that is there, and all tables with their passages."""
    read_release(raw, sink, Tables(raw / TABLES, raw / REQUESTS, sink.benchmark))


def read_release(raw: Path, sink: Sink, tables: Tables) -> None:
    """Questions and corpus of one release; HybridQA, which has the same shape, uses it with its own folders."""
    files = [(p, split) for split in ("train", "dev") for p in [raw / "released_data" / f"{split}.traced.json",
             raw / "released_data" / f"{split}.json"] if p.is_file()]
    files = [(p, s) for p, s in files if p.name.endswith(".traced.json") or (p.with_name(f"{s}.traced.json"), s) not in files]
    if not files:
        raise DataError(f"{raw / 'released_data'}: none of train.traced.json, dev.traced.json, train.json, dev.json is there")
    for path, split in files:
        for number, record in enumerate(load_json_list(path)):
            name = str(record.get("question_id") or f"record {number}") if isinstance(record, dict) else f"record {number}"
            with sink.record(path, name) as draft:
                map_record(record, split, sink.benchmark, tables, draft)
    for table_id in tables.ids():
        for link, reason in tables.broken.get(table_id, {}).items():
            sink.reject(f"{table_id}.json", link, reason)
        if f"{sink.benchmark}/table/{table_id}" in sink.items:
            continue
        with sink.record(f"{table_id}.json", table_id) as draft:
            table, _, passages = tables.load(table_id)
            draft.items.extend([table, *passages.values()])


def map_record(record: Any, split: str, benchmark: str, tables: Tables, draft: Draft) -> None:
    """One official question to items, the question, and one alternative a traced node."""
    if not isinstance(record, dict):
        raise Unusable(f"an object is expected, not {type(record).__name__}")
    qid = f"{benchmark}/{text_of(record['question_id'], 'question_id')}"
    answer = record.get("answer-text") or ""
    answers = (text_of(answer, "answer-text"),) if answer else ()
    table, links, passages = tables.load(text_of(record["table_id"], "table_id"))
    draft.items.extend([table, *passages.values()])
    nodes, kinds, wrong, absent = [], set(), [], []
    for node in record.get("answer-node") or []:
        if node not in nodes:
            nodes.append(node)
    group = 0
    for node in nodes:
        try:
            found = map_node(node, answer, qid, group, table, links, passages)
        except Unusable as e:
            wrong.append(str(e))
            continue
        except Waiting as e:
            absent.append(str(e))
            continue
        draft.annotations.extend(found)
        kinds.add(node[3])
        group += 1
        if any(a.unit == "item" for a in found):
            draft.fallbacks.append("answer not found in its linked passage: gold whole")
    if nodes and not group:
        if absent:
            raise Waiting(absent[0])
        raise Unusable(f"no usable answer node: {wrong[0]}")
    if wrong:
        draft.fallbacks.append("a wrong answer node left out")
    if absent:
        draft.fallbacks.append("an answer node without its passage left out")
    if not nodes:
        draft.annotations.append(Annotation(qid, table.id, "item"))
        draft.fallbacks.append("no answer node: its table is gold whole")
    draft.questions.append(Question(qid, benchmark, text_of(record["question"], "question").strip(), answers, "+".join(sorted(kinds)), split))


def map_node(node: Any, answer: str, qid: str, group: int, table: Item, links: list[list[list[str]]],
             passages: dict[str, Item]) -> list[Annotation]:
    """One traced node ``[title, [row, column], link, kind]`` to the annotations that are evidence together."""
    if not isinstance(node, list) or len(node) != 4:
        raise Unusable("an answer node must be [text, [row, column], link, kind]")
    _, (row, column), link, kind = node
    if not (isinstance(row, int) and isinstance(column, int) and 0 <= row < len(links) and 0 <= column < len(links[row])):
        raise Unusable(f"answer node at {[row, column]} lies outside the table")
    in_row = Annotation(qid, table.id, "rows", ((float(row), float(row + 1)),), group)
    cell = table.rows[row][column]
    if kind == "table":
        if answer and not _agrees(answer, cell) and not (link and link in links[row][column]):
            raise Unusable(f"answer node at {[row, column]}: the cell does not hold the answer")
        return [in_row]
    if kind != "passage":
        raise Unusable(f"answer node of unknown kind {kind!r}")
    if link not in links[row][column] and link not in passages:
        raise Unusable(f"answer node's link {link!r} is neither in its cell nor among the table's passages")
    if link not in links[row][column]:
        raise Unusable(f"answer node's link {link!r} is not in its cell {[row, column]}")
    if link not in passages:
        raise Waiting(f"passage {link!r} is not in the request file")
    spans = occurrences(answer, passages[link].text)
    held = Annotation(qid, passages[link].id, "chars" if spans else "item", tuple((float(a), float(b)) for a, b in spans), group)
    return [held, in_row]


def _agrees(answer: str, cell: str) -> bool:
    """Whether a cell holds the answer or the answer the cell, ignoring case and spacing."""
    a, c = ("".join(x.casefold().split()) for x in (answer, cell))
    return bool(c) and (a in c or c in a)
