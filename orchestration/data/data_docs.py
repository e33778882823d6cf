"""The data docs of each checked stage: Great Expectations' own pages, readable from a folder without a network.

Great Expectations' pages take their style sheets and scripts from a dozen hosts. Here they are stripped of those, and
get one style sheet of ours and an index that lists the rules with their outcome.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from canopy.atomic import replace_directory
from canopy.pages import render_page
from canopy.validation.outcomes import CheckOutcome
from canopy.validation.rules import Rule

_REMOTE = re.compile(r"<link\b[^>]*href=\"https?://[^>]*>|<script\b.*?</script>|<footer>.*?</footer>"
                     r"|url\('https?://[^']*'\)", re.S)
_LOGO = re.compile(r'src="https?://[^"]*logo[^"]*"')
_STATIC = re.compile(r'"(?:\.\./)*static/')  # the way there is one folder short on pages of validation results
_IMAGES = {"favicon.ico", "logo-long.png"}  # the others are decoration
_FOLDER = Path(__file__).parent


def docs_folder(workspace: Path, stage: str, benchmark: str | None = None) -> Path:
    """Where a stage's data docs lie: outside every output, since they hold times."""
    return workspace / ".canopy" / "data_docs" / _heading(stage, benchmark)


def docs_page(workspace: Path, stage: str, benchmark: str | None = None) -> Path:
    """The index of a stage's data docs."""
    return docs_folder(workspace, stage, benchmark) / "index.html"


def write_docs(workspace: Path, stage: str, benchmark: str | None, suite: str, rules: tuple[Rule, ...],
               tables: Mapping[str, pa.Table], source: str = "") -> list[CheckOutcome]:
    """Run the generated suites and replace the stage's data docs with theirs, in one step.

    Parameters
    ----------
    tables : mapping
        The tables that the rules check (``canopy.validation.checker.tabulate``).
    source : str
        The output that they were read from; empty for what the stage is about to write.

    Returns
    -------
    list of CheckOutcome
        What Great Expectations says of each rule.
    """
    from orchestration.data.expectations import run_suites

    with replace_directory(docs_folder(workspace, stage, benchmark)) as site:
        outcomes = run_suites(suite, rules, tables, site)
        for page in sorted(site.rglob("*.html")):
            up = "../" * (len(page.relative_to(site).parts) - 1)
            page.write_text(localise(page.read_text("utf-8"), up), "utf-8")
        for folder in ("fonts", "styles"):
            shutil.rmtree(site / "static" / folder, ignore_errors=True)
        for image in (site / "static" / "images").glob("*"):
            if image.name not in _IMAGES:
                image.unlink()
        shutil.copyfile(_FOLDER / "data_docs.css", site / "canopy.css")
        index = render_page(
            "data_docs.html", _FOLDER, heading=_heading(stage, benchmark), suite=suite, source=source,
            pages=_results(site, suite, rules), rows=list(zip(rules, outcomes, strict=True)))
        (site / "index.html").write_text(index, "utf-8")
    return outcomes


def localise(page: str, up: str) -> str:
    """A page without anything that is fetched from elsewhere, with our style sheet.

    Parameters
    ----------
    up : str
        The relative path from the page to the site's folder: ``../`` for each level.
    """
    page = _STATIC.sub(f'"{up}static/', _LOGO.sub('src="static/images/logo-long.png"', _REMOTE.sub("", page)))
    return page.replace("</head>", f'<link rel="stylesheet" href="{up}canopy.css"></head>', 1)


def _heading(stage: str, benchmark: str | None) -> str:
    return f"{stage}@{benchmark}" if benchmark else stage


def _results(site: Path, suite: str, rules: Sequence[Rule]) -> dict[str, str]:
    """The page of each checked table's validation result, relative to the site."""
    folders = {r.table: site / "validations" / f"{suite}_{r.table}" for r in rules}
    return {table: str(next(folder.rglob("*.html")).relative_to(site)) for table, folder in folders.items()}
