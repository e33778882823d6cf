"""Sections as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.report.model import (
    Block,
    Bullets,
    Figures,
    Frame,
    Heading,
    Paragraph,
    Quotation,
    Section,
    Table,
    Tabular,
    Terms,
    Tiles,
)
from canopy.report.values import mark_of, notes_of, show_cell


def page_markdown(title: str, lead: str, sections: Sequence[Section]) -> str:
    """All sections under a title; ``lead`` may be empty."""
    parts = [f"# {title}", lead, *(section_markdown(s) for s in sections)]
    return "\n\n".join(p.rstrip("\n") for p in parts if p) + "\n"


def section_markdown(section: Section) -> str:
    """A section with its heading; empty if it has nothing that text can show."""
    body = "\n".join(b for b in map(_block, section.blocks) if b)
    places = f" (the paper's {', '.join(section.places)})" if section.places else ""
    return f"## {section.title}{places}\n\n{body}" if body else ""


def _block(block: Block) -> str:
    match block:
        case Paragraph(text, links):
            named = ", ".join(f"[{name}]({address})" for name, address in links)
            return f"{text}{named}{'.' if text and links else ''}\n"
        case Heading(text):
            return f"### {text}\n"
        case Bullets(texts):
            return "".join(f"- {t}\n" for t in texts)
        case Terms(pairs, title):
            # Folded terms are plain facts of a run.
            return f"### {title}\n\n" + "".join(f"- {k}: {v}\n" for k, v in pairs) if title else \
                "".join(f"- **{k}**: {v}\n" for k, v in pairs)
        case Tabular(table, headed, _):
            return (f"### {table.title}\n\n" if headed else "") + table_markdown(table)
        case Figures(figures):
            return "\n".join(f"![{f.title} {f.caption}](figures/{f.name}.svg)\n" for f in figures)
        case Quotation(title, tables, note):
            lines = [f"> **{title}**"]
            for table in tables:
                lines += [">", *(f"> {line}".rstrip() for line in table_markdown(table).splitlines())]
            return "\n".join([*lines, ">", f"> {note}"]) + "\n"
        case Frame(title, address):
            return f"### {title}\n\n[{address}]({address})\n"
        case Tiles():
            return ""


def table_markdown(table: Table) -> str:
    """The table as a pipe table, with its note."""
    lines = [", ".join(f"{k}: **{v}**" for k, v in table.about.items()), ""] if table.about else []
    lines.append("| " + " | ".join(c.label for c in table.columns) + " |")
    lines.append("|" + "|".join("---" if c.kind == "text" else "--:" for c in table.columns) + "|")
    for row in table.rows:
        cells = []
        for column in table.columns:
            parts = (mark_of(column, row), *show_cell(column, row))
            cells.append(_in_one_line(" ".join(p for p in parts if p)))
        lines.append("| " + " | ".join(cells) + " |")
    note = notes_of(table)
    return "\n".join(lines) + (f"\n\n{note}" if note else "") + "\n"


def _in_one_line(text: str) -> str:
    """Text that stays in its cell of a pipe table."""
    return " ".join(text.replace("|", "\\|").split())
