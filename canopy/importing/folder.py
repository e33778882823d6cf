"""A folder of documents to a folder in the native format: every file is imported, skipped or quarantined, and counted as one of them."""

from __future__ import annotations

import json
import posixpath
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import unquote

from canopy.atomic import replace_directory, write_bytes, write_json
from canopy.digests import file_sha256, text_sha256
from canopy.errors import DataError
from canopy.importing.blocks import Document, Picture, compose
from canopy.importing.html import read_html
from canopy.importing.media import (
    IMAGES,
    SUBTITLES,
    VIDEOS,
    find_subtitles,
    image_record,
    name_words,
    subtitle_cues,
    video_record,
)
from canopy.importing.office import read_docx
from canopy.importing.pdf import read_pdf
from canopy.importing.questions import read_question_file, to_lines
from canopy.importing.sheets import read_csv, read_xlsx
from canopy.importing.text import read_markdown, read_plain
from canopy.importing.walking import MANIFEST, Earlier, Listing, list_folder, made_by
from canopy.ingest.files import MAX_LINE_BYTES
from canopy.ingest.native import parse_item
from canopy.ingest.sink import Unusable
from canopy.items import Cue
from canopy.links import link_or_copy
from canopy.progress import progress

READERS: dict[str, Callable[[Path], Document]] = {
    ".txt": read_plain, ".md": read_markdown, ".markdown": read_markdown, ".html": read_html, ".htm": read_html, ".pdf": read_pdf,
    ".docx": read_docx, ".csv": read_csv, ".tsv": read_csv, ".xlsx": read_xlsx,
}

MANY_BAD = 5  # fewer files are no sign that the folder is the wrong one, unless they are most of it


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


def import_folder(source: Path, target: Path, questions: Path | None = None, max_quarantined_share: float = 0.2) -> Imported:
    """Make ``target`` from the documents below ``source``, in one step at the end; equal files give equal bytes.

    Ids are relative paths, with a number for each item of a document, so they stay when other files come or go. Files that are as they
    were at an earlier import into the same target are taken over without being read again. A questions.jsonl in the target that no
    import made is kept.

    Parameters
    ----------
    questions : Path, optional
        A file for `read_question_file`.
    max_quarantined_share : float
        The import stops where a larger share of the files it tries cannot be used, and those are at least five or most of them (0: where any cannot);
        ``<target>.quarantine.jsonl`` then lists them.

    Raises
    ------
    DataError
        Where the source is no folder, nothing in it can be imported, too much of it is unusable, or the target would lose something.
    """
    source = source.expanduser()
    if not source.is_dir():
        raise DataError(f"{source}: no such folder")
    if questions and not questions.expanduser().is_file():
        raise DataError(f"{questions}: no such file (--questions)")
    target = target.expanduser().resolve()
    earlier = Earlier.look(source, target)
    if questions and earlier.edited_questions():
        raise DataError(f"{target / 'questions.jsonl'}: written or edited by hand, and --questions would replace it; move it away first")
    kept_list = target.with_name(f"{target.name}.quarantine.jsonl")
    try:
        listing = list_folder(source, target)
        if questions:
            listing.files = {n: p for n, p in listing.files.items() if p != questions.expanduser().resolve()}
        with replace_directory(target) as out:
            return _Import(source, out, earlier, listing).run(questions, max_quarantined_share, kept_list)
    except OSError as e:
        raise DataError(f"{e.filename or target}: cannot be written or read: {e.strerror or e}") from None


class _Import:
    """One import at work."""

    def __init__(self, source: Path, out: Path, earlier: Earlier, listing: Listing) -> None:
        self.source, self.out, self.earlier, self.listing = source, out, earlier, listing
        self.result = Imported(hidden=listing.hidden)
        self.by = made_by()
        self.entries: dict[str, dict[str, Any]] = {}
        self.captions: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self.ids: set[str] = set()
        self.asked = False

    def run(self, questions: Path | None, share: float, kept_list: Path) -> Imported:
        result, files = self.result, self.listing.files
        for name, reason in self.listing.broken.items():
            self._reject(name, reason)
        result.skipped |= self.listing.skipped
        kinds = {n: PurePosixPath(n).suffix.lower() for n in files}
        result.skipped |= {n: f"{k or 'no ending'}: not a kind of file that is imported" for n, k in kinds.items()
                           if k not in READERS and k not in IMAGES | VIDEOS | SUBTITLES}
        subtitles = find_subtitles([n for n, k in kinds.items() if k in VIDEOS], [n for n, k in kinds.items() if k in SUBTITLES])
        used = set(subtitles.values())
        result.skipped |= {n: "subtitles without a video of that name, or of another language" for n, k in kinds.items() if k in SUBTITLES and n not in used}
        documents, media = ([n for n, k in kinds.items() if k in of] for of in (READERS, IMAGES | VIDEOS))
        with open(self.out / "items.jsonl", "wb") as items, progress("importing", len(documents) + len(media), "files") as step:
            for name in documents:
                self._file(items, name, "", lambda name=name: self._document(name))
                step(1)
            cues = {n: self._subtitles(n) for n in sorted(used)}
            for name in media:
                held = cues.get(subtitles.get(name, ""))
                side = json.dumps([self.captions.get(name, ""), [[c.start, c.end, c.text] for c in held] if held is not None else None])
                self._file(items, name, side, lambda name=name, held=held: self._medium(name, held))
                step(1)
        result.read = len(files) + len(self.listing.skipped) + len(self.listing.broken)
        result.imported = result.read - len(result.skipped) - result.quarantined
        self._refuse(share, kept_list)
        self._questions(questions)
        self._notes()
        _write_lines(self.out / "quarantine.jsonl", result.quarantine)
        self._manifest()
        kept_list.unlink(missing_ok=True)
        return result

    def _file(self, items: BinaryIO, name: str, side: str, read: Callable[[], Iterator[dict[str, Any] | Picture]]) -> None:
        """Write what one file gives, or nothing of it and the reason why."""
        start, taken, entry = items.tell(), Counter[str](), {"notes": [], "captions": {}, "media": []}
        self.entries[name] = entry
        try:
            self.digests[name] = file_sha256(self.listing.files[name])
            entry["fingerprint"] = text_sha256(f"{self.digests[name]}{side}") if side else self.digests[name]
            held = self.earlier.entry(name, entry["fingerprint"], self.by)
            if held is None or not self._take_over(items, name, held, taken):
                for made in read():
                    self._write(items, name, made, taken)
            else:
                self.result.reused += 1
        except Exception as e:  # whatever a reader of foreign files raises: the file is unusable, the import goes on
            items.seek(start)
            items.truncate()
            shutil.rmtree(self.out / "media" / name, ignore_errors=True)
            (self.out / "media" / name).unlink(missing_ok=True)
            del self.entries[name]
            self._reject(name, str(e) if isinstance(e, Unusable) else _reason(e))
            return
        if not taken:
            self.result.skipped[name] = "no words in it"
            del self.entries[name]
            return
        entry["at"] = [start, items.tell() - start]
        self.result.items += taken
        for reference, words in entry["captions"].items():
            self._caption(name, reference, words)

    def _take_over(self, items: BinaryIO, name: str, held: Any, taken: Counter[str]) -> bool:
        """Copy what an earlier import made of the very same file; False where it is not there any more."""
        sources = {m: self.listing.files[name] if m == f"media/{name}" else self.earlier.target / m for m in held["media"]}
        if not all(p.is_file() for p in sources.values()):
            return False
        for m, path in sources.items():
            link_or_copy(path, self.out / m)
        for line in self.earlier.lines(held):
            items.write(line)
            record = json.loads(line)
            taken[record["modality"]] += 1
            self.ids.add(record["id"])
        self.entries[name] |= {k: held[k] for k in ("notes", "captions", "media")}
        return True

    def _document(self, name: str) -> Iterator[dict[str, Any] | Picture]:
        path = self.listing.files[name]
        document = READERS[PurePosixPath(name).suffix.lower()](path)
        yield from compose(document, name_words(name))
        self.entries[name] |= {"captions": document.captions, "notes": document.notes}

    def _medium(self, name: str, cues: tuple[Cue, ...] | None) -> Iterator[dict[str, Any]]:
        path, caption = self.listing.files[name], self.captions.get(name, "")
        made = image_record(path, name, caption) if PurePosixPath(name).suffix.lower() in IMAGES else video_record(
            path, name, caption, cues, self.entries[name]["notes"])
        link_or_copy(path, self.out / "media" / name)
        self.entries[name]["media"].append(f"media/{name}")
        yield {**made, "media": f"media/{name}"}

    def _subtitles(self, name: str) -> tuple[Cue, ...] | None:
        notes: list[str] = []
        try:
            cues = subtitle_cues(self.listing.files[name], notes)
        except (Unusable, OSError) as e:
            self._reject(name, str(e) if isinstance(e, Unusable) else _reason(e))
            return None
        self.result.notes += [f"{name}: {n}" for n in notes]
        return cues

    def _write(self, items: BinaryIO, name: str, made: dict[str, Any] | Picture, taken: Counter[str]) -> None:
        if isinstance(made, Picture):
            media = f"media/{name}/picture-{taken['image'] + 1}{made.suffix}"
            path = self.out / media
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made.data)
            try:
                record = image_record(path, media, made.alt)
            except Unusable as e:
                path.unlink()
                self.entries[name]["notes"].append(f"a picture inside it cannot be used: {e}")
                return
            self.entries[name]["media"].append(media)
            made = {**record, "title": name_words(name), "media": media, "place": made.place}
        modality = made["modality"]
        taken[modality] += 1
        place = f"{made.pop('place')}-" if made.get("place") else ""
        whole = modality in ("image", "video") and made["media"] == f"media/{name}"
        record = {"id": name if whole else f"{name}#{place}{modality}-{taken[modality]}",
                  **{k: v for k, v in made.items() if v or k in ("rows", "text", "duration")}}
        record.pop("place", None)
        parse_item(record, None, "")  # what ingestion will ask of it
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8")
        if len(line) > MAX_LINE_BYTES:
            raise Unusable(f"an item of more than {MAX_LINE_BYTES >> 20} MiB")
        if record["id"] in self.ids:
            raise Unusable(f"its item {record['id']!r} has the id of another file's: rename the file")
        self.ids.add(record["id"])
        items.write(line)

    def _resolve(self, name: str, reference: str) -> str:
        """The imported file that a document's reference to a picture means; empty where it is none."""
        plain = unquote(reference.split("#")[0].split("?")[0])
        if "://" in reference or reference.startswith(("//", "data:")) or not plain:
            return ""
        at = posixpath.normpath(plain.lstrip("/") if plain.startswith("/") else posixpath.join(posixpath.dirname(name), plain))
        return at if at in self.listing.files else ""

    def _caption(self, name: str, reference: str, words: str) -> None:
        at = self._resolve(name, reference)
        if at and words:
            self.captions.setdefault(at, words)

    def _reject(self, name: str, reason: str, record: str = "") -> None:
        self.result.quarantine.append({"file": name, "record": record, "reason": reason})

    def _refuse(self, share: float, kept_list: Path) -> None:
        bad, tried = self.result.quarantined, self.result.imported + self.result.quarantined
        first = self.result.quarantine[0] if bad else {}
        if bad > share * tried and (not share or bad >= MANY_BAD or 2 * bad > tried):
            _write_lines(kept_list, self.result.quarantine)
            raise DataError(f"{self.source}: {bad} of {tried} files cannot be used, more than --max-quarantined-share {share:g} allows; the first: "
                            f"{first['file']}: {first['reason']}; all of them: {kept_list}")
        if not self.result.items:
            raise DataError(f"{self.source}: nothing to import in {self.result.read} files; these kinds are: "
                            f"{', '.join(sorted({*READERS, *IMAGES, *VIDEOS}))}")

    def _questions(self, path: Path | None) -> None:
        kept = self.earlier.target / "questions.jsonl"
        if path is None and kept.is_file():
            shutil.copyfile(kept, self.out / "questions.jsonl")
            self.result.questions = sum(1 for line in kept.read_bytes().splitlines() if line.strip())
        if path is not None:
            records, rejects = read_question_file(path.expanduser(), self.ids)
            if not records:
                raise DataError(f"{path}: no question in it can be used" + (f"; the first: {rejects[0]['record']}: {rejects[0]['reason']}" if rejects else ""))
            self.result.quarantine += rejects
            self.result.questions, self.asked = len(records), True
            write_bytes(self.out / "questions.jsonl", to_lines(records))

    def _notes(self) -> None:
        notes = self.result.notes
        notes += [f"{name}: {note}" for name, entry in sorted(self.entries.items()) for note in entry["notes"]]
        twice = sum(n - 1 for n in Counter(self.digests[n] for n in self.entries).values())
        if twice:
            notes.append(f"{twice} files have the same content as another: imported under their own names")
        outside = sum(not self._resolve(name, r) for name, entry in self.entries.items() for r in entry["captions"])
        if outside:
            notes.append(f"{outside} pictures that documents show are not in the folder (nothing is fetched)")

    def _manifest(self) -> None:
        """What the next import into the same target goes by: of each file its digest and which bytes of items.jsonl it gave."""
        asked = self.out / "questions.jsonl"
        write_json(self.out / MANIFEST, {
            "made_by": self.by, "items_sha256": file_sha256(self.out / "items.jsonl"), "files": self.entries, "skipped": self.result.skipped,
            "questions_sha256": file_sha256(asked) if self.asked else self.earlier.manifest.get("questions_sha256", "")})


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    return f"not in the expected structure: {type(error).__name__}: {' '.join(str(error).split())[:160]}"


def _write_lines(path: Path, rows: list[dict[str, str]]) -> None:
    write_bytes(path, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode("utf-8", "replace"))
