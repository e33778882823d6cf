"""The video files below a benchmark's folder.

Found by their key, measured once, as items of their own or as pre-cut segments.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from canopy.benchmarks.reading.release import MAX_DEPTH
from canopy.digests import file_sha256
from canopy.errors import MediaError
from canopy.ingest.native import read_cues
from canopy.ingest.sink import Sink, Unusable, Waiting
from canopy.items import Annotation, Cue, Item

VIDEO_SUFFIXES = (".mp4", ".mkv", ".webm", ".mov", ".avi", ".m4v")
SUBTITLE_SUFFIXES = (".vtt", ".srt")
MAX_SIDECAR_BYTES = 4 << 20
# Time references are whole seconds: one that points this little past a video's end means its end.
ROUNDING_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Clip:
    """An item and the seconds ``[start, end)`` of its video that it shows; a whole video starts at 0."""

    item: Item
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Footage:
    """What there is of one video.

    Its clips in order, whether it was cut, and why something of it lacks (empty if nothing is known to).
    """

    clips: tuple[Clip, ...]
    cut: bool = False
    lacking: str = ""


class Videos:
    """The videos below ``raw``; each file is probed, hashed and counted as a record once, however many questions ask
    about it.

    A file belongs to a key if its name without suffix is the key. The names ``<key>_<number>`` are pre-cut segments in
    order, laid end to end; ``<key>_<start>_<end>`` (or with a hyphen) are segments that state their seconds. Where a
    video has segments, they are its items. Files that the video2dataset program numbered are known by the address in
    the ``.json`` file beside them. ``named`` are the keys that the release speaks of: a file of that name is never
    taken for another video's segment.
    """

    def __init__(self, raw: Path, sink: Sink) -> None:
        self.raw, self.sink = raw, sink
        self._files: dict[str, list[str]] = {}
        self._subtitles: dict[str, list[str]] = {}
        for path in files_below(raw):
            name = PurePosixPath(path)
            if name.suffix.lower() in VIDEO_SUFFIXES:
                self._files.setdefault(_sidecar_key(raw / path) or name.stem, []).append(path)
            elif name.suffix.lower() in SUBTITLE_SUFFIXES:
                self._subtitles.setdefault(name.name.split(".")[0], []).append(path)
        self.named: frozenset[str] = frozenset()
        self._footage: dict[str, Footage] = {}
        self._facts: dict[str, tuple[float, str] | Waiting] = {}

    def footage(self, key: str) -> Footage:
        """The clips of a video. Waiting if no file of it is there, or none that can be read."""
        clips = self.clips(key)
        if not clips.clips:
            raise Waiting(clips.lacking)
        return clips

    def clips(self, key: str) -> Footage:
        """The clips of a video, none if no file of it is there or can be read."""
        if key not in self._footage:
            self._footage[key] = self._gather(key)
        return self._footage[key]

    def _gather(self, key: str) -> Footage:
        segment = re.compile(re.escape(key) + r"(?:\.[a-z0-9]{3,4})?_([0-9]{1,7})(?:[-_]([0-9]{1,7}))?")
        segments = sorted((int(m.group(1)), int(m.group(2) or -1), stem) for stem in self._files
                       if stem not in self.named and (m := segment.fullmatch(stem)))
        timed = [(start, end, stem) for start, end, stem in segments if end > start]
        if timed:
            return self._as_stated(key, timed)
        numbered = {number: stem for number, end, stem in reversed(segments) if end < 0}
        if numbered:
            return self._laid_end_to_end(key, sorted(numbered.items()))
        if key not in self._files:
            return Footage((), lacking=f"video {key!r} is not there")
        try:
            item = self.item(key, self._files[key][0], self.cues(key))
        except Waiting as e:
            return Footage((), lacking=str(e))
        return Footage((Clip(item, 0.0, item.duration),))

    def _as_stated(self, key: str, timed: list[tuple[int, int, str]]) -> Footage:
        """Segments whose names state their seconds."""
        clips, lacking = [], ""
        for start, end, stem in timed:
            try:
                clips.append(Clip(self._segment(key, stem, float(start), float(end)), float(start), float(end)))
            except Waiting as e:
                lacking = lacking or str(e)
        return Footage(tuple(clips), True, lacking)

    def _laid_end_to_end(self, key: str, numbered: list[tuple[int, str]]) -> Footage:
        """Numbered segments.

        Each starts where the one before it ends, so that nothing after a missing one can be placed.
        """
        clips: list[Clip] = []
        at = 0.0
        for expected, (number, stem) in enumerate(numbered, min(1, numbered[0][0])):
            if number != expected:
                return Footage(tuple(clips), True,
                               f"segment {expected} of video {key!r} is not there, so the times of those after it are "
                               "unknown")
            try:
                end = at + self.measured(self._files[stem][0])[0]
            except Waiting as e:
                return Footage(tuple(clips), True, str(e))
            clips.append(Clip(self._segment(key, stem, at, end), at, end))
            at = end
        return Footage(tuple(clips), True)

    def _segment(self, key: str, stem: str, start: float, end: float) -> Item:
        """A pre-cut segment of these seconds of its video, with its own subtitles, otherwise the video's of that
        time."""
        own = self.cues(stem) or tuple(Cue(c.start - start, c.end - start, c.text) for c in self.cues(key)
                                       if start <= c.start < end)
        return self.item(stem, self._files[stem][0], own)

    def item(self, name: str, path: str, cues: Iterable[Cue]) -> Item:
        """A video file as an item with these subtitles, put into the sink as a record of its own.

        Waiting if it cannot be read.
        """
        duration, digest = self.measured(path)
        # A cue timed past the end still says something: it belongs to the last segment.
        inside = sorted((Cue(min(c.start, math.nextafter(duration, 0)), c.end, c.text) for c in cues),
                        key=lambda c: (c.start, c.end))
        item = Item(f"{self.sink.benchmark}/{name}", self.sink.benchmark, "video", media=path, media_sha256=digest,
                    duration=duration,
                    cues=tuple(inside), source=path)
        with self.sink.record(path, name) as draft:
            draft.items.append(item)
        return item

    def find(self, path: str) -> str | None:
        """The file that a release names by a path.

        Of that name, with the same suffix and folders above it as far as any has them.
        """
        target = PurePosixPath(path)
        return max(self._files.get(target.stem, []), default=None,
                   key=lambda p: (PurePosixPath(p).suffix.lower() == target.suffix.lower(), _common_end(p, path),
                                  -p.count("/")))

    def measured(self, path: str) -> tuple[float, str]:
        """Duration in seconds and SHA-256 of a file.

        Waiting if it cannot be read as a video; the file is then quarantined, once.
        """
        if path not in self._facts:
            try:
                self._facts[path] = self._measure(self.raw / path)
            except (MediaError, OSError) as e:
                why = str(e).replace(f"{self.raw}{os.sep}", "")
                self.sink.reject(path, path, why)
                self._facts[path] = Waiting(f"video file {path!r} cannot be used: {why}")
        facts = self._facts[path]
        if isinstance(facts, Waiting):
            raise Waiting(str(facts))
        return facts

    @staticmethod
    def _measure(path: Path) -> tuple[float, str]:
        from canopy.media.videos import probe_video

        duration = probe_video(path).duration
        if not (math.isfinite(duration) and duration > 0):
            raise MediaError(f"{path}: a video of {duration:g} seconds")
        return duration, file_sha256(path)

    def cues(self, key: str) -> tuple[Cue, ...]:
        """The subtitles in a file named after the video (English ones first).

        Empty if there is none that can be read.
        """
        there = sorted(self._subtitles.get(key, []), key=lambda p: (not re.search(r"\.en\b", PurePosixPath(p).name),
                                                                    p.count("/"), p))
        for path in there[:1]:
            try:
                remarks: list[str] = []
                cues = read_cues(self.raw / path, remarks)
                self.sink.notes += [note for note in remarks if note not in self.sink.notes]
                return cues
            except (Unusable, OSError) as e:
                note = f"{path}: {e}; the video is read without subtitles"
                if note not in self.sink.notes:
                    self.sink.notes.append(note)
        return ()


def gold_in(footage: Footage, span: tuple[float, float], question_id: str) -> tuple[list[Annotation], str]:
    """Where a span of a video's seconds lies in its clips, and the fallback that was taken ("" if none was).

    An instant belongs to the clip that holds it. A span that runs past the end of a whole video is cut there; one that
    lies past it counts as gold whole.

    Raises
    ------
    Waiting
        If the span reaches into a segment that is not there.
    """
    clips, (start, end), fallback = footage.clips, span, ""
    last = clips[-1].end
    if not footage.cut and start > last + ROUNDING_SECONDS:
        return [Annotation(question_id, clips[0].item.id,
                           "item")], "time reference past the end of its video: gold whole"
    if not footage.cut and end > last + ROUNDING_SECONDS:
        fallback = "time reference ends after its video: cut there"
    if not footage.cut or end <= last + ROUNDING_SECONDS:
        start, end = min(start, last), min(end, last)
    annotations, covered = [], start
    for clip in clips:
        holds = (
            clip.start <= start < clip.end or start == clip.end == last
            if start == end
            else start < clip.end and clip.start < end
        )
        if holds and clip.start <= covered + ROUNDING_SECONDS:
            a, b = (min(max(t - clip.start, 0.0), clip.item.duration) for t in (start, end))
            annotations.append(Annotation(question_id, clip.item.id, "seconds", ((a, b),)))
            covered = max(covered, clip.end)
    if not annotations or covered + ROUNDING_SECONDS < end:
        raise Waiting(footage.lacking or f"no segment is there that shows its video at {covered:g} s")
    return annotations, fallback


def files_below(raw: Path) -> list[str]:
    """Files below a folder as POSIX paths relative to it, the least deep first; hidden ones left out."""
    paths = []
    for folder, folders, files in os.walk(raw, followlinks=True):
        above = PurePosixPath(Path(folder).relative_to(raw).as_posix())
        # Linked folders are followed, since videos often lie on another disk; the depth bounds a link that leads back.
        folders[:] = sorted(f for f in folders if not f.startswith(".")) if len(above.parts) < MAX_DEPTH else []
        paths += [str(above / f) for f in files if not f.startswith(".")]
    return sorted(paths, key=lambda p: (p.count("/"), p))


def _sidecar_key(path: Path) -> str:
    """The video id in the address that video2dataset notes beside a file it numbered; empty if there is none."""
    beside = path.with_suffix(".json")
    if not path.stem.isdigit() or not beside.is_file() or beside.stat().st_size > MAX_SIDECAR_BYTES:
        return ""
    try:
        notes = json.loads(beside.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    url = notes.get("url") if isinstance(notes, dict) else None
    m = re.search(r"(?:[?&]v=|youtu\.be/)([A-Za-z0-9_-]+)", url) if isinstance(url, str) else None
    return m.group(1) if m else ""


def _common_end(a: str, b: str) -> int:
    """How many parts, from the end, two paths share."""
    pairs = zip(reversed(PurePosixPath(a).parts), reversed(PurePosixPath(b).parts), strict=False)
    return next((n for n, (x, y) in enumerate(pairs) if x != y),
                min(len(PurePosixPath(a).parts), len(PurePosixPath(b).parts)))
