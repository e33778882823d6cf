"""WebVTT and SubRip subtitles to cues: settings, ids, NOTE blocks and markup are survived, order is by time."""

from __future__ import annotations

import html
import itertools
import re

from canopy.items import Cue

_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_ARROW = re.compile(rf"^\s*{_TIME}\s*-->\s*{_TIME}")
_TAG = re.compile(r"</?[^<>\n]{0,200}>|\{\\[^{}\n]{0,200}\}")  # <v Mary>, and SubStation's {\an8}


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000


def parse_cues(text: str) -> tuple[Cue, ...]:
    """Cues of a .vtt or .srt file, sorted by start.

    A cue without words, or whose end lies before its start, is left out; tags and entities become plain text.
    """
    cues = []
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.split("\n")
        arrows = [(n, found) for n, line in enumerate(lines) if (found := _ARROW.match(line))]
        # Where the blank line between two cues is missing, the next one's number is not something that is said.
        ends = [n - (lines[n - 1].strip().isdecimal() and n - 1 > above) for (above, _), (n, _) in itertools.pairwise(arrows)] + [len(lines)]
        for (number, found), stop in zip(arrows, ends, strict=False):
            g = found.groups()
            start, end = _seconds(*g[:4]), _seconds(*g[4:])
            said = " ".join(html.unescape(_TAG.sub("", x)).strip() for x in lines[number + 1:stop]).strip()
            if said and end >= start:
                cues.append(Cue(start, end, " ".join(said.split())))
    return tuple(sorted(cues, key=lambda c: (c.start, c.end)))
