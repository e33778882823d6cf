"""WebVTT and SubRip files to raw cues: where each cue's times and words stand, whatever habits the file has.

Both are read alike, since files mix their habits. What cannot be read is kept or left out with a note of its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Hours may be absent, a fraction too; blanks stand around colons in some files.
_TIME = r"(-?)(?:(\d{1,4})\s?:\s?)?(\d{1,4})\s?:\s?(\d{1,2})(?:\s?[.,:]\s?(\d{1,9}))?"
_SECONDS = r"(-?)()()(\d{1,6})[.,](\d{1,9})"
_FULL = r"()(\d{1,3}):(\d\d):(\d\d)[.,](\d{1,3})"
_ARROW = r"(?:(?:-\s?){1,3}(?:>|&gt;)|=+(?:>|&gt;)|[\u2013\u2014\u2192]>?)"
_TIMINGS = (
    re.compile(rf"^\s*(?:\d+\s+)?{_TIME}\s*{_ARROW}\s*{_TIME}(?![\d:])"),
    re.compile(rf"^\s*{_SECONDS}\s*{_ARROW}\s*{_SECONDS}\s*$"),
    re.compile(rf"^\s*{_FULL}\s*[,-]\s*{_FULL}\s*$"),  # a comma in .sbv
)
_FIRST = re.compile(rf"^\s*(?:\d+\s+)?{_TIME}\s*{_ARROW}")
_LAST = re.compile(rf"{_ARROW}\s*{_TIME}(?![\d:])")
_BROKEN = re.compile(rf"^(?=.*[\d:]).*{_ARROW}|^\s*\S+:\S+:\S+,\S+:\S+:\S+\s*$")
_BLOCK = re.compile(r"^(?:NOTE|STYLE|REGION)(?:\s|$)")


@dataclass(slots=True)
class RawCue:
    """A cue as it stands in the file: the place of its times, milliseconds, and its lines of words."""

    place: str
    start: int
    end: int
    lines: list[str]


@dataclass(slots=True)
class _Mark:
    """A line of times, whose start or end may be unreadable."""

    index: int
    start: int | None
    end: int | None


def split_cues(text: str, notes: list[str]) -> list[RawCue]:
    """The cues of a file in its order, less comments and styles.

    Where a time cannot be read, that of the cue before or after stands in, with a note.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    marks = [mark for n in range(len(lines)) if (mark := _mark(lines, n))]
    if all(mark.start is None and mark.end is None for mark in marks):
        return []
    heads = _heads(lines, marks)
    numbers = [int(n) if (n := lines[head].strip()).isdecimal() and len(n) < 10 else 0 for head in heads]
    _note_preamble(lines[:heads[0]], notes)
    cues: list[RawCue] = []
    for place, mark in enumerate(marks):
        body = lines[mark.index + 1:heads[place + 1] if place + 1 < len(marks) else len(lines)]
        if numbers[place] and numbers[place] + 1 not in numbers:
            body = _without_number(body, numbers[place] + 1, mark.index + 1, notes)
        cue = RawCue(f"line {mark.index + 1}", *_times(mark, cues, marks[place + 1:]), list(_without_notes(body)))
        if mark.start is None or mark.end is None:
            notes.append(f"{cue.place}: {shorten(lines[mark.index])} holds no start and end that can be read; its "
                         f"words count from {cue.start / 1000:g} to {cue.end / 1000:g} s")
        cues.append(cue)
    return cues


def _without_number(body: list[str], number: int, first: int, notes: list[str]) -> list[str]:
    """A cue's lines less the number of the next cue, if that has lost its times: its words stay, with a note."""
    for n in range(1, len(body) - 1):
        if body[n].strip() == str(number) and not body[n - 1].strip() and body[n + 1].strip():
            notes.append(f"line {first + n + 1}: subtitle {number} has no times; its words stand with the one before")
            return body[:n] + body[n + 1:]
    return body


def shorten(words: str) -> str:
    """Words as a note quotes them."""
    plain = " ".join(words.split())
    return repr(plain if len(plain) <= 120 else f"{plain[:120]}...")


def _mark(lines: Sequence[str], index: int) -> _Mark | None:
    """The times of a line; None if it is no line of times."""
    line = lines[index]
    for pattern in _TIMINGS:
        if match := pattern.match(line):
            groups = match.groups()
            return _Mark(index, _milliseconds(*groups[:5]), _milliseconds(*groups[5:]))
    if not _BROKEN.match(line) or not _begins_cue(lines, index):
        return None
    first, last = _FIRST.match(line), _LAST.search(line)
    return _Mark(index, _milliseconds(*first.groups()) if first else None,
                 _milliseconds(*last.groups()) if last else None)


def _begins_cue(lines: Sequence[str], index: int) -> bool:
    """Whether a cue may begin at a line: after a blank one, or after a number that follows a blank one."""
    above = index - 1
    if above >= 0 and lines[above].strip().isdecimal():
        above -= 1
    return above < 0 or not lines[above].strip()


def _milliseconds(sign: str, hours: str | None, minutes: str, seconds: str, fraction: str | None) -> int:
    """A time in whole milliseconds; one before the video's begin is its begin."""
    if sign:
        return 0
    return ((int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds)) * 1000 + int(
        (fraction or "").ljust(3, "0")[:3])


def _times(mark: _Mark, before: Sequence[RawCue], after: Sequence[_Mark]) -> tuple[int, int]:
    """Start and end of a cue; what cannot be read is taken from its neighbours."""
    following = next((m.start for m in after if m.start is not None), None)
    start = mark.start
    if start is None:
        start = before[-1].end if before else mark.end or 0
        start = start if mark.end is None else min(start, mark.end)
    end = mark.end
    if end is None:
        end = following if following is not None and following >= start else start
    return start, end


def _heads(lines: Sequence[str], marks: Sequence[_Mark]) -> list[int]:
    """Where each cue begins: at its number or name, which may stand above its times."""
    heads: list[int] = []
    number = 0
    for place, mark in enumerate(marks):
        above, floor = mark.index - 1, marks[place - 1].index if place else -1
        words = lines[above].strip() if above > floor else ""
        # After blank lines a line is a name; straight under words only a number that counts on.
        alone = above == 0 if above - 1 == floor else above > floor and not lines[above - 1].strip()
        counted = words.isdecimal() and len(words) < 10 and int(words) in (place + 1, number + 1)
        named = bool(words) and (alone or counted)
        number = int(words) if counted else number + 1
        heads.append(above if named else mark.index)
    return heads


def _note_preamble(lines: Sequence[str], notes: list[str]) -> None:
    """Note words above the first cue that no player shows and no format provides for."""
    plain = list(_without_notes(["", *lines]))[1:]
    if plain and plain[0].startswith("WEBVTT"):
        plain = plain[next((n for n, line in enumerate(plain) if not line.strip()), len(plain)):]
    words = " ".join(" ".join(plain).split())
    if words:
        notes.append(f"words before the first subtitle are left out: {shorten(words)}")


def _without_notes(lines: Sequence[str]) -> Iterator[str]:
    """Lines less the comments and styles of WebVTT.

    From NOTE, STYLE or REGION after a blank line to the next blank line.
    """
    inside, above = False, "x"
    for line in lines:
        inside = bool(line.strip()) and (inside or (not above.strip() and bool(_BLOCK.match(line))))
        above = line
        if not inside:
            yield line
