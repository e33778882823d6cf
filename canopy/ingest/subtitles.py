"""Subtitles to cues. pysubs2 reads them; this module first repairs what it would lose (blank lines, notes, odd times).

WebVTT and SubRip are read alike, since files mix their habits; SubStation scripts (.ass, .ssa) go to pysubs2 as they
are.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pysubs2

from canopy.items import Cue

# Hours may be absent, a fraction too; blanks stand around colons in some files.
_TIME = r"(?:(\d{1,4})\s?:\s?)?(\d{1,2})\s?:\s?(\d{1,2})(?:\s?[.,:]\s?(\d{1,9}))?"
_TIMING = re.compile(rf"^\s*(?:\d+\s+)?{_TIME}\s*(?:-{{1,3}}\s?(?:>|&gt;)|[\u2013\u2014\u2192]>?)\s*{_TIME}(?![\d:])")
_SCRIPT = re.compile(r"^\s*\[(?:Script Info|V4\+? Styles|Events)\]", re.I | re.M)
_BLOCK = re.compile(r"^(?:NOTE|STYLE|REGION)(?:\s|$)")
# A tag, with the times between words of WebVTT; "a < b and b > c" is none.
_INLINE_TIME = re.compile(r"<\s*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*>")
# Files that roll repeat a line of the cue before it: in at least this share of cues that follow each other at once.
ROLLING_SHARE, ROLLING_GAP_SECONDS = 0.5, 0.1


@dataclass(slots=True)
class _Timing:
    """A cue as it stands in the file: milliseconds, and its lines."""

    start: int
    end: int
    lines: list[str]


def parse_cues(text: str) -> tuple[Cue, ...]:
    """Cues of a subtitle file's text, sorted by start (in seconds).

    Markup goes and entities become characters. A blank line inside a cue does not end it. A cue without words, or with
    an end before its start, is left out. Lines of rolling captions, which are shown again in the next cue, are kept
    once.
    """
    if _SCRIPT.search(text):
        events = pysubs2.SSAFile.from_string(text, format_="ass").get_text_events()
        timings = [_Timing(e.start, e.end, e.plaintext.split("\n")) for e in events]
    else:
        events = pysubs2.SSAFile.from_string("\n".join(_canonical_lines(text)), format_="vtt").events
        timings = [_Timing(e.start, e.end, e.plaintext.split("\n")) for e in events]
    for timing in timings:
        words = [" ".join(html.unescape(line).split()) for line in timing.lines]
        timing.lines = [line for line in words if line]
    timings = _without_repeats([t for t in timings if t.lines and t.end >= t.start])
    cues = (Cue(_seconds(t.start), _seconds(t.end), " ".join(t.lines)) for t in timings)
    return tuple(sorted(cues, key=lambda c: (c.start, c.end)))


def _seconds(milliseconds: int) -> float:
    return milliseconds // 1000 + milliseconds % 1000 / 1000


def _canonical_lines(text: str) -> Iterator[str]:
    """The cues in the one form that pysubs2 reads exactly.

    Full times, one line of words each, with ``\\N`` for its breaks.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    timings = [(n, match) for n, line in enumerate(lines) if (match := _TIMING.match(line))]
    if not timings:
        return
    ends = [_end_of_body(lines, above, below) for (above, _), (below, _) in zip(timings, timings[1:], strict=False)]
    for (number, match), end in zip(timings, [*ends, len(lines)], strict=True):
        groups = match.groups()
        yield f"{_clock(*groups[:4])} --> {_clock(*groups[4:])}"
        yield r"\N".join(_escape(line) for line in _without_notes(lines[number + 1:end]))


def _end_of_body(lines: list[str], above: int, below: int) -> int:
    """Where the words of the cue at line ``above`` end.

    Before the number or name of the next cue, which starts at ``below``.
    """
    last = lines[below - 1].strip()
    alone = below - 2 > above and not lines[below - 2].strip()
    return below - 1 if below - 1 > above and last and (last.isdecimal() or alone) else below


def _without_notes(lines: list[str]) -> Iterator[str]:
    """Lines less the comments and styles of WebVTT.

    From NOTE, STYLE or REGION after a blank line to the next blank line.
    """
    inside, above = False, "x"
    for line in lines:
        inside = bool(line.strip()) and (inside or (not above.strip() and bool(_BLOCK.match(line))))
        above = line
        if not inside:
            yield line


def _clock(hours: str | None, minutes: str, seconds: str, fraction: str | None) -> str:
    return f"{int(hours or 0):04}:{int(minutes):02}:{int(seconds):02}.{(fraction or '').ljust(3, '0')[:3]}"


def _escape(line: str) -> str:
    """A line whose characters mean the same to pysubs2.

    Entities for braces, backslashes, angles and times that are words.
    """
    line = _INLINE_TIME.sub("", line.strip())
    line = re.sub(r"\{(?!\\)", "&#123;", line)
    line = re.sub(r"\\(?=[Nnh])(?<!\{\\)", "&#92;", line)
    line = re.sub(r"<(?!/?[a-zA-Z][^<>]{0,200}>)", "&lt;", line)
    return re.sub(r":(?=\d\d\.\d)", "&#58;", line)


def _without_repeats(timings: list[_Timing]) -> list[_Timing]:
    """Cues less the lines that roll on from the cue before; all of them if the file does not roll.

    Two people may say "No." one after the other, so that single repeats stay.
    """
    timings = sorted(timings, key=lambda t: (t.start, t.end))
    repeats = [0]
    pairs = list(zip(timings, timings[1:], strict=False))
    at_once = [abs(below.start - above.end) <= ROLLING_GAP_SECONDS * 1000 for above, below in pairs]
    for (above, below), follows in zip(pairs, at_once, strict=True):
        sizes = range(min(len(above.lines), len(below.lines)), 0, -1)
        repeats.append(next((n for n in sizes if follows and above.lines[-n:] == below.lines[:n]), 0))
    rolling = sum(map(bool, repeats))
    if rolling < 2 or rolling < ROLLING_SHARE * sum(at_once):
        return timings
    fresh = [_Timing(t.start, t.end, t.lines[n:]) for t, n in zip(timings, repeats, strict=True)]
    return [t for t in fresh if t.lines]
