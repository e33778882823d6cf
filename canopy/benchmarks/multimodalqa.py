"""MultiModalQA: texts, tables and images as items; the cells, text spans and images that its answers name as gold.

Answers of several parts (``details``: ``list``) are one answer together, not aliases. Gold is what
``supporting_context`` names and what the answers and intermediate answers point at (``table_indices``,
``text_instances``, ``image_instances``), all of it joint evidence: the rows of the cells, the characters of the
instances, images whole. ``start_byte`` counts characters (as in the authors' own code); if the words are not there
they are looked for by bytes, then by themselves. A supporting text to which no instance points (a first hop, a yes/no
question) is gold whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.records import BLIND, HELD_OUT, Record, given_id, list_of, object_of, pair_of
from canopy.benchmarks.reading.release import require_files
from canopy.digests import file_sha256
from canopy.errors import DataError, MediaError
from canopy.gold.expected import Expected
from canopy.ingest.fields import occurrences, text_of
from canopy.ingest.files import iterate_jsonl
from canopy.ingest.sink import Draft, Sink, Unusable, Waiting
from canopy.ingest.tables import table_cells
from canopy.items import Annotation, Item, Question

_AT = "https://github.com/allenai/multimodalqa/raw/master/dataset"


def _file(role: str, what: str) -> ReleaseFile:
    name = f"MMQA_{role}.jsonl.gz"
    return ReleaseFile(role, (name, name.removesuffix(".gz")), what, f"{_AT}/{name}")


BENCHMARK = Benchmark(
    title="MultiModalQA",
    licence="Apache-2.0 (code), CC BY-SA (Wikipedia's text and tables); each image has its own",
    home="https://github.com/allenai/multimodalqa",
    files=(
        _file("train", "23,817 training questions"),
        _file("dev", "2,441 development questions"),
        _file("test", "3,660 test questions, answers withheld"),
        _file("texts", "the texts"),
        _file("tables", "the tables"),
        _file("images", "titles and file names of the images"),
        ReleaseFile(
            "image_files",
            ("final_dataset_images/", "images/", "final_dataset_images.zip"),
            "the images themselves; unpack the archive",
            "https://multimodalqa-images.s3-us-west-2.amazonaws.com/final_dataset_images/final_dataset_images.zip",
        ),
    ),
    needs=(("train", "dev", "test"),),
    aliases=("mmqa", "multimodal_qa"),
    layout="multimodalqa/\n  MMQA_train.jsonl.gz\n  MMQA_dev.jsonl.gz\n  MMQA_texts.jsonl.gz\n  MMQA_tables.jsonl.gz\n "
    " MMQA_images.jsonl.gz\n"
    "  final_dataset_images/",
    metric="multimodalqa",
    paper_name="MMQA",
    expected=(Expected("dev questions", 2_441, "the release", split="dev"),),
    fold="redirects",
)
KINDS = ("text", "table", "image")


@dataclass(slots=True)
class Gold:
    """What is said about one gold document: instances as (offset or None, words), rows of a table."""

    instances: list[tuple[int | None, str]] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)


class Documents:
    """The release's texts, tables and images: read into the sink once, then found by kind and id."""

    def __init__(self, raw: Path, files: dict[str, list[Path]], sink: Sink) -> None:
        self.raw, self.sink = raw, sink
        self.seen: dict[str, set[str]] = {k: set() for k in KINDS}
        self.no_file: dict[str, str] = {}
        self.files: dict[str, Path | None] = {kind: next(iter(files[f"{kind}s"]), None) for kind in KINDS}
        self.folders = [p for p in files["image_files"] if p.is_dir()]
        self.names = {f: _names(f) for f in self.folders}
        parse: dict[str, Callable[[Record, str], Item]] = {"text": self._text, "table": self._table,
                                                           "image": self._image}
        for kind in KINDS:
            self._read(kind, parse[kind])
        if self.no_file:
            packed = (
                "; final_dataset_images.zip is there, but not unpacked"
                if files["image_files"] and not self.folders
                else ""
            )
            sink.notes.append(f"{len(self.no_file)} of {len(self.seen['image'])} images that the release lists have no "
                              f"file{packed}: "
                              "they are no items, and questions that need one wait")

    def _read(self, kind: str, parse: Callable[[Record, str], Item]) -> None:
        path = self.files[kind]
        if path is None:
            return
        for place, record in iterate_jsonl(path, self.sink):
            name = given_id(record, "id")
            with self.sink.record(path, name or place) as draft:
                self.seen[kind].add(text_of(object_of(record)["id"], "id"))
                draft.items.append(parse(record, f"{self.sink.benchmark}/{kind}/{record['id']}"))

    def _text(self, record: Record, ident: str) -> Item:
        return Item(ident, self.sink.benchmark, "text", title=_title(record), text=text_of(record["text"], "text"),
                    source=record["id"])

    def _table(self, record: Record, ident: str) -> Item:
        table = object_of(record["table"], "table")
        header = [c["column_name"] if isinstance(c, dict) else c for c in list_of(table.get("header"), "header")]
        rows = [[c["text"] if isinstance(c, dict) else c for c in list_of(r, "a row")]
                for r in list_of(table["table_rows"], "table_rows")]
        columns, cells = table_cells({"header": header, "rows": rows})
        return Item(ident, self.sink.benchmark, "table", title=_title(record), header=columns, rows=cells,
                    source=record["id"],
                    section=text_of(table.get("table_name") or "", "table_name", empty=True))

    def _image(self, record: Record, ident: str) -> Item:
        from canopy.media.images import probe_image

        title, named = _title(record), text_of(record["path"], "path")
        path = self._image_file(named)
        if path is None:
            self.no_file[record["id"]] = named
            raise Waiting(f"image file {named!r} is not there")
        try:
            probe_image(path)
            digest = file_sha256(path)
        except (MediaError, OSError) as e:
            raise Unusable(str(e).replace(f"{self.raw}{os.sep}", "")) from None
        return Item(ident, self.sink.benchmark, "image", title=title, media=path.relative_to(self.raw).as_posix(),
                    media_sha256=digest,
                    source=record["id"])

    def _image_file(self, named: str) -> Path | None:
        """The file in an image folder, also if only the case of its name differs (unpacked on another system)."""
        inside = PurePosixPath(named.replace("\\", "/"))
        if inside.is_absolute() or ".." in inside.parts:
            raise Unusable(f"path {named!r} points outside the image folder")
        for folder in self.folders:
            if (folder / inside).is_file():
                return folder / inside
            other = self.names[folder].get(inside.name.casefold())
            if other and (folder / other).is_file():
                return folder / other
        return None

    def find(self, kind: str, ident: str) -> Item:
        """A document by its id. Waiting if it is not there, Unusable if its own record is in quarantine."""
        item = self.sink.items.get(f"{self.sink.benchmark}/{kind}/{ident}")
        if item is not None:
            return item
        if kind == "image" and ident in self.no_file:
            raise Waiting(f"file {self.no_file[ident]!r} of supporting image {ident!r} is not there")
        if ident in self.seen[kind]:
            raise Unusable(f"supporting {kind} {ident!r} cannot be used: its own record is in quarantine")
        path = self.files[kind]
        raise Waiting(f"supporting {kind} {ident!r} is not in {path.name}" if path
                      else f"supporting {kind} {ident!r}: no MMQA_{kind}s.jsonl.gz is there")


def _names(folder: Path) -> dict[str, str]:
    """A folder's file names by their case-folded form."""
    try:
        return {n.casefold(): n for n in sorted(os.listdir(folder), reverse=True)}
    except OSError as e:
        raise DataError(f"{folder}: cannot be read: {e.strerror}") from None


def _title(record: Record) -> str:
    return text_of(record.get("title") or "", "title", empty=True)


def read(raw: Path, sink: Sink) -> None:
    """Read texts, tables and images, then the questions of every split that is there.

    Raises
    ------
    DataError
        If no question file is there, or a file is damaged.
    """
    files = dict(require_files(raw, BENCHMARK))
    documents = Documents(raw, files, sink)
    for split in ("train", "dev", "test"):
        for path in files[split][:1]:
            for place, record in iterate_jsonl(path, sink):
                with sink.record(path, given_id(record, "qid") or place) as draft:
                    map_question(object_of(record), split, documents, sink.benchmark, draft)


def map_question(record: Record, split: str, documents: Documents, benchmark: str, draft: Draft) -> None:
    """One official line to a question and its gold."""
    qid = f"{benchmark}/{text_of(record['qid'], 'qid')}"
    about = object_of(record.get("metadata") or {}, "metadata")
    answers = list_of(record.get("answers"), "answers")
    replies = tuple(_answer(a) for a in answers)
    evidence = gold_documents(record, about, answers)
    modalities = dict.fromkeys(text_of(m, "a modality") for m in list_of(about.get("modalities"), "modalities"))
    details = [("list", "true")] if len(replies) > 1 else []
    details += [("modalities", "+".join(modalities))] if modalities else []
    if split == "test":
        split = HELD_OUT if replies or evidence else BLIND
    question = Question(qid, benchmark, text_of(record["question"], "question").strip(), replies,
                        text_of(about.get("type") or "", "type", empty=True),
                        split, tuple(details))
    for (kind, ident), gold in evidence.items():
        draft.annotations.append(annotate(qid, documents.find(kind, ident), gold, draft.fallbacks))
    draft.questions.append(question)
    if split == BLIND:
        draft.fallbacks.append("blind test: no answer and no evidence")
    elif not evidence:
        draft.fallbacks.append("no evidence named: question without gold")
    elif not replies:
        draft.fallbacks.append("no answer given")


def _answer(entry: Any) -> str:
    """An answer's words, of an object or (as the authors' README shows) bare; numbers as they are written."""
    value = entry["answer"] if isinstance(entry, dict) else entry
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    return text_of(value, "answer")


def gold_documents(record: Record, about: Record, answers: list[Any]) -> dict[tuple[str, str], Gold]:
    """The gold documents by (kind, id), in order, each once: the supporting context, then what the answers point at."""
    out: dict[tuple[str, str], Gold] = {}

    def gold(kind: Any, ident: Any) -> Gold:
        if kind not in KINDS:
            raise Unusable(f"a supporting document must be a text, a table or an image, not {str(kind)[:40]!r}")
        return out.setdefault((kind, text_of(ident, "a document's id")), Gold())

    for entry in list_of(record.get("supporting_context"), "supporting_context"):
        gold(object_of(entry, "a supporting document").get("doc_part") or entry.get("part"), entry["doc_id"])
    tables = [ident for kind, ident in out if kind == "table"]
    # One table a question: table_indices do not say whose cells they are.
    cells_of = next((t for t in tables if t == about.get("table_id")), tables[0] if tables else about.get("table_id"))
    steps = [a for step in list_of(about.get("intermediate_answers"), "intermediate_answers")
             for a in (step if isinstance(step, list) else [step])]
    for answer in (a for a in (*answers, *steps) if not isinstance(a, (str, int, float))):
        object_of(answer, "an answer")
        for entry in list_of(answer.get("text_instances"), "text_instances"):
            words = text_of(object_of(entry, "a text instance").get("text") or "", "text of an instance", empty=True)
            offset = _offset(entry.get("start_byte")) if (entry.get("part") or entry.get("doc_part")
                                                          or "text") == "text" else None
            gold("text", entry["doc_id"]).instances.append((offset, words))
        for entry in list_of(answer.get("image_instances"), "image_instances"):
            gold("image", object_of(entry, "an image instance")["doc_id"])
        for cell in list_of(answer.get("table_indices"), "table_indices"):
            row, _ = pair_of(cell, "a table index")
            if isinstance(row, bool) or not isinstance(row, int):
                raise Unusable(f"table_indices hold [row, column], not {str(cell)[:40]!r}")
            gold("table", cells_of).rows.add(row)
    return out


def _offset(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise Unusable(f"start_byte must be a whole number, not {str(value)[:40]!r}")
    return value if value is not None and value >= 0 else None


def annotate(qid: str, item: Item, gold: Gold, fallbacks: list[str]) -> Annotation:
    """A gold document's annotation; what cannot be located makes it gold whole, and says so."""
    if item.modality == "image":
        return Annotation(qid, item.id, "item")
    if item.modality == "table":
        inside = sorted(r for r in gold.rows if 0 <= r < len(item.rows))
        if len(inside) < len(gold.rows):
            fallbacks.append("table indices outside their table: " + ("left out" if inside else "gold whole"))
        elif not inside:
            fallbacks.append("no cell named in a supporting table: gold whole")
        return Annotation(qid, item.id, "rows" if inside else "item", tuple((float(r), float(r + 1)) for r in inside))
    spans = set()
    for offset, words in gold.instances:
        span, moved = locate(item.text, offset, words)
        if moved:
            fallbacks.append("words of a text instance not at their offset: "
                             + ("found elsewhere in the text" if span else "not in the text"))
        spans |= {span} if span else set()
    if not spans:
        fallbacks.append("no place named in a supporting text: gold whole")
    return Annotation(qid, item.id, "chars" if spans else "item", tuple((float(a), float(b)) for a, b in sorted(spans)))


def locate(text: str, offset: int | None, words: str) -> tuple[tuple[int, int] | None, bool]:
    """The characters that a text instance names (None: nowhere), and whether they are not where it says.

    An instance without an offset (yes/no questions) or without words names no place.
    """
    if offset is None or not words.strip():
        return None, False
    if text[offset:offset + len(words)] == words:
        return (offset, offset + len(words)), False
    coded, needle = text.encode(), words.encode()
    if coded[offset:offset + len(needle)] == needle:
        start = len(coded[:offset].decode(errors="ignore"))
        return (start, start + len(words)), False
    matches = occurrences(words, text)
    return min(matches, key=lambda s: abs(s[0] - offset), default=None), True
