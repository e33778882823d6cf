"""Subtitles to cues. pysubs2 reads them; WebVTT and SubRip are first repaired, so that it loses nothing.

Blank lines in cues, notes and odd times are seen to in `canopy.ingest.cue_lines`. SubStation scripts (.ass, .ssa) and
the other kinds that pysubs2 knows (MicroDVD, MPL2, SAMI, TTML, TMPlayer) go to it as they are.
"""

from __future__ import annotations

import html
import re
import warnings

import pysubs2
from pysubs2.exceptions import FormatAutodetectionError, UnknownFPSError

from canopy.ingest.cue_lines import RawCue, shorten, split_cues
from canopy.items import Cue

_SCRIPT = re.compile(r"^\s*\[(?:Script Info|V4\+? Styles|Events)\]", re.I | re.M)
_DIALOGUE = re.compile(r"^\s*Dialogue\s*:(?P<fields>.*)$", re.I)
# A tag, with the times between words of WebVTT; "a < b and b > c" is none, and "<laughs>" is a word.
_INLINE_TIME = re.compile(r"<\s*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*>")
_NO_TAG = re.compile(
    r"<(?!/?(?:[ibuscvpqa]|lang|ruby|r[tp]|font|span|div|em|strong|small|big|su[bp]|strike|del|ins|center|tt|code|bd[io])"
    r"(?:[\s./][^<>]{0,200})?>)", re.I)
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^<>]{1,100})>", re.I)
_MARKS = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
# Files that roll repeat a line of the cue before it: in at least this share of cues that follow each other at once.
ROLLING_SHARE, ROLLING_GAP_SECONDS = 0.5, 0.1
MAX_NOTES = 20


def parse_cues(text: str, notes: list[str] | None = None) -> tuple[Cue, ...]:
    """Cues of a subtitle file's text, sorted by start (in seconds).

    Markup goes, a speaker's name (``<v Ada>``) stays, and entities become characters. A blank line inside a cue does
    not end it. A cue without words is left out; one with an end before its start too, which is noted. Lines of rolling
    captions, which are shown again in the next cue, are kept once.

    Parameters
    ----------
    notes : list of str, optional
        What could not be read, with its line, is added to it.
    """
    remarks: list[str] = []
    timings = _read(text, remarks)
    for timing in timings:
        words = [" ".join(_MARKS.sub("", html.unescape(line)).split()) for line in timing.lines]
        timing.lines = [line for line in words if line]
    for timing in timings:
        if timing.lines and timing.end < timing.start:
            remarks.append(f"{timing.place}: a subtitle ends ({timing.end / 1000:g} s) before it starts "
                           f"({timing.start / 1000:g} s): left out: {shorten(' '.join(timing.lines))}")
    if notes is not None:
        notes += remarks[:MAX_NOTES]
        notes += [f"{len(remarks) - MAX_NOTES} more of such notes"] if len(remarks) > MAX_NOTES else []
    timings = _without_repeats(_once([t for t in timings if t.lines and t.end >= t.start]))
    cues = (Cue(_seconds(t.start), _seconds(t.end), " ".join(t.lines)) for t in timings)
    return tuple(sorted(cues, key=lambda c: (c.start, c.end)))


def _seconds(milliseconds: int) -> float:
    return milliseconds // 1000 + milliseconds % 1000 / 1000


def _read(text: str, notes: list[str]) -> list[RawCue]:
    """The cues of a text in whatever format it is, their lines without markup."""
    if _SCRIPT.search(text):
        return _read_script(text, notes)
    cues = split_cues(text, notes)
    if not cues:
        return _read_other(text, notes)
    canonical = (f"{_clock(cue.start)} --> {_clock(cue.end)}\n" + r"\N".join(map(_escape, cue.lines)) for cue in cues)
    events = pysubs2.SSAFile.from_string("\n\n".join(canonical), format_="vtt").events
    for cue, event in zip(cues, events, strict=True):
        cue.lines = event.plaintext.split("\n")
    return cues


def _read_script(text: str, notes: list[str]) -> list[RawCue]:
    """A SubStation script; a line of dialogue that lacks fields is noted."""
    for number, line in enumerate(text.splitlines(), 1):
        match = _DIALOGUE.match(line)
        if match and match["fields"].count(",") < 9:
            notes.append(f"line {number}: a line of dialogue that cannot be read: {shorten(line)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fields that it fills itself
        events = pysubs2.SSAFile.from_string(text, format_="ass").get_text_events()
    return _of_events(events)


def _read_other(text: str, notes: list[str]) -> list[RawCue]:
    """A text in another of pysubs2's formats; nothing if it is in none."""
    try:
        format_ = pysubs2.formats.autodetect_format(text)
        if format_ in ("srt", "vtt", "ass", "ssa", "json", "whisper_jax"):
            return []
        return _of_events(pysubs2.SSAFile.from_string(text, format_=format_).get_text_events())
    except FormatAutodetectionError:
        return []
    except UnknownFPSError:
        notes.append("its times are frames, and it says no frame rate: put {1}{1}25 (the frames a second) on top")
    except Exception as e:  # whatever a reader of foreign files raises
        notes.append(f"cannot be read: {type(e).__name__}: {shorten(str(e))}")
    return []


def _of_events(events: list[pysubs2.SSAEvent]) -> list[RawCue]:
    return [RawCue(f"subtitle {n}", e.start, e.end, e.plaintext.split("\n")) for n, e in enumerate(events, 1)]


def _clock(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:04}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"


def _escape(line: str) -> str:
    """A line whose characters mean the same to pysubs2.

    Entities for braces, backslashes, angles and times that are words; a speaker as ``Ada: ``.
    """
    line = _VOICE.sub(lambda m: f" {m[1].strip()}: ", _INLINE_TIME.sub("", line.strip()))
    line = re.sub(r"\{(?!\\)", "&#123;", line)
    line = re.sub(r"\\(?=[Nnh])(?<!\{\\)", "&#92;", line)
    line = re.sub(r"<br\s*/?>", r"\\N", line, flags=re.I)
    line = re.sub(r"<rt>(.*?)(?:</rt>|$|(?=<))", r"(\1)", line, flags=re.I)
    line = _NO_TAG.sub("&lt;", line)
    return re.sub(r":(?=\d\d\.\d)", "&#58;", line)


def _once(timings: list[RawCue]) -> list[RawCue]:
    """Cues less those with the times and words of another: layers of one subtitle."""
    return list({(t.start, t.end, *t.lines): t for t in reversed(timings)}.values())[::-1]


def _without_repeats(timings: list[RawCue]) -> list[RawCue]:
    """Cues less the words that roll on from the cue before; all of them if the file does not roll.

    Rolling captions show the last lines of the cue before again, or that cue's words with more behind them. Two people
    may say "No." one after the other, so that single repeats stay.
    """
    timings = sorted(timings, key=lambda t: (t.start, t.end))
    repeats = [0]
    pairs = list(zip(timings, timings[1:], strict=False))
    at_once = [below.start - above.end <= ROLLING_GAP_SECONDS * 1000 for above, below in pairs]
    for (above, below), follows in zip(pairs, at_once, strict=True):
        repeats.append(_repeat(above.lines, " ".join(below.lines)) if follows else 0)
    rolling = sum(map(bool, repeats))
    if rolling < 2 or rolling < ROLLING_SHARE * sum(at_once):
        return timings
    fresh = [RawCue(t.place, t.start, t.end, [" ".join(t.lines)[n:].strip()])
             for t, n in zip(timings, repeats, strict=True)]
    return [t for t in fresh if t.lines[0]]


def _repeat(above: list[str], below: str) -> int:
    """How many characters at the begin of a cue's words are the last lines of the cue before."""
    tails = (" ".join(above[n:]) for n in range(len(above)))
    return next((len(tail) for tail in tails if f"{below} ".startswith(f"{tail} ")), 0)
