"""A folder of documents to a folder in the native format.

Every file is imported, skipped or quarantined, and counted so.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Container
from pathlib import Path, PurePosixPath

from canopy.atomic import replace_directory, write_bytes, write_json, write_lines
from canopy.digests import file_sha256
from canopy.errors import DataError
from canopy.importing.manifest import MANIFEST, Earlier
from canopy.importing.media import IMAGES, SUBTITLES, VIDEOS, find_subtitles, subtitle_cues
from canopy.importing.questions import read_question_file, to_lines
from canopy.importing.readers import FIXES, READERS
from canopy.importing.walking import Listing, list_folder
from canopy.importing.writing import Imported, ItemWriter, read_fault
from canopy.ingest.sink import Unusable
from canopy.items import Cue
from canopy.progress import progress

MANY_BAD = 5  # fewer files are no sign that the folder is the wrong one, unless they are most of it


def import_folder(
    source: Path, target: Path, questions: Path | None = None, max_quarantined_share: float = 0.2
) -> Imported:
    """Make ``target`` from the documents below ``source``, in one step at the end; equal files give equal bytes.

    Ids are relative paths, with a number for each item of a document, so that they stay when other files come or go.
    Files that are as they were at an earlier import into the same target are taken over without being read again. A
    questions.jsonl in the target that no import made is kept.

    Parameters
    ----------
    questions : Path, optional
        A file for `read_question_file`.
    max_quarantined_share : float
        The import stops if a larger share of the files it tries cannot be used, and those are at least five or most of
        them. 0: it stops if any cannot. ``<target>.quarantine.jsonl`` then lists them.

    Raises
    ------
    DataError
        If the source is no folder, nothing in it can be imported, too much of it is unusable, or the target would lose
        something.
    """
    source = source.expanduser()
    if not source.is_dir():
        raise DataError(f"{source}: no such folder")
    questions = questions.expanduser() if questions else None
    if questions and not questions.is_file():
        raise DataError(f"{questions}: no such file (--questions)")
    target = target.expanduser().resolve()
    earlier = Earlier.look(source, target)
    if questions and earlier.edited_questions():
        raise DataError(f"{target / 'questions.jsonl'}: written or edited by hand, and --questions would replace it; "
                        "move it away first")
    quarantine = target.with_name(f"{target.name}.quarantine.jsonl")
    try:
        listing = list_folder(source, target)
        if questions:
            listing.files = {name: path for name, path in listing.files.items() if path != questions.resolve()}
        with replace_directory(target) as out:
            return _Import(source, out, earlier, listing).run(questions, max_quarantined_share, quarantine)
    except OSError as e:
        raise DataError(f"{e.filename or target}: cannot be written or read: {e.strerror or e}") from None


class _Import:
    """One import at work."""

    def __init__(self, source: Path, out: Path, earlier: Earlier, listing: Listing) -> None:
        self.source, self.out, self.earlier, self.listing = source, out, earlier, listing
        self.result = Imported(hidden=listing.hidden)
        self.kinds = {name: PurePosixPath(name).suffix.lower() for name in listing.files}

    def run(self, questions: Path | None, share: float, quarantine: Path) -> Imported:
        """Import the files, then the questions; ``quarantine`` is written if too much is unusable."""
        result = self.result
        for name, reason in self.listing.broken.items():
            result.reject(name, reason)
        with open(self.out / "items.jsonl", "wb") as items:
            writer = ItemWriter(self.listing.files, items, self.out, self.earlier, result)
            self._write_items(writer)
        result.read = len(self.listing.files) + len(self.listing.skipped) + len(self.listing.broken)
        result.imported = result.read - len(result.skipped) - result.quarantined
        self._check_share(share, quarantine)
        questions_sha256 = self._write_questions(questions, writer.ids)
        self._add_notes(writer)
        write_lines(self.out / "quarantine.jsonl", result.quarantine)
        # The next import into the same target reads this.
        write_json(self.out / MANIFEST, {
            "made_by": writer.made_by, "items_sha256": file_sha256(self.out / "items.jsonl"), "files": writer.entries,
            "skipped": result.skipped, "questions_sha256": questions_sha256})
        quarantine.unlink(missing_ok=True)
        return result

    def _write_items(self, writer: ItemWriter) -> None:
        """Documents first, since they caption images and videos; each video with the cues of its subtitle file."""
        by_video = find_subtitles(self._names(VIDEOS), self._names(SUBTITLES))
        used = set(by_video.values())
        self._skip(used)
        documents, media = self._names(READERS), self._names(IMAGES | VIDEOS)
        with progress("importing", len(documents) + len(media), "files") as step:
            for name in documents:
                writer.write_document(name)
                step(1)
            cues = {name: self._subtitle_cues(name) for name in sorted(used)}
            for name in media:
                writer.write_medium(name, cues.get(by_video.get(name, "")))
                step(1)

    def _names(self, kinds: Container[str]) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def _skip(self, subtitles: set[str]) -> None:
        """Count the files that are not imported: other kinds, and subtitle files that belong to no video."""
        skipped = self.result.skipped
        skipped |= self.listing.skipped
        for name, kind in self.kinds.items():
            if kind in SUBTITLES and name not in subtitles:
                skipped[name] = "subtitles without a video of that name, or of another language"
            elif kind not in SUBTITLES | IMAGES | VIDEOS and kind not in READERS:
                fix = f"; {FIXES[kind]}" if kind in FIXES else ""
                skipped[name] = f"{kind or 'no ending'}: not a kind of file that is imported{fix}"

    def _subtitle_cues(self, name: str) -> tuple[Cue, ...] | None:
        notes: list[str] = []
        try:
            cues = subtitle_cues(self.listing.files[name], notes)
        except (Unusable, OSError) as e:
            self.result.reject(name, read_fault(e))
            return None
        self.result.notes += [f"{name}: {note}" for note in notes]
        return cues

    def _check_share(self, share: float, quarantine: Path) -> None:
        bad, tried = self.result.quarantined, self.result.imported + self.result.quarantined
        if bad > share * tried and (not share or bad >= MANY_BAD or 2 * bad > tried):
            write_lines(quarantine, self.result.quarantine)
            first = self.result.quarantine[0]
            raise DataError(
                f"{self.source}: {bad} of {tried} files cannot be used, more than --max-quarantined-share {share:g} "
                f"allows; the first: {first['file']}: {first['reason']}; all of them: {quarantine}"
            )
        if not self.result.items:
            raise DataError(f"{self.source}: nothing to import in {self.result.read} files; these kinds are: "
                            f"{', '.join(sorted({*READERS, *IMAGES, *VIDEOS}))}")

    def _write_questions(self, path: Path | None, ids: set[str]) -> str:
        """Write or keep questions.jsonl.

        Gives the SHA-256 of the last one that an import made, empty if there is none.
        """
        out = self.out / "questions.jsonl"
        if path is None:
            kept = self.earlier.target / "questions.jsonl"
            if kept.is_file():
                shutil.copyfile(kept, out)
                self.result.questions = sum(1 for line in kept.read_bytes().splitlines() if line.strip())
            return self.earlier.questions_sha256
        records, rejects = read_question_file(path, ids)
        if not records:
            first = f"; the first: {rejects[0]['record']}: {rejects[0]['reason']}" if rejects else ""
            raise DataError(f"{path}: no question in it can be used{first}")
        self.result.quarantine += rejects
        self.result.questions = len(records)
        write_bytes(out, to_lines(records))
        return file_sha256(out)

    def _add_notes(self, writer: ItemWriter) -> None:
        notes, entries = self.result.notes, writer.entries
        notes += [f"{name}: {note}" for name, entry in sorted(entries.items()) for note in entry["notes"]]
        twice = sum(n - 1 for n in Counter(writer.digests[name] for name in entries).values())
        if twice:
            notes.append(f"{twice} files have the same content as another: imported under their own names")
        outside = sum(not writer.resolve(name, r) for name, entry in entries.items() for r in entry["captions"])
        if outside:
            notes.append(f"{outside} pictures that documents show are not in the folder (nothing is fetched)")
