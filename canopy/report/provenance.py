"""What stands on every table and figure of results: who read, whether a language model took part, what gold it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from html import escape
from textwrap import wrap

from canopy.gold.kinds import GoldKinds
from canopy.report.groups import View
from canopy.report.model import Block, Figure, Figures, Section, Table, Tabular

LLM_FREE = "LLM-free: no language model took part"
# Sections that hold no result: what was read, what the paper says, how things are measured.
_NO_RESULTS = frozenset({"data", "paper", "limits", "definitions", "not_run", "not-run", "run", "training"})
_WHOLE = frozenset({"levels"})  # their rows are pooled over questions before the report
_SIZE, _LINE = 7.5, 10.0  # points


class Provenance:
    """What results come from.

    Parameters
    ----------
    gold : mapping
        Benchmark to the kinds of gold of the questions that were measured.
    views : sequence of View
        The answers' views; the first reader's are those of figures.
    answer_keys : collection of str
        Sections on answers; the others read nothing.
    """

    def __init__(self, gold: Mapping[str, GoldKinds], views: Sequence[View], answer_keys: Collection[str]) -> None:
        self.gold, self._answer_keys = gold, frozenset(answer_keys)
        self.readers = list(dict.fromkeys(v.label for v in views))
        self.llm_free = all(v.kind != "llm" for v in views)

    def gold_words(self, benchmarks: Collection[str] = (), whole: bool = False) -> str:
        """The kinds of gold, of some benchmarks or of all; ``whole``: figures that count all gold."""
        words = {b: k.describe(whole) for b, k in self.gold.items() if (not benchmarks or b in benchmarks) and k.total}
        if len(words) == 1:
            return next(iter(words.values()))
        return "; ".join(f"{b}: {w}" for b, w in words.items())

    def read_words(self, section: Section) -> str:
        """Who read in a section, and that no language model took part if none did."""
        if section.key not in self._answer_keys or not self.readers:
            return LLM_FREE
        return f"read by {self.readers[0]}" + (f"; {LLM_FREE}" if self.llm_free else "")

    def mark(self, section: Section) -> Section:
        """The section with its tables and figures marked; those without results stay as they are."""
        if section.key in _NO_RESULTS - {"training"}:
            return section
        blocks: list[Block] = []
        for block in section.blocks:
            if isinstance(block, Tabular):
                self._mark_table(section, block.table)
            elif isinstance(block, Figures):
                block = Figures(tuple(self._mark_figure(section, f) for f in block.figures))
            blocks.append(block)
        return replace(section, blocks=tuple(blocks))

    def _mark_table(self, section: Section, table: Table) -> None:
        benchmarks = {str(r["benchmark"]) for r in table.rows if "benchmark" in r} & set(self.gold)
        about = {"read by": f"nobody ({LLM_FREE})", **table.about}
        if words := self.gold_words(benchmarks, section.key in _WHOLE):
            about.setdefault("gold", words)
        table.about = about

    def _mark_figure(self, section: Section, figure: Figure) -> Figure:
        named = [b for b in self.gold if figure.title == b or figure.title.startswith((f"{b},", f"{b}:"))]
        gold = "" if section.key in _NO_RESULTS else self.gold_words(named, section.key in _WHOLE)
        lines = [self.read_words(section), *([f"gold: {gold}"] if gold else [])]
        caption = f"{figure.caption.rstrip('. ')}. {'. '.join(x[0].upper() + x[1:] for x in lines)}."
        return replace(figure, caption=caption, svg=with_footer(figure.svg, lines))


def with_footer(svg: str, lines: Sequence[str]) -> str:
    """A drawing with lines of small text below it; it grows by their height."""
    size = re.match(r'<svg [^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>', svg)
    if size is None:
        return svg
    width, height = float(size[1]), float(size[2])
    texts = [part for line in lines for part in wrap(line, max(20, int((width - 8) / (0.56 * _SIZE))))]
    grown = height + _LINE * len(texts) + 4
    head = re.sub(r'height="[\d.]+pt"', f'height="{grown:g}pt"', size[0])
    head = head.replace(size[0][size[0].index("viewBox"):].split('"')[1], f"0 0 {size[1]} {grown:g}")
    footer = "".join(f'<text x="4" y="{height + _LINE * (n + 1):g}" style="font-size: {_SIZE}px; font-family: '
                     f"'DejaVu Sans'; fill: #2b313a\">{escape(text, quote=False)}</text>\n"
                     for n, text in enumerate(texts))
    body = svg[size.end():]
    end = body.rindex("</svg>")
    return f"{head}{body[:end]}{footer}{body[end:]}"
