"""Images and videos to native records.

Probed and decoded once, captioned by what documents say of them, subtitles found beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from canopy.errors import MediaError
from canopy.importing.blocks import one_line
from canopy.importing.decoding import read_text
from canopy.ingest.records import ItemRecord
from canopy.ingest.sink import Unusable
from canopy.ingest.subtitles import parse_cues
from canopy.items import Cue

IMAGES = frozenset({".jpg", ".jpeg", ".png", ".gif", ".tif", ".tiff", ".webp", ".bmp"})
VIDEOS = frozenset({".mp4", ".m4v", ".mkv", ".webm", ".mov"})
SUBTITLES = frozenset({".vtt", ".srt", ".ass", ".ssa", ".sub", ".sbv", ".smi", ".sami", ".ttml"})
_LANGUAGE = re.compile(r"\.[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?$")


def name_words(path: str) -> str:
    """The words of a file's name: ``elephant_at-sunset.jpg`` -> ``elephant at sunset``."""
    stem = PurePosixPath(path).stem
    return " ".join(re.sub(r"[-_+.]+", " ", stem).split()) or stem


def image_record(path: Path, name: str, caption: str) -> ItemRecord:
    """An image's record; the image is decoded to its end here, so that damage shows now and not later.

    Unusable if it cannot be decoded.
    """
    from canopy.media.images import open_image

    try:
        open_image(path).close()
    except MediaError as e:
        raise Unusable(str(e).removeprefix(f"{path}: ")) from None
    return {"modality": "image", "title": name_words(name), "caption": one_line(caption)}


def video_record(path: Path, name: str, caption: str, cues: tuple[Cue, ...] | None, notes: list[str]) -> ItemRecord:
    """A video with its length as measured and its cues: those given, else from a subtitle stream inside.

    Raises
    ------
    Unusable
        If no picture can be decoded.
    """
    from canopy.media.embedded import embedded_cues
    from canopy.media.videos import probe_video

    try:
        facts = probe_video(path)
        cues = embedded_cues(path) if cues is None else cues
    except MediaError as e:
        raise Unusable(str(e).removeprefix(f"{path}: ")) from None
    notes.extend(facts.notes)
    late = sum(c.start >= facts.duration for c in cues)
    if late:
        notes.append(
            f"{late} of {len(cues)} subtitles begin after the video's end, at {facts.duration:.1f} s: "
            "they count for its last segment"
        )
    return {"modality": "video", "title": name_words(name), "caption": one_line(caption), "duration": facts.duration,
            "cues": [(c.start, c.end, c.text) for c in cues]}


def subtitle_cues(path: Path, notes: list[str]) -> tuple[Cue, ...]:
    """A subtitle file's cues, in whatever encoding it is. Unusable if no cue can be read."""
    remarks: list[str] = []
    cues = parse_cues(read_text(path, remarks), remarks)
    if not cues:
        raise Unusable("; ".join(["no subtitle in it that can be read", *remarks[:3]]))
    notes.extend(remarks)
    return cues


def find_subtitles(videos: Sequence[str], subtitles: Sequence[str]) -> Mapping[str, str]:
    """Which subtitle file goes with which video, both as relative paths.

    The same stem decides, whatever the folder; a language may follow (``talk.en.vtt``). Of several the nearest folder
    wins, then a name without a language, then English, then the first by name.
    """
    by_stem: dict[str, list[str]] = {}
    for path in subtitles:
        stem = PurePosixPath(path).stem
        for key in {stem, _LANGUAGE.sub("", stem)}:
            by_stem.setdefault(key, []).append(path)

    choices = {}
    for video in videos:
        stem, folder = PurePosixPath(video).stem, PurePosixPath(video).parent.parts

        def rank(path: str, stem: str = stem, folder: tuple[str, ...] = folder) -> tuple[int, bool, bool, str]:
            own = PurePosixPath(path).parent.parts
            shared = next(
                (i for i, (a, b) in enumerate(zip(own, folder, strict=False)) if a != b), min(len(own), len(folder))
            )
            named = PurePosixPath(path).stem
            return len(own) + len(folder) - 2 * shared, named != stem, not named.startswith(f"{stem}.en"), path

        if stem in by_stem:
            choices[video] = min(by_stem[stem], key=rank)
    return choices
