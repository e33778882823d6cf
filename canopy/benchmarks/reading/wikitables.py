"""Wikipedia tables with linked passages, in the files that OTT-QA and HybridQA share: tables and passages as items,
traced answer nodes as gold.

A table is ``<tables>/<table_id>.json``, its passages ``<requests>/<table_id>.json`` ({link: text}). An answer node is
``[text, [row, column], link, kind]``: rows and columns from 0, the header not counted. Nodes were made by looking for
the answer's words in the table's cells and the linked passages, so they are weak labels: each is an alternative, a
group of its own. They are located by coordinates and link, never by their text, which for a passage is the linked
page's title.

What a node says is checked the way it was made. A record with a node that its table or passage contradicts is
quarantined: the node was traced on another version of the page, and nothing tells which of the table's rows have moved
since.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from canopy.benchmarks.reading.records import BLIND, Record, given_id, list_of, object_of
from canopy.errors import DataError
from canopy.ingest.fields import item_id, occurrences, text_of
from canopy.ingest.files import load_json, load_json_list
from canopy.ingest.sink import Draft, Sink, Unusable, Waiting
from canopy.items import Annotation, Item, Question

SPLITS = {"train": "train", "dev": "dev", "test": BLIND}  # role of a question file: split of its questions
Links = Sequence[Sequence[Sequence[str]]]


def title_of(link: str) -> str:
    """The title of a linked page: ``/wiki/Preston_North_End`` is Preston North End."""
    return link.rsplit("/", 1)[-1].replace("_", " ")


def passage_item(benchmark: str, link: str, text: Any) -> Item:
    """A linked passage; Unusable if its text is no text."""
    title = title_of(link)
    return Item(item_id(benchmark, title, link, text_of(text, f"passage {link!r}")), benchmark, "text", title=title,
                text=text, source=link)


def table_item(benchmark: str, table_id: str, record: Record, source: str) -> tuple[Item, Links]:
    """A table, its ragged rows filled up with empty cells, and the links of each official cell (none for a filled-up
    one).

    Cells are ``[text, [links]]``, or plain strings in the open-domain corpus.
    """
    cells = [[_cell(c, table_id) for c in list_of(r, f"table {table_id!r}: a row")]
             for r in [record["header"], *list_of(record["data"], "data")]]
    if not any(text.strip() for r in cells[1:] for text, _ in r):
        raise Unusable(f"table {table_id!r} has no row with any words")
    width = max(len(r) for r in cells)
    header, *rows = (tuple(text for text, _ in r) + ("",) * (width - len(r)) for r in cells)
    item = Item(f"{benchmark}/table/{table_id}", benchmark, "table",
                title=text_of(record.get("title") or "", "title", empty=True),
                section=text_of(record.get("section_title") or "", "section_title", empty=True), header=header,
                rows=tuple(rows), source=source)
    return item, [[links for _, links in r] for r in cells[1:]]


def _cell(cell: Any, table_id: str) -> tuple[str, list[str]]:
    if isinstance(cell, str):
        return text_of(cell, "a cell", empty=True), []
    if not (isinstance(cell, list) and len(cell) == 2 and isinstance(cell[1], list)):
        raise Unusable(f"table {table_id!r}: a cell is [text, [links]], not {str(cell)[:60]!r}")
    return text_of(cell[0], "a cell", empty=True), [x for x in cell[1] if isinstance(x, str)]


class Tables:
    """The table and request files of a release, by table id, each read once and mapped to items once.

    ``corpus``: items of the open-domain corpus, where a table without a file of its own may be.
    """

    def __init__(self, benchmark: str, tables: Sequence[Path], requests: Sequence[Path],
                 corpus: Mapping[str, Item]) -> None:
        self.benchmark, self.corpus = benchmark, corpus
        self.twice: list[Path] = []
        self._tables, self._requests = self._files(tables), self._files(requests)
        self.broken: dict[str, dict[str, str]] = {}
        self.load = lru_cache(maxsize=None)(self._load)

    def _files(self, folders: Sequence[Path]) -> dict[str, Path]:
        """Files by id; names in either Unicode form are one id, since some file systems change it."""
        files: dict[str, Path] = {}
        for path in (p for folder in folders[:1] for p in sorted(folder.glob("*.json"))):
            if files.setdefault(unicodedata.normalize("NFC", path.stem), path) is not path:
                self.twice.append(path)
        return files

    def ids(self) -> list[str]:
        """All table ids there are files for."""
        return list(self._tables)

    def _load(self, table_id: str) -> tuple[Item, Links | None, dict[str, Item]]:
        """A table, its cells' links (None if they are not known), and its passages by link.

        Unusable if a file is broken.
        """
        table_id = unicodedata.normalize("NFC", table_id)
        path = self._tables.get(table_id)
        if path is None:
            plain = self.corpus.get(f"{self.benchmark}/table/{table_id}")
            if plain is None:
                raise Waiting(f"table {table_id!r} has no file among the release's tables")
            return plain, None, {}
        try:
            record, request = load_json(path), self._requests.get(table_id)
            passages = load_json(request) if request else {}
        except DataError as e:
            raise Unusable(str(e)) from None
        table, links = table_item(self.benchmark, table_id, object_of(record, path.name), path.name)
        items: dict[str, Item] = {}
        for link, text in object_of(passages, f"the request file of {path.name}").items():
            try:
                items[link] = passage_item(self.benchmark, text_of(link, "a link"), text)
            except Unusable as e:
                self.broken.setdefault(table_id, {})[link] = str(e)
        return table, links, items


def read_tables(sink: Sink, tables: Tables, files: Mapping[str, Sequence[Path]]) -> None:
    """The questions of every file there is, by role, then the tables that no question names."""
    for role, split in SPLITS.items():
        for path in files[role][:1]:
            for number, record in enumerate(load_json_list(path)):
                with sink.record(path, given_id(record, "question_id") or f"record {number}") as draft:
                    map_record(record, split, sink.benchmark, tables, draft)
                    # What the sink holds already it need not compare again: a table's passages are many, and so are its
                    # questions.
                    draft.items[:] = [i for i in draft.items if sink.items.get(i.id) is not i]
        sink.notes.extend(f"{p}: not read: {files[role][0]} has these questions" for p in files[role][1:])
    sink.notes.extend(f"{p}: not read: {files[role][0]} is" for role in ("tables", "requests") for p in files[role][1:])
    for path in tables.twice:
        sink.reject(path, path.stem, "another file's name is the same but for its Unicode form")
    for table_id in tables.ids():
        if f"{sink.benchmark}/table/{table_id}" not in sink.items:
            with sink.record(f"{table_id}.json", table_id) as draft:
                table, _, passages = tables.load(table_id)
                draft.items.extend([table, *passages.values()])
        for link, reason in tables.broken.get(table_id, {}).items():
            sink.reject(f"{table_id}.json", link, reason)


def map_record(record: Any, split: str, benchmark: str, tables: Tables, draft: Draft) -> None:
    """One official question to items, the question, and one alternative a traced node.

    A question without nodes has its table as gold whole (HybridQA's and OTT-QA's questions were written about one
    table); one that names no table, as in the blind test, has no gold.
    """
    object_of(record)
    qid = f"{benchmark}/{text_of(record['question_id'], 'question_id')}"
    answer = "" if record.get("answer-text") is None else text_of(record["answer-text"], "answer-text", empty=True)
    question = text_of(record["question"], "question").strip()
    kinds: set[str] = set()
    if record.get("table_id") is None:
        draft.fallbacks.append("names no table: question without gold")
    else:
        table, links, passages = tables.load(text_of(record["table_id"], "table_id"))
        draft.items.extend([table, *passages.values()])
        nodes = {json.dumps(n): n for n in list_of(record.get("answer-node"), "answer-node")}
        evidence = map_nodes(list(nodes.values()), answer, qid, table, links, passages, draft)
        kinds = {kind for kind, _ in evidence}
        for group, (_, annotations) in enumerate(evidence):
            draft.annotations.extend(Annotation(a.question_id, a.item_id, a.unit, a.spans, group) for a in annotations)
        if not nodes:
            draft.annotations.append(Annotation(qid, table.id, "item"))
            draft.fallbacks.append("no answer node: its table is gold whole")
    draft.questions.append(Question(qid, benchmark, question, (answer,) if answer.strip() else (),
                                    "+".join(sorted(kinds)), split))


def map_nodes(nodes: Sequence[Any], answer: str, qid: str, table: Item, links: Links | None,
              passages: Mapping[str, Item],
              draft: Draft) -> list[tuple[str, list[Annotation]]]:
    """Kind and evidence of each node.

    Unusable if a node is wrong; nodes whose passage is absent are left out, Waiting if all are.
    """
    evidence, wrong, absent = [], [], []
    for node in nodes:
        try:
            evidence.append((node[3] if isinstance(node, list) and len(node) == 4 else "",
                             map_node(node, answer, qid, table, links, passages)))
        except Unusable as e:
            wrong.append(str(e))
        except Waiting as e:
            absent.append(str(e))
    if wrong:
        raise Unusable(wrong[0] if len(nodes) == 1
                       else f"{len(wrong)} of {len(nodes)} answer nodes are wrong: {wrong[0]}")
    if absent and not evidence:
        raise Waiting(absent[0])
    if absent:
        draft.fallbacks.append("an answer node without its passage left out")
    if any(kind == "calculation" for kind, _ in evidence):
        draft.fallbacks.append("a calculated answer: its row cannot be checked against it")
    return evidence


def map_node(node: Any, answer: str, qid: str, table: Item, links: Links | None,
             passages: Mapping[str, Item]) -> list[Annotation]:
    """One node to the annotations that are evidence together: a row; for a passage its sentences with the answer and
    the row that links to it.

    Raises
    ------
    Unusable
        If the table or the passage contradicts the node.
    Waiting
        If the passage is not there.
    """
    if not (isinstance(node, list) and len(node) == 4 and isinstance(node[1], list) and len(node[1]) == 2):
        raise Unusable("an answer node must be [text, [row, column], link, kind]")
    _, (row, column), link, kind = node
    if kind not in ("table", "passage", "calculation"):
        raise Unusable(f"answer node of unknown kind {str(kind)[:60]!r}")
    place = f"answer node at {str([row, column])[:60]}"
    widths = [len(r) for r in links] if links is not None else [len(r) for r in table.rows]
    if any(isinstance(x, bool) or not isinstance(x, int) for x in (row, column)) or not (0 <= row < len(widths)
                                                                                         and 0 <= column < widths[row]):
        raise Unusable(f"{place} lies outside the table")
    in_row = Annotation(qid, table.id, "rows", ((float(row), float(row + 1)),))
    if kind == "table" and answer and not _states(table.rows[row][column], answer):
        raise Unusable(f"{place}: the cell {table.rows[row][column][:60]!r} does not hold the answer {answer[:60]!r}")
    if kind != "passage":
        return [in_row]
    if not isinstance(link, str):
        raise Unusable(f"{place}: its link must be a string, not {type(link).__name__}")
    if links is None:
        raise Waiting(f"table {table.id.rsplit('/', 1)[-1]!r} has no file of its own, and the open-domain corpus has "
                      "no links")
    if link not in links[row][column]:
        where = "not in that cell" if link in passages else "neither in that cell nor among the table's passages"
        raise Unusable(f"{place}: its link {link!r} is {where}; the cell is {table.rows[row][column][:60]!r}")
    if link not in passages:
        raise Waiting(f"passage {link!r} is not in the request file")
    spans = occurrences(answer, passages[link].text)
    if answer and not spans and not _states(passages[link].text, answer):
        raise Unusable(f"{place}: the linked passage {link!r} does not hold the answer {answer[:60]!r}")
    return [Annotation(qid, passages[link].id, "chars" if spans else "item",
                       tuple((float(a), float(b)) for a, b in spans)), in_row]


def _states(text: str, answer: str) -> bool:
    """Whether a text holds an answer as whole words, ignoring case.

    The way nodes were traced, or with other spacing.
    """
    return f" {answer.lower().strip()} " in f" {text.lower()} " or bool(occurrences(answer, text))
