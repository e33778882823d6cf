"""The data docs of each validated stage: Great Expectations' own pages, made to be read from a folder without a network.

Great Expectations' pages take their style sheets and scripts from a dozen hosts. Here they are stripped of those, given one style sheet
of ours, and an index that lists the rules with their outcome.
"""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from canopy.atomic import replace_directory
from canopy.validation.outcomes import CheckOutcome
from canopy.validation.rules import Rule

_REMOTE = re.compile(r"<link\b[^>]*href=\"https?://[^>]*>|<script\b.*?</script>|<footer>.*?</footer>|url\('https?://[^']*'\)", re.S)
_LOGO = re.compile(r'src="https?://[^"]*logo[^"]*"')
_STATIC = re.compile(r'"(?:\.\./)*static/')  # the way there is one folder short on pages of validation results
_KEPT = {"favicon.ico", "logo-long.png"}

STYLE = """\
*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;margin:0;color:#222;background:#fff}a{color:#0b5cad}
.container-fluid{padding:0 1.5rem 2rem}.row{display:flex;flex-wrap:wrap;gap:0 1.5rem}nav.navbar{padding:.5rem 1.5rem;border-bottom:1px solid #ddd}
nav.navbar .d-flex{display:flex;align-items:center;gap:1.5rem}.breadcrumb,.nav{list-style:none;display:flex;gap:.6rem;margin:0;padding:0}
.ge-navigation-sidebar-content{flex-direction:column}.col-md-2{flex:0 0 13rem}.col-md-10{flex:1 1 40rem;min-width:0}.col-12{flex:0 0 100%}
.sticky .card.mb-3,.btn-group{display:none}.alert{background:#f2f4f6;border-radius:6px;padding:.6rem 1rem;margin:1rem 0 .5rem}
h4,h5,h6,p.lead{margin:.3rem 0}.card{border:1px solid #ddd;border-radius:6px;margin:.5rem 0;padding:.5rem .8rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0}td,th{border:1px solid #ddd;padding:.35rem .6rem;text-align:left;vertical-align:top}
th{background:#f7f8f9}td table{width:auto}.show-scrollbars{overflow:auto;max-height:60vh}.badge{background:#e6e9ec;border-radius:4px;padding:0 .35rem}
.collapse{display:none}.collapse:target{display:block}.text-danger{color:#b3261e}.text-success{color:#1b7f3b}code{font-size:.85em;word-break:break-all}
i.fa-times::before{content:"\\2717";font-style:normal}i.fa-check-circle::before{content:"\\2713";font-style:normal}
i.fa-exclamation-triangle::before{content:"!";font-style:normal}i.fas{font-style:normal;font-weight:bold}
@media (prefers-color-scheme:dark){body{color:#eee;background:#16181a}a{color:#7db7f0}th,.alert,.badge{background:#24282c}td,th,.card{border-color:#444}}
"""


def docs_folder(workspace: Path, stage: str, benchmark: str | None = None) -> Path:
    """Where a stage's data docs lie: outside every output, since they hold times."""
    return workspace / ".canopy" / "data_docs" / (f"{stage}@{benchmark}" if benchmark else stage)


def docs_page(workspace: Path, stage: str, benchmark: str | None = None) -> Path:
    """The index of a stage's data docs."""
    return docs_folder(workspace, stage, benchmark) / "index.html"


def write_docs(workspace: Path, stage: str, benchmark: str | None, suite: str, rules: tuple[Rule, ...], judged: Mapping[str, pa.Table],
               source: str = "") -> list[CheckOutcome]:
    """Run the generated suites and replace the stage's data docs with theirs, in one step.

    Returns
    -------
    list of dict
        What Great Expectations says of each rule.
    """
    from orchestration.data.expectations import run_suites

    with replace_directory(docs_folder(workspace, stage, benchmark)) as site:
        outcomes = run_suites(suite, rules, judged, site)
        for page in sorted(site.rglob("*.html")):
            page.write_text(localise(page.read_text("utf-8"), "../" * (len(page.relative_to(site).parts) - 1)), "utf-8")
        for extra in ("fonts", "styles"):
            shutil.rmtree(site / "static" / extra, ignore_errors=True)
        for image in (site / "static" / "images").glob("*"):
            if image.name not in _KEPT:
                image.unlink()
        (site / "canopy.css").write_text(STYLE, "utf-8")
        heading = f"{stage}@{benchmark}" if benchmark else stage
        (site / "index.html").write_text(_index(heading, suite, rules, outcomes, _results(site, suite, rules), source), "utf-8")
    return outcomes


def localise(page: str, up: str) -> str:
    """A page without anything that is fetched from elsewhere, with our style sheet; ``up`` leads from it to the site's folder."""
    page = _STATIC.sub(f'"{up}static/', _LOGO.sub('src="static/images/logo-long.png"', _REMOTE.sub("", page)))
    return page.replace("</head>", f'<link rel="stylesheet" href="{up}canopy.css"></head>', 1)


def _results(site: Path, suite: str, rules: tuple[Rule, ...]) -> dict[str, str]:
    """The page of each judged table's validation result, relative to the site."""
    return {n: str(next((site / "validations" / f"{suite}_{n}").rglob("*.html")).relative_to(site)) for n in dict.fromkeys(r.table for r in rules)}


def _index(heading: str, suite: str, rules: tuple[Rule, ...], outcomes: Sequence[CheckOutcome], pages: Mapping[str, str], source: str) -> str:
    lines, rows = [], []
    for rule, told in zip(rules, outcomes, strict=True):
        mark = ("success", "holds") if told["passed"] else ("danger", "fails") if rule.blocking else ("danger", "warns")
        lines.append(f'<tr><td class="text-{mark[0]}">{mark[1]}</td><td>{html.escape(rule.name)}</td><td>{html.escape(rule.says)}</td>'
                     f'<td>{"stops the run" if rule.blocking else "is told"}</td><td>{told["failing"]}</td>'
                     f'<td><a href="{html.escape(pages[rule.table])}">{html.escape(rule.table.replace("_", " "))}</a></td></tr>')
        rows.extend(f"<h2>{html.escape(rule.name)}: the first {len(told['examples'])} of {told['failing']} failing rows</h2>"
                    + _table(told["examples"]) for _ in told["examples"][:1])
    read = f" of what it reads, {html.escape(source)}" if source else ""
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(heading)}: data docs</title>'
            f'<link rel="stylesheet" href="canopy.css"></head><body><div class="container-fluid"><h1>{html.escape(heading)}</h1>'
            f'<p>Suite <b>{html.escape(suite)}</b>{read}, checked with Great Expectations. The last column leads to its own page of each table.</p>'
            '<table><thead><tr><th>Outcome</th><th>Rule</th><th>It says</th><th>Broken, it</th><th>Failing rows</th><th>Table</th></tr></thead>'
            f'<tbody>{"".join(lines)}</tbody></table>{"".join(rows)}</div></body></html>\n')


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th>{html.escape(c.replace('_', ' '))}</th>" for c in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(str(v))}</td>' for v in r.values())}</tr>" for r in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
