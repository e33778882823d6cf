"""Where the segments of a video should rather end: at changes of shot, or between subtitles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from canopy.items import Cue
from canopy.media.container import PictureReader, damage

# Looked at so many times a second, at so many pixels: a cut is seen in a small picture, and 0.1 s is finer than any
# leaf needs.
RATE, MAX_SIDE = 10.0, 160
# A shot shorter than this is no place to cut at (flashes, fast montage).
SHORTEST_SECONDS = 1.0


def shot_cuts(path: Path) -> tuple[float, ...]:
    """Seconds at which a new shot begins, sorted (PySceneDetect's AdaptiveDetector: a change that stands out from those
    around it).

    Every reference frame is decoded, frames that no other frame builds on are skipped; memory does not grow with the
    video but for one number a look. What is damaged is passed over.

    Raises
    ------
    MediaError
        If the file is absent, cannot be opened or has no video stream.
    """
    import numpy as np
    from scenedetect import FrameTimecode
    from scenedetect.detectors import AdaptiveDetector

    detector = AdaptiveDetector(min_scene_len=max(1, round(SHORTEST_SECONDS * RATE)))
    seen: list[float] = []
    cuts: list[float] = []
    with PictureReader(path) as reader:
        for picture in reader.from_start(skip="NONREF"):
            if seen and picture.time < seen[-1] + 1 / RATE - 1e-6:
                continue
            frame = picture.frame
            if not seen:  # pictures may change their size midway, the detector compares equal ones
                shrink = min(1.0, MAX_SIDE / max(frame.width, frame.height))
                width, height = (max(2, round(n * shrink)) for n in (frame.width, frame.height))
            try:
                pixels = frame.reformat(width=width, height=height, format="bgr24", interpolation="AREA").to_ndarray()
            except damage():
                continue
            scenes = detector.process_frame(FrameTimecode(len(seen), RATE), np.ascontiguousarray(pixels))
            seen.append(picture.time)
            cuts += [seen[c.frame_num] for c in scenes]
    return tuple(round(c, 3) for c in cuts if c > 0)


def subtitle_cuts(cues: Sequence[Cue]) -> tuple[float, ...]:
    """The middle of every gap between subtitles, sorted; if one begins as the one before ends, that moment.

    A gap is between a cue's start and the latest end of all cues before it, so no cut lies inside a cue.
    """
    cuts = []
    latest = None
    for cue in sorted(cues, key=lambda c: (c.start, c.end)):
        if latest is not None and cue.start >= latest:
            cuts.append((latest + cue.start) / 2)
        latest = cue.end if latest is None else max(latest, cue.end)
    return tuple(dict.fromkeys(round(c, 3) for c in cuts))
