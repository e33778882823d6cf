"""TAT-QA (dataset CC BY 4.0): pages of financial reports, a table and its paragraphs, with questions that often need
arithmetic.

A page's table is one item, each paragraph another. A table's leading rows are column heads of any number; they name the
columns, and stand among the rows as well: official coordinates count them, so row numbers here are official ones, and
one in ten questions asks for what a head says.

Gold: test_gold maps every fact to a cell or to characters of a paragraph, and its rows and paragraphs are the gold.
Train and dev have no mappings: there gold is found where the answer, or the numbers of its derivation, stand in the
table and the named paragraphs, and is marked ``pseudo``. On test_gold this finds the mapped fragments for 96% of
questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.financial_tables import column_names, header_count
from canopy.benchmarks.reading.records import BLIND, HELD_OUT, given_id, list_of, object_of
from canopy.benchmarks.reading.release import require_files
from canopy.benchmarks.reading.tat_qa_gold import gold_of
from canopy.benchmarks.reading.tat_qa_independent import match_rewritten
from canopy.gold.expected import Expected
from canopy.ingest.fields import text_of
from canopy.ingest.files import load_json_list
from canopy.ingest.sink import Sink, Unusable
from canopy.items import Item, Question

_AT = "https://raw.githubusercontent.com/NExTplusplus/TAT-QA/870accc41953dcde885aabeb963d94aabdc0fbc3/dataset_raw"
BENCHMARK = Benchmark(
    title="TAT-QA",
    licence="dataset CC BY 4.0, code MIT",
    home="https://github.com/NExTplusplus/TAT-QA",
    files=(
        *(ReleaseFile(role, (f"dataset_raw/{name}", name), what, f"{_AT}/{name}") for role, name, what in (
            ("train", "tatqa_dataset_train.json", "2,201 pages, 13,215 questions"),
            ("dev", "tatqa_dataset_dev.json", "278 pages, 1,668 questions"),
            ("test_gold", "tatqa_dataset_test_gold.json", "277 pages, 1,663 questions with answers and mapped facts"),
            ("test", "tatqa_dataset_test.json",
             "the same test pages, answers withheld; read if test_gold is absent"),
        )),
        ReleaseFile("independent", ("TAT-DQA/*/*.jsonl", "TAT-DQA/*/*.json", "TAT-DQA/*.jsonl", "TAT-DQA/*.json",
                                    "TAT-DQA/*/*.parquet", "TAT-DQA/*.parquet",
                                    "*t2*ragbench*.json*", "*independent*.json*"),
                    "context-independent questions (T2-RAGBench, CC BY 4.0), subset TAT-DQA of "
                    "huggingface.co/datasets/G4KMU/t2-ragbench"),
    ),
    needs=(("train", "dev", "test_gold", "test"),),
    aliases=("tatqa",),
    layout="tat-qa/\n  dataset_raw/\n    tatqa_dataset_train.json\n    tatqa_dataset_dev.json\n    "
           "tatqa_dataset_test_gold.json\n"
           "  TAT-DQA/   (T2-RAGBench's folder, optional)",
    metric="tat_qa",
    paper_name="TAT-QA",
    out_of_domain=True,
    expected=(Expected("dev pages (here: with gold)", 278, "the release", "gold sources", "dev"),),
)
SPLITS = {"train": "train", "dev": "dev", "test_gold": HELD_OUT, "test": BLIND}


@dataclass(frozen=True, slots=True)
class Page:
    """One official document.

    Its table (None if it has none that can be used), its paragraphs by order number, and its questions as published.
    """

    uid: str
    table: Item | None
    paragraphs: Mapping[int, Item]
    questions: Sequence[Any]
    refused: Mapping[str, str]

    @property
    def items(self) -> list[Item]:
        """The table, then the paragraphs."""
        return [*([self.table] if self.table else []), *self.paragraphs.values()]


def read(raw: Path, sink: Sink) -> None:
    """Read every file there is; each question is a record, and so is a page or part of one that no question brings in.

    Raises
    ------
    DataError
        If no file is there, or one is broken.
    """
    files = require_files(raw, BENCHMARK)
    roles = [r for r in SPLITS if files[r] and not (r == "test" and files["test_gold"])]
    if files["test"] and files["test_gold"]:
        sink.notes.append(f"{files['test'][0].name}: not read: {files['test_gold'][0].name} has the same pages with "
                          "answers")
    pages: list[tuple[Path, str, Page]] = []
    for role in roles:
        path = files[role][0]
        sink.notes.extend(f"{p}: not read: {path} has the same name" for p in files[role][1:])
        for number, record in enumerate(load_json_list(path)):
            try:
                pages.append((path, SPLITS[role], page_of(record, sink.benchmark)))
            except Unusable as e:
                reject_page(record, f"record {number}", path, str(e), sink)
    rewritten = match_rewritten(files["independent"], [p for _, _, p in pages], sink)
    for path, split, page in pages:
        read_page(path, split, page, rewritten, sink)
    if files["independent"]:
        own = sum(("form", "independent") not in q.details for q in sink.questions.values())
        sink.notes.append(f"{len(sink.questions) - own} questions have their context-independent form; {own} have none "
                          "and keep their own words.")


def reject_page(record: Any, place: str, path: Path, reason: str, sink: Sink) -> None:
    """Quarantine a page that cannot be used, with each of its questions."""
    questions = record.get("questions") if isinstance(record, dict) else None
    for number, q in enumerate(questions if isinstance(questions, list) else []):
        sink.reject(path, given_id(q, "uid") or f"{place}, question {number}",
                    f"its page cannot be used: {reason}"[:300])
    if not isinstance(questions, list) or not questions:
        sink.reject(path, place, reason[:300])


def page_of(record: Any, benchmark: str) -> Page:
    """A document as items.

    Unusable if nothing of it can be used; a table or paragraph that cannot stands in ``refused`` with the reason.
    """
    object_of(record, "a page")
    table: Item | None = None
    refused: dict[str, str] = {}
    paragraphs: dict[int, Item] = {}
    names: set[str] = set()
    uid = text_of(object_of(record.get("table"), "table").get("uid"), "the table's uid")
    try:
        table = table_of(record["table"].get("table"), uid, benchmark)
    except Unusable as e:
        refused[uid] = str(e)
    for place, p in enumerate(list_of(record.get("paragraphs"), "paragraphs"), 1):
        name = given_id(p, "uid") or f"{uid}, paragraph {place}"
        try:
            text = text_of(object_of(p, "a paragraph").get("text"), "text")
            order = p.get("order", place)
            if isinstance(order, bool) or not isinstance(order, int) or order < 1 or order in paragraphs:
                raise Unusable(f"its order must be a number from 1 of its own, not {str(order)[:40]!r}")
            if name in names:
                raise Unusable(f"a second paragraph with the uid {name!r}")
            names.add(name)
            paragraphs[order] = Item(f"{benchmark}/paragraph/{name}", benchmark, "text", text=text, source=uid)
        except Unusable as e:
            refused[name] = str(e)
    if table is None and not paragraphs:
        raise Unusable(f"no table and no paragraph with any words: {next(iter(refused.values()))}")
    return Page(uid, table, paragraphs, list_of(record.get("questions"), "questions"), refused)


def table_of(cells: Any, uid: str, benchmark: str) -> Item:
    """A table whose header names the columns and whose rows are all official rows, ragged ones filled up.

    Unusable if it is no table.
    """
    rows = [[text_of(c, "a cell", empty=True) for c in list_of(r, "a row")] for r in list_of(cells, "table")]
    if not any(c.strip() for r in rows for c in r):
        raise Unusable("the table has no cell with any words")
    width = max(len(r) for r in rows)
    full = tuple(tuple(r) + ("",) * (width - len(r)) for r in rows)
    return Item(f"{benchmark}/table/{uid}", benchmark, "table", header=column_names(full, header_count(full)),
                rows=full, source=uid)


def read_page(path: Path, split: str, page: Page, rewritten: Mapping[str, str], sink: Sink) -> None:
    """A page's questions, each with the page's items; if none brings them in, the page is a record of its own."""
    for name, reason in page.refused.items():
        sink.reject(path, name, reason)
    for number, record in enumerate(page.questions):
        uid = given_id(record, "uid")
        with sink.record(path, uid or f"{page.uid}, question {number}") as draft:
            object_of(record, "a question")
            text_of(record.get("uid"), "uid")
            qid = f"{sink.benchmark}/{uid}"
            words = text_of(record["question"], "question").strip()
            answers, details = answers_of(record), details_of(record)
            if uid in rewritten:
                details += (("form", "independent"), ("original_question", words))
            draft.items.extend(page.items)
            if answers:
                draft.annotations.extend(gold_of(record, answers, qid, page.table, page.paragraphs, draft.fallbacks))
            else:
                draft.fallbacks.append("blind: no answer, question without gold" if split == BLIND
                                       else "no answer: question without gold")
            draft.questions.append(Question(qid, sink.benchmark, rewritten.get(uid, words), answers,
                                            dict(details).get("answer_type", ""), split, details))
    if not all(i.id in sink.items for i in page.items):
        with sink.record(path, page.uid) as draft:
            draft.items.extend(page.items)


def answers_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The answer as strings, numbers as the official metric prints them; () if it is withheld.

    Several spans are one answer together; blank ones go.
    """
    answer = record.get("answer")
    values = answer if isinstance(answer, list) else [] if answer is None or answer == "" else [answer]
    out = []
    for a in values:
        if isinstance(a, bool) or not isinstance(a, (str, int, float)) or a != a or a in (float("inf"), float("-inf")):
            raise Unusable(f"answer must be text or a number, not {str(a)[:40]!r}")
        out.append(text_of(str(a), "answer", empty=True))
    return tuple(a for a in out if a.strip())


def details_of(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What the official metric and the reader of a table need beside the answer.

    Its type, scale, source and derivation, if given.
    """
    out = []
    for name in ("answer_type", "answer_from", "scale", "derivation"):
        if record.get(name) is not None:
            out.append((name, text_of(record[name], name, empty=True)))
    if isinstance(record.get("req_comparison"), bool):
        out.append(("req_comparison", str(record["req_comparison"]).lower()))
    return tuple(out)
