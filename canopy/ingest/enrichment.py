"""What ingestion adds to items with media.

That the file decodes, a video's length, its own subtitles, words read off pictures, places to cut at.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canopy.cores import ordered
from canopy.digests import file_sha256
from canopy.errors import MediaError
from canopy.ingest.sink import Sink
from canopy.ingest.withdrawal import withdraw_items
from canopy.items import Cue, Item
from canopy.media.cache import MediaCache
from canopy.media.embedded import embedded_cues
from canopy.media.images import open_image
from canopy.media.ocr import ocr_version, read_words, screen_cues
from canopy.media.ocr_pool import OcrPool, process_count
from canopy.media.shots import shot_cuts, subtitle_cuts
from canopy.media.videos import probe_video
from canopy.progress import progress

# Raised whenever reading the same file gives something else.
_FORMAT = 1
# A given length is doubted if it is off by more than both.
DURATION_SECONDS, DURATION_SHARE = 1.0, 0.01
SHOWN = 20


def enrich_items(sink: Sink, raw: Path, work: Path, *, ocr: bool, segmentation: str) -> None:
    """Look into every image and video that has a media file, and put what is found into its item.

    An image or video that cannot be decoded leaves the corpus: its record goes to quarantine, and questions whose gold
    needs it wait (see `canopy.ingest.withdrawal`). What a record gives is kept: words of an image, length and subtitles
    of a video; if a video's given length is not its file's, a note says so. Items without a media file stay as they
    are.

    Parameters
    ----------
    raw : Path
        The folder that media paths count from; if a file is not there, the adapter's output folder.
    work : Path
        Where findings are kept by content, so that a later run repeats nothing.
    ocr : bool
        Whether words are read off images that come without, and off video frames (params.yaml: ``ingest.ocr``).
    segmentation : str
        ``shots`` or ``subtitles`` find a video's cuts (the latter without a file too); ``fixed`` leaves it without.
    """
    if segmentation == "subtitles":
        sink.items.update(
            (i.id, _with_cuts(i, subtitle_cuts(i.cues)))
            for i in list(sink.items.values())
            if i.modality == "video" and not i.media
        )
    items = [i for i in sink.items.values() if i.modality in ("image", "video") and i.media]
    if not items:
        return
    broken: dict[str, str] = {}
    absent: dict[str, str] = {}
    notes: list[str] = []
    read: Counter[str] = Counter()
    processes = process_count()
    with (
        MediaCache(work / "media.sqlite") as cache,
        progress("looking into images and videos", len(items), "files") as advance,
        OcrPool(processes, lambda n: advance(0, pictures_read=n)) as pool,
    ):
        reader = _MediaReader(cache, ocr and not sink.words_given, segmentation, pool)

        def look(item: Item) -> _Look:
            path = next((folder / item.media for folder in (raw, sink.out) if (folder / item.media).is_file()), None)
            if path is None:
                return _Look(absent=f"media file {item.media!r} is not there")
            return reader.look(item, path)

        for item, outcome in zip(items, ordered(look, items, processes), strict=True):
            if outcome.item is not None:
                sink.items[item.id] = outcome.item
            elif outcome.absent:
                absent[item.id] = outcome.absent
            else:
                broken[item.id] = outcome.broken
            notes += outcome.notes
            read += outcome.counts
            advance(1)
    if broken or absent:
        withdraw_items(sink, broken, absent)
    if broken:
        sink.notes.append(f"{len(broken)} images or videos cannot be decoded and are no items: {_listed(list(broken))}")
    if read["tried"]:
        sink.notes.append(
            f"Words were read off {read['image words']} of {read['image']} images without given ones and off the "
            f"frames of {read['video words']} of {read['video']} videos (OCR)."
        )
    sink.notes += notes[:SHOWN] + (
        [f"and {len(notes) - SHOWN} more notes on media files"] if len(notes) > SHOWN else []
    )


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:SHOWN]) + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")


@dataclass(slots=True)
class _Look:
    """What a look into one file gave: the item, or why there is none; notes; how many images and videos gave words."""

    item: Item | None = None
    broken: str = ""
    absent: str = ""
    notes: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def count(self, kind: str, words: str) -> None:
        """Count an image or video that words were looked for in."""
        self.counts.update(tried=1, **{kind: 1})
        if words:
            self.counts[f"{kind} words"] += 1


class _MediaReader:
    """Looks into media files, in several threads at once."""

    def __init__(self, cache: MediaCache, ocr: bool, segmentation: str, pool: OcrPool) -> None:
        self.cache, self.ocr, self.segmentation, self.pool = cache, ocr, segmentation, pool

    def look(self, item: Item, path: Path) -> _Look:
        """The item with what its file holds, or why that cannot be decoded."""
        outcome = _Look()
        try:
            if not item.media_sha256:
                item = dataclasses.replace(item, media_sha256=file_sha256(path))
            outcome.item = (self._image if item.modality == "image" else self._video)(item, path, outcome)
        except (MediaError, OSError) as e:
            outcome.broken = str(e).replace(f"{path}", item.media)
        return outcome

    def _cached(self, item: Item, aspect: str, compute: Callable[[], Any]) -> Any:
        return self.cache.get_or_compute(item.media_sha256, f"{aspect} {_FORMAT}", compute)

    def _image(self, item: Item, path: Path, outcome: _Look) -> Item:
        picture = functools.cache(lambda: open_image(path))
        self._cached(item, "image", lambda: list(picture().size))
        if self.ocr and not item.words:
            item = dataclasses.replace(
                item, words=self._cached(item, f"words {ocr_version()}", lambda: read_words(picture(), self.pool.read))
            )
            outcome.count("image", item.words)
        return item

    def _video(self, item: Item, path: Path, outcome: _Look) -> Item:
        facts = self._cached(item, "video", lambda: dataclasses.asdict(probe_video(path)))
        length, duration = facts["duration"], item.duration or facts["duration"]
        if not (math.isfinite(duration) and duration > 0):
            raise MediaError(f"{path}: a video of {duration:g} seconds")
        outcome.notes += [f"{item.id}: {note}" for note in facts["notes"]]
        if abs(duration - length) > max(DURATION_SECONDS, DURATION_SHARE * length):
            outcome.notes.append(
                f"{item.id}: its record says {duration:.1f} s, its file {length:.1f} s; the record's is kept"
            )
        cues = item.cues or _cues(
            self._cached(item, "subtitles", lambda: list(map(dataclasses.astuple, embedded_cues(path)))), duration
        )
        screen = item.screen
        cuts: Sequence[float] = ()
        if self.ocr and not screen:
            output = self._cached(item, f"screen {ocr_version()}", lambda: self._screen(path, facts["picture_end"]))
            screen = _cues(output["cues"], duration)
            outcome.notes += [f"{item.id}: {note}" for note in output["notes"]]
            outcome.count("video", " ".join(c.text for c in screen))
        if self.segmentation == "shots":
            cuts = self._cached(item, "shots", lambda: shot_cuts(path))
        elif self.segmentation == "subtitles":
            cuts = subtitle_cuts(cues)
        return _with_cuts(dataclasses.replace(item, duration=duration, cues=cues, screen=screen), cuts)

    def _screen(self, path: Path, duration: float) -> dict[str, object]:
        notes: list[str] = []
        cues = screen_cues(path, duration, notes, self.pool.submit)
        return {"cues": list(map(dataclasses.astuple, cues)), "notes": notes}


def _with_cuts(item: Item, cuts: Sequence[float]) -> Item:
    return dataclasses.replace(item, cuts=tuple(c for c in cuts if 0 < c < item.duration))


def _cues(entries: Any, duration: float) -> tuple[Cue, ...]:
    """Cues out of JSON; one past the end still says something: it belongs to the last segment."""
    cues = (Cue(min(start, math.nextafter(duration, 0)), end, text) for start, end, text in entries)
    return tuple(sorted(cues, key=lambda c: (c.start, c.end)))
