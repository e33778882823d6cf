"""Parts of the report: each has its HTML and its Markdown, made of the same tables, figures and sentences."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from canopy.report.drawing import inline
from canopy.report.paper import NOTE, SHORT_NOTE, claims_table
from canopy.report.render import to_html, to_markdown
from canopy.report.tables import Table


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure: its file name without ending, a title, what it shows, and its SVG."""

    name: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page, and the tables and figures that are files of their own. ``places``: where the paper treats the same."""

    key: str
    title: str
    html: str
    markdown: str
    places: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Drawn, ...] = field(default=())

    def as_html(self) -> str:
        """The part with its heading."""
        tags = "".join(f'<span class="place">{html.escape(p)}</span>' for p in self.places if p)
        place = f' <span class="places"><span class="unseen">the paper\'s </span>{tags}</span>' if tags else ""
        return f'<section aria-labelledby="{self.key}"><h2 id="{self.key}">{html.escape(self.title)}{place}</h2>\n{self.html}</section>'

    def as_markdown(self) -> str:
        """The part with its heading."""
        place = f" (the paper's {', '.join(filter(None, self.places))})" if any(self.places) else ""
        return f"## {self.title}{place}\n\n{self.markdown}"


def paragraphs(*texts: str) -> tuple[str, str]:
    """Sentences as HTML and as Markdown."""
    return "".join(f"<p>{html.escape(t)}</p>" for t in texts), "\n\n".join(texts) + "\n"


def bullets(texts: Sequence[str]) -> tuple[str, str]:
    """A list."""
    return "<ul>" + "".join(f"<li>{html.escape(t)}</li>" for t in texts) + "</ul>", "".join(f"- {t}\n" for t in texts)


def terms(pairs: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Terms and what they mean."""
    return ('<dl class="facts">' + "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in pairs) + "</dl>",
            "".join(f"- **{k}**: {v}\n" for k, v in pairs))


def facts(values: Mapping[str, Any]) -> tuple[str, str]:
    """A nested mapping's leaves, as they are."""
    flat = {k: v for key, value in values.items() for k, v in (value.items() if isinstance(value, dict) else [(key, value)])}
    shown = {k.replace("_", " "): f"{v:.6g}" if isinstance(v, float) else str(v) for k, v in flat.items()}
    return terms(list(shown.items()))[0], "\n".join(f"- {k}: {v}" for k, v in shown.items()) + "\n"


def figures_html(drawn: Sequence[Drawn]) -> str:
    """Figures side by side where there is room."""
    if not drawn:
        return ""
    return '<div class="figures">' + "".join(
        f'<figure role="img" aria-label="{html.escape(f"{d.title} {d.caption}".strip())}"><figcaption><b>{html.escape(d.title)}</b> {html.escape(d.caption)}</figcaption>'
        f"{inline(d.svg)}</figure>" for d in drawn) + "</div>"


def figures_markdown(drawn: Sequence[Drawn]) -> str:
    """Links to the figures' files."""
    return "".join(f"\n![{d.title} {d.caption}](figures/{d.name}.svg)\n" for d in drawn)


def cite(*places: str) -> tuple[str, str]:
    """What the paper says in words at the given places, in a box of its own; empty where it says nothing."""
    table = claims_table(*places)
    if not table.rows:
        return "", ""
    return cite_box("The paper's figures, not this run's", [table], SHORT_NOTE)


def cite_box(title: str, tables: Sequence[Table], note: str = NOTE) -> tuple[str, str]:
    """The paper's figures in their box: no part of it can be taken for ours."""
    page = "".join(to_html(t) for t in tables)
    text = "".join(f">\n{''.join(f'> {line}'.rstrip() + chr(10) for line in to_markdown(t).splitlines())}" for t in tables)
    return (f'<aside class="box cite"><h3>{html.escape(title)}</h3>{page}<p class="note">{html.escape(note)}</p></aside>', f"\n> **{title}**\n{text}>\n> {note}\n")


def section(key: str, title: str, text: Sequence[str] = (), tables: Sequence[Table] = (), drawn: Sequence[Drawn] = (), *, places: tuple[str, ...] = (),
            folded: Sequence[Table] = (), headed: bool | None = None) -> Section:
    """A part made of sentences, tables, figures, and what the paper says at the same places.

    Parameters
    ----------
    folded : sequence of Table
        Tables that are folded away under their titles on the page.
    headed : bool
        Whether tables stand under their titles; unless said, where there is more than one.
    """
    page, plain = paragraphs(*text) if text else ("", "")
    titled = len(tables) + len(folded) > 1 if headed is None else headed
    for t in tables:
        page += (f"<h3>{html.escape(t.title)}</h3>" if titled else "") + to_html(t)
        plain += (f"\n### {t.title}\n" if titled else "") + "\n" + to_markdown(t)
    page, plain = page + figures_html(drawn), plain + figures_markdown(drawn)
    for t in folded:
        page += f"<details><summary>{html.escape(t.title)}</summary>{to_html(t)}</details>"
        plain += f"\n### {t.title}\n\n{to_markdown(t)}"
    box = cite(*places) if places else ("", "")
    return Section(key, title, page + box[0], plain + box[1], places, (*tables, *folded), tuple(drawn))
