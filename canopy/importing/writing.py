"""The items of one file at a time into items.jsonl: all of them, or none and the reason why."""

from __future__ import annotations

import json
import posixpath
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import unquote

from canopy.digests import file_sha256, text_sha256
from canopy.importing.blocks import Picture
from canopy.importing.composing import DocumentRecord, compose
from canopy.importing.manifest import Earlier, FileEntry, made_by
from canopy.importing.media import IMAGES, image_record, name_words, video_record
from canopy.importing.readers import READERS
from canopy.ingest.files import MAX_LINE_BYTES
from canopy.ingest.native import parse_item
from canopy.ingest.records import ItemRecord
from canopy.ingest.sink import Unusable
from canopy.items import Cue
from canopy.links import link_or_copy


@dataclass(slots=True)
class Imported:
    """What an import did: ``read`` files = ``imported`` + ``skipped`` + ``quarantined``."""

    read: int = 0
    imported: int = 0
    reused: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    quarantine: list[dict[str, str]] = field(default_factory=list)
    items: Counter[str] = field(default_factory=Counter)
    questions: int = 0
    notes: list[str] = field(default_factory=list)
    hidden: int = 0

    @property
    def quarantined(self) -> int:
        """Files that cannot be used (records of a question file are not files)."""
        return sum(not q["record"] for q in self.quarantine)

    def reject(self, name: str, reason: str) -> None:
        """Count a file as one that cannot be used."""
        self.quarantine.append({"file": name, "record": "", "reason": reason})


class ItemWriter:
    """Writes the items of files, and keeps what the import says of each.

    Parameters
    ----------
    files : dict of str to Path
        The files of the folder, by relative path.
    items : file
        The new items.jsonl, open in binary mode.
    out : Path
        The new target folder.
    """

    def __init__(self, files: dict[str, Path], items: BinaryIO, out: Path, earlier: Earlier, result: Imported) -> None:
        self._files, self._items, self._out, self._earlier, self._result = files, items, out, earlier, result
        self.made_by = made_by()
        self.entries: dict[str, FileEntry] = {}
        self.digests: dict[str, str] = {}
        self.ids: set[str] = set()
        self._captions: dict[str, str] = {}

    def write_document(self, name: str) -> None:
        """Write the items of a document, and keep its captions for the pictures that it shows."""
        self._write_file(name, "", lambda: self._document_records(name))

    def write_medium(self, name: str, cues: tuple[Cue, ...] | None) -> None:
        """Write the item of an image or video; ``cues`` are those of its subtitle file, None if it has none."""
        spoken = [[c.start, c.end, c.text] for c in cues] if cues is not None else None
        side = json.dumps([self._captions.get(name, ""), spoken])
        self._write_file(name, side, lambda: self._medium_records(name, cues))

    def resolve(self, name: str, reference: str) -> str:
        """The file of the folder that a document's reference to a picture means; empty if it means none."""
        plain = unquote(reference.split("#")[0].split("?")[0])
        if "://" in reference or reference.startswith(("//", "data:")) or not plain:
            return ""
        path = plain.lstrip("/") if plain.startswith("/") else posixpath.join(posixpath.dirname(name), plain)
        path = posixpath.normpath(path)
        return path if path in self._files else ""

    def _write_file(self, name: str, side: str, read: Callable[[], Iterator[DocumentRecord | Picture]]) -> None:
        """Write what one file gives. ``side`` is what its items depend on besides the file."""
        start, counts = self._items.tell(), Counter[str]()
        entry: FileEntry = {"notes": [], "captions": {}, "media": []}
        self.entries[name] = entry
        try:
            self.digests[name] = file_sha256(self._files[name])
            entry["fingerprint"] = text_sha256(f"{self.digests[name]}{side}") if side else self.digests[name]
            earlier = self._earlier.entry(name, entry["fingerprint"], self.made_by)
            if earlier is None or not self._take_over(name, earlier, counts):
                for record in read():
                    self._write_record(name, record, counts)
            else:
                self._result.reused += 1
        except Exception as e:  # whatever a reader of foreign files raises: the file is unusable, the import goes on
            self._items.seek(start)
            self._items.truncate()
            shutil.rmtree(self._out / "media" / name, ignore_errors=True)
            (self._out / "media" / name).unlink(missing_ok=True)
            del self.entries[name]
            self._result.reject(name, read_fault(e))
            return
        if not counts:
            self._result.skipped[name] = "; ".join(["no words in it", *entry["notes"]])
            del self.entries[name]
            return
        entry["at"] = [start, self._items.tell() - start]
        self._result.items += counts
        for reference, words in entry["captions"].items():
            path = self.resolve(name, reference)
            if path and words:
                self._captions.setdefault(path, words)

    def _take_over(self, name: str, earlier: FileEntry, counts: Counter[str]) -> bool:
        """Copy what an earlier import made of the very same file; False if its media are not there any more."""
        own = f"media/{name}"
        sources = {m: self._files[name] if m == own else self._earlier.target / m for m in earlier["media"]}
        if not all(path.is_file() for path in sources.values()):
            return False
        for media, path in sources.items():
            link_or_copy(path, self._out / media)
        for line in self._earlier.lines(earlier):
            self._items.write(line)
            record = json.loads(line)
            counts[record["modality"]] += 1
            self.ids.add(record["id"])
        entry = self.entries[name]
        entry["notes"], entry["captions"], entry["media"] = earlier["notes"], earlier["captions"], earlier["media"]
        return True

    def _document_records(self, name: str) -> Iterator[DocumentRecord | Picture]:
        document = READERS[PurePosixPath(name).suffix.lower()](self._files[name])
        yield from compose(document, name_words(name))
        entry = self.entries[name]
        entry["captions"], entry["notes"] = document.captions, document.notes

    def _medium_records(self, name: str, cues: tuple[Cue, ...] | None) -> Iterator[DocumentRecord]:
        path, caption, media = self._files[name], self._captions.get(name, ""), f"media/{name}"
        if PurePosixPath(name).suffix.lower() in IMAGES:
            record = image_record(path, name, caption)
        else:
            record = video_record(path, name, caption, cues, self.entries[name]["notes"])
        link_or_copy(path, self._out / media)
        self.entries[name]["media"].append(media)
        yield {**record, "media": media}

    def _write_record(self, name: str, source: DocumentRecord | Picture, counts: Counter[str]) -> None:
        record = self._picture_record(name, source, counts["image"] + 1) if isinstance(source, Picture) else source
        if record is None:
            return
        counts[record["modality"]] += 1
        line = (json.dumps(self._checked(name, record, counts[record["modality"]]), ensure_ascii=False) + "\n").encode(
            "utf-8"
        )
        if len(line) > MAX_LINE_BYTES:
            raise Unusable(f"an item of more than {MAX_LINE_BYTES >> 20} MiB")
        self._items.write(line)

    def _picture_record(self, name: str, picture: Picture, number: int) -> DocumentRecord | None:
        """The record of a picture inside a document, whose file is written.

        None, with a note, if it cannot be decoded.
        """
        media = f"media/{name}/picture-{number}{picture.suffix}"
        path = self._out / media
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture.data)
        try:
            record = image_record(path, media, picture.alt)
        except Unusable as e:
            path.unlink()
            self.entries[name]["notes"].append(f"a picture inside it cannot be used: {e}")
            return None
        self.entries[name]["media"].append(media)
        return {**record, "title": name_words(name), "media": media, "place": picture.place}

    def _checked(self, name: str, record: DocumentRecord, number: int) -> ItemRecord:
        """The record with its id and without empty fields, as ingestion will accept it. Unusable otherwise."""
        place = f"{record['place']}-" if record.get("place") else ""
        whole = record["modality"] in ("image", "video") and record["media"] == f"media/{name}"
        item: ItemRecord = {"id": name if whole else f"{name}#{place}{record['modality']}-{number}"}
        for key, value in record.items():
            if key != "place" and (value or key in ("rows", "text", "duration")):
                item[key] = value  # type: ignore[literal-required]  # the keys are a record's own
        parse_item(item, None, "")
        if item["id"] in self.ids:
            raise Unusable(f"its item {item['id']!r} has the id of another file's: rename the file")
        self.ids.add(item["id"])
        return item


def read_fault(error: Exception) -> str:
    """Why a file cannot be used, in words."""
    if isinstance(error, Unusable):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    return f"not in the expected structure: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
