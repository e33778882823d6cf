"""UniversalRAG's queries: questions of seven data sets with the paths of their gold documents, which its scripts build.

``gt_texts``, ``gt_images`` or ``gt_videos`` name whole documents; files that are there below the folder are items. Two
texts of a HotpotQA question are evidence together; elsewhere the documents are alternatives, as the authors score them
(any one suffices). MMLU's questions need no retrieval and have no evidence. Only gold documents become items: the
corpora around them are millions of files that their own benchmarks' adapters read. ``query/lvbench.json``, which has
time references, is read by the `lvbench` adapter.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.choices import letter_of, options_of
from canopy.benchmarks.reading.footage import Videos
from canopy.benchmarks.reading.records import Record, distinct_files, given_id, list_of, object_of, strings_of
from canopy.benchmarks.reading.release import require_files
from canopy.digests import file_sha256
from canopy.errors import MediaError
from canopy.ingest.fields import text_of
from canopy.ingest.files import load_json_list
from canopy.ingest.sink import Draft, Sink, Unusable, Waiting
from canopy.items import Annotation, Item, Question

_AT = "https://raw.githubusercontent.com/wgcyeo/UniversalRAG/0426e2c5953039b88d7b59a30051f3a86ee40d08/dataset/query"
SETS = {"hotpotqa": "documents", "mmlu": "", "natural_questions": "paragraphs", "squad": "paragraphs",
        "videorag_synth": "videos",
        "videorag_wikihow": "videos", "webqa": "images"}
BENCHMARK = Benchmark(
    title="UniversalRAG queries",
    licence="Apache-2.0; the data sets keep their own licences",
    home="https://github.com/wgcyeo/UniversalRAG",
    files=tuple(ReleaseFile(name, (f"query/{name}.json", f"{name}.json"),
                            f"questions with {gold} as gold" if gold else "questions that need no retrieval",
                            f"{_AT}/{name}.json") for name, gold in SETS.items()),
    needs=(tuple(SETS),),
    aliases=("universal_rag",),
    layout="universalrag/\n  dataset/query/<set>.json\n  dataset/<set>/...      (built by the authors' scripts)",
    fold="redirects",
)
MODALITIES = {"gt_texts": "text", "gt_images": "image", "gt_videos": "video"}
TOGETHER = ("hotpotqa",)
MAX_TEXT_BYTES = 16 << 20


def read(raw: Path, sink: Sink) -> None:
    """Read every query file that is there.

    Raises
    ------
    DataError
        If none is there, or one is broken.
    """
    files = require_files(raw, BENCHMARK)
    library = Library(raw, sink)
    others = sorted({p.name for paths in files.values() for q in paths for p in q.parent.glob("*.json")
                     if p.stem not in SETS})
    if others:
        sink.notes.append(f"query files that are not read here: {', '.join(others)} (lvbench.json has an adapter of "
                          "its own)")
    for name in SETS:
        for path in distinct_files(files[name], sink):
            for number, record in enumerate(load_json_list(path)):
                with sink.record(path, given_id(record, "index") or f"record {number}") as draft:
                    map_question(object_of(record), name, path.parent.parent, library, draft)


class Library:
    """Gold documents by the path that a query names.

    Each becomes an item once, and images and videos a record of their own.
    """

    def __init__(self, raw: Path, sink: Sink) -> None:
        self.raw, self.sink, self.benchmark = raw, sink, sink.benchmark
        self.videos = Videos(raw, sink)
        self._items: dict[str, Item] = {}

    def find(self, modality: str, named: str, dataset: Path) -> Item:
        """A document. Waiting if its file is not there, Unusable if it is no such document.

        ``dataset`` is the folder above ``query``: paths begin with its published name, ``dataset``, whatever it is
        called here.
        """
        if named in self._items:
            return self._items[named]
        inside = PurePosixPath(named)
        if not inside.parts or inside.is_absolute() or ".." in inside.parts:
            raise Unusable(f"path {named!r} points outside the data folder")
        below = PurePosixPath(*inside.parts[1:]) if inside.parts[0] == "dataset" else inside
        path = next((p for p in (dataset / below, self.raw / inside, self.raw / below) if p.is_file()
                     and p.is_relative_to(self.raw)), None)
        if path is None:
            raise Waiting(f"{modality} {named!r} is not there")
        self._items[named] = self._item(modality, str(below), path)
        return self._items[named]

    def _item(self, modality: str, name: str, path: Path) -> Item:
        media, ident = path.relative_to(self.raw).as_posix(), f"{self.benchmark}/{name}"
        if modality == "video":
            return self.videos.item(name, media, self.videos.cues(path.stem))
        if modality == "text":
            if path.stat().st_size > MAX_TEXT_BYTES:
                raise Unusable(f"text {media!r} is longer than {MAX_TEXT_BYTES >> 20} MiB")
            try:
                words = path.read_bytes().decode("utf-8-sig")
            except UnicodeDecodeError as e:
                raise Unusable(f"text {media!r}: byte {e.start} is not UTF-8") from None
            return Item(ident, self.benchmark, "text", text=text_of(words, f"text {media!r}"), source=media)
        from canopy.media.images import probe_image

        try:
            probe_image(path)
        except MediaError as e:
            raise Unusable(str(e).replace(f"{self.raw}{os.sep}", "")) from None
        item = Item(ident, self.benchmark, "image", media=media, media_sha256=file_sha256(path), source=media)
        with self.sink.record(media, name) as draft:
            draft.items.append(item)
        return item


def map_question(record: Record, name: str, dataset: Path, library: Library, draft: Draft) -> None:
    """One query to a question and its gold documents."""
    qid = f"{library.benchmark}/{text_of(given_id(record, 'index'), 'index')}"
    words = text_of(record["question"], "question").strip()
    answers = (text_of(record["answer"], "answer"), *strings_of(record.get("aliases"), "aliases"))
    retrieval = text_of(record.get("gt_retrieval") or "", "gt_retrieval", empty=True)
    options = options_of(words) if name == "mmlu" else ()
    if options:
        answers = (letter_of(answers[0], options),)
    more = (("retrieval", retrieval), ("category", text_of(record.get("Qcate") or "", "Qcate", empty=True)))
    gold = [(MODALITIES.get(key, key), path) for key in record if key.startswith("gt_") and key != "gt_retrieval"
            for path in strings_of(list_of(record[key], key), key)]
    other = next((m for m, _ in gold if m not in MODALITIES.values()), None)
    if other:
        raise Unusable(f"{other}: gold of a kind that is not read; there are {', '.join(MODALITIES)}")
    if not gold and retrieval != "no":
        raise Unusable("it names no gold document, and gt_retrieval does not say that none is needed")
    documents: list[Item] = []
    lacking: list[Waiting | Unusable] = []
    for modality, path in gold:
        try:
            documents.append(library.find(modality, path, dataset))
        except (Waiting, Unusable) as e:
            lacking.append(e)
    draft.items.extend(i for i in documents if i.modality == "text")
    if lacking and (name in TOGETHER or not documents):
        raise lacking[0]
    if lacking:
        draft.fallbacks.append("gold documents that are not there or cannot be read left out, since any one suffices")
    if not gold:
        draft.fallbacks.append("needs no retrieval: question without evidence")
    for number, item in enumerate(documents):
        draft.annotations.append(Annotation(qid, item.id, "item", group=0 if name in TOGETHER else number))
    draft.questions.append(Question(qid, library.benchmark, words, tuple(dict.fromkeys(answers)), name,
                                    details=options + tuple((k, v) for k, v in more if v)))
