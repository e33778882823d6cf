"""One item as HTML with its gold marked, by modality; what is left out of a long item is said where it was."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from canopy.errors import MediaError
from canopy.hierarchy.leaves import Leaves
from canopy.items import Cue, Item

_UNITS = {"text": "sentence", "table": "row", "video": "segment", "image": "image"}
_ALL, _AROUND, _FIRST = {"text": 40, "table": 24, "video": 12}, 2, 2  # up to so many fragments all are shown; else the first and those around gold
_LONGEST, _EDGE, _COLUMNS, _BLOCKS = 1_200, 300, 40, 600
_THUMBNAIL = (360, 360)


@dataclass(frozen=True, slots=True)
class Marked:
    """An item, its fragments, which of them are gold, the annotated spans in its own unit, and how text is escaped."""

    item: Item
    leaves: Leaves
    gold: frozenset[int]
    spans: tuple[tuple[float, float], ...]
    escape: Callable[[str], str]

    def unit(self, count: int) -> str:
        """What a fragment is called."""
        return _UNITS[self.item.modality] + ("s" if count != 1 else "")

    def words(self, text: str) -> str:
        """A text escaped; the middle of a long one is left out, with a note of how much."""
        if len(text) <= _LONGEST:
            return self.escape(text)
        return f"{self.escape(text[:_EDGE])} {_gap(len(text) - 2 * _EDGE, 'character')} {self.escape(text[-_EDGE:])}"


def _gap(count: int, unit: str) -> str:
    return f'<span class="gap">[{count:,} {unit}{"s" if count != 1 else ""} left out]</span>'


def window(count: int, gold: Iterable[int], all_up_to: int) -> list[tuple[int, int]]:
    """Ranges ``[lo, hi)`` of fragments to show: all of a short item; else the first ones and those around gold."""
    if count <= all_up_to:
        return [(0, count)]
    wanted = set(range(min(_FIRST, count)))
    for g in gold:
        wanted.update(range(max(0, g - _AROUND), min(count, g + _AROUND + 1)))
    ranges: list[tuple[int, int]] = []
    for i in sorted(wanted):
        if ranges and ranges[-1][1] == i:
            ranges[-1] = (ranges[-1][0], i + 1)
        else:
            ranges.append((i, i + 1))
    return ranges


def _windowed(m: Marked, show: Callable[[int], str], gap: Callable[[str], str]) -> str:
    """Fragments of the item's window, with a gap for each stretch between."""
    out, at, unit, count = [], 0, _UNITS[m.item.modality], m.leaves.count
    # An item that is gold from end to end is shown by its beginning: there is nothing to look for in it.
    gold = m.gold if len(m.gold) < count or count <= _ALL[m.item.modality] else frozenset(range(_ALL[m.item.modality]))
    for lo, hi in window(count, gold, _ALL[m.item.modality]):
        out += [gap(_gap(lo - at, unit))] if lo > at else []
        out += map(show, range(lo, hi))
        at = hi
    return "".join([*out, gap(_gap(count - at, unit))] if at < count else out)


def mark_text(m: Marked) -> str:
    """Sentences, gold ones shaded, and in them the annotated characters underlined."""
    def show(i: int) -> str:
        lo, hi = (int(x) for x in m.leaves.span(i, i + 1))
        cuts = sorted({lo, hi, *(int(min(max(x, lo), hi)) for s in m.spans for x in s)})
        parts = []
        for a, b in zip(cuts, cuts[1:], strict=False):
            inside = any(s <= a and b <= e for s, e in m.spans)
            parts.append(f"<mark>{m.words(m.item.text[a:b])}</mark>" if inside and i in m.gold else m.words(m.item.text[a:b]))
        return f'<span class="fragment{" gold" if i in m.gold else ""}">{"".join(parts)}</span>'

    return f'<div class="text" dir="auto">{_windowed(m, show, lambda g: f" {g} ")}</div>'


def mark_table(m: Marked) -> str:
    """The rows under their column names, gold ones shaded; numbers count from 0, the header left out."""
    width = max([len(m.item.header), *(len(r) for r in m.item.rows)], default=0)
    columns, more = min(width, _COLUMNS), width - _COLUMNS

    def cells(row: Sequence[str], tag: str) -> str:
        filled = [*row, *[""] * (columns - len(row))][:columns]
        return "".join(f'<{tag} dir="auto">{m.words(c)}</{tag}>' for c in filled) + (f"<{tag}>{_gap(more, 'column')}</{tag}>" if more > 0 else "")

    def show(i: int) -> str:
        row = m.item.rows[i] if i < len(m.item.rows) else ()
        return f'<tr{" class=gold" if i in m.gold else ""}><td class="n">{i}</td>{cells(row, "td")}</tr>'

    body = _windowed(m, show, lambda g: f'<tr><td colspan="{columns + 1 + (more > 0)}">{g}</td></tr>')
    return (f'<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><thead><tr><th>row</th>{cells(m.item.header, "th")}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def clock(seconds: float) -> str:
    """Seconds as ``m:ss`` or ``h:mm:ss``."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def clock_span(start: float, end: float) -> str:
    """A span of time; one inside a single second with tenths, an instant as one time."""
    if end <= start:
        return clock(start)
    return f"{clock(start)}–{clock(end)}" if clock(start) != clock(end) else f"{clock(start)}.{int(start % 1 * 10)}–{clock(end)}.{int(end % 1 * 10)}"


def mark_video(m: Marked) -> str:
    """A timeline of the segments with the annotated times under it, then what is said and read in gold segments and beside them."""
    end = m.leaves.bounds[-1] or 1.0
    crowded = m.leaves.count > _BLOCKS
    blocks = "".join(_block(m.leaves.span(i, i + 1), end, "segment gold" if i in m.gold else "segment") for i in range(m.leaves.count)
                     if i in m.gold or not crowded)
    times = "".join(_block(s, end, "time") for s in m.spans)
    named = ", ".join(clock_span(a, b) for a, b in m.spans)

    def show(i: int) -> str:
        a, b = m.leaves.span(i, i + 1)
        said, read = (" ".join(c.text for c in _between(cues, a, b)) for cues in (m.item.cues, m.item.screen))
        words = (f'<span dir="auto">{m.words(said)}</span>' if said.strip() else '<span class="none">nothing said</span>') + (
            f'<br><span class="note">on screen:</span> <span dir="auto">{m.words(read)}</span>' if read.strip() else "")
        return f'<tr{" class=gold" if i in m.gold else ""}><td class="n">{clock(a)}–{clock(b)}</td><td>{words}</td></tr>'

    caption = f'<p dir="auto">{m.words(m.item.caption)}</p>' if m.item.caption.strip() else ""
    return (f'{caption}<div class="timeline" role="img" aria-label="{m.leaves.count} segments of {clock(end)}, {len(m.gold)} of them gold">'
            f'<div class="track">{blocks}</div><div class="track times">{times}</div></div><p class="note">0:00 to {clock(end)}'
            + (f"; annotated: {named}" if named else "") + "</p>"
            f'<div class="scroll" tabindex="0" role="region" aria-label="Segments"><table class="segments"><tbody>'
            f"{_windowed(m, show, lambda g: f'<tr><td colspan=2>{g}</td></tr>')}</tbody></table></div>")


def _block(span: tuple[float, float], end: float, kind: str) -> str:
    left, width = 100 * span[0] / end, 100 * (span[1] - span[0]) / end
    return f'<i class="{kind}" style="left:{left:.3f}%;width:{width:.3f}%"></i>'


def _between(cues: Sequence[Cue], start: float, end: float) -> list[Cue]:
    return [c for c in cues if start <= c.start < end]


def mark_image(m: Marked, media: Sequence[Path]) -> str:
    """A small copy of the image where its file is there, and its words."""
    words = "".join(f"<dt>{k}</dt><dd dir=auto>{m.words(v)}</dd>" for k, v in (("caption", m.item.caption), ("words read off it", m.item.words)) if v.strip())
    return f'<div class="image gold">{thumbnail(m, media)}<dl>{words or "<dd class=none>no caption, no words</dd>"}</dl></div>'


def thumbnail(m: Marked, media: Sequence[Path]) -> str:
    """The image as a small JPEG inside the page, or why there is none."""
    path = next((p for folder in media if m.item.media and (p := folder / m.item.media).is_file() and p.resolve().is_relative_to(folder.resolve())), None)
    if path is None:
        return '<p class="none">its file is not there</p>'
    from canopy.media.images import open_image

    try:
        image = open_image(path)
    except MediaError as e:
        return f'<p class="none">its file cannot be shown: {m.escape(str(e).replace(str(path), path.name))}</p>'
    image.thumbnail(_THUMBNAIL)
    held = io.BytesIO()
    image.save(held, "JPEG", quality=82)
    return f'<img alt="" width="{image.width}" height="{image.height}" src="data:image/jpeg;base64,{base64.b64encode(held.getvalue()).decode()}">'
