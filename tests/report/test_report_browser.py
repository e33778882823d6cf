"""The report in a real browser: it loads nothing, breaks nowhere, fits a phone, and its folded parts open from the
keyboard."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from canopy.report.build import build_report
from canopy.report.cases.page import CasePage
from canopy.report.results import Settings
from tests.report.made_up_answers import MODEL, PLAIN, make_answered
from tests.report.test_report import CURVE, TRAINING, _results

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
def test_the_report_reads_well_anywhere(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    answers = [make_answered(tmp_path / a, f"{a} with a rather long name", adapter=a, readers=(PLAIN, MODEL),
                             questions=5, corpus_scopes=("unified",))[0] for a in ("hotpotqa", "lvbench")]
    results = [_results(f"{name} with a rather long name", questions=8) for name in ("one", "two")]
    files = build_report(results, TRAINING, CURVE, Settings(100, 13, 0.95), {}, answers, [], {},
                         CasePage({}, 2, 30.0, {})).files
    for name in ("report.html", "cases.html"):
        (tmp_path / name).write_text(files[name], encoding="utf-8")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM,
                                       args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        wrong: list[str] = []
        for width in (1280, 1200, 400, 360):
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
            page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
            for name in ("report.html", "cases.html"):
                page.goto((tmp_path / name).as_uri())
                assert page.evaluate("document.documentElement.scrollWidth - "
                                     "document.documentElement.clientWidth") == 0, f"{name} is wider than {width}"
            page.goto((tmp_path / "report.html").as_uri())
            overfull = page.evaluate("[...document.querySelectorAll('.tile, .tile *, .tag, figcaption')].filter(e => "
                                     "e.clientWidth && e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)")
            assert page.locator(".tile").count() >= 8 and overfull == [], f"cards run over at {width}"
            edges = page.evaluate(
                "[...document.querySelectorAll('.tile')].filter(t => [...t.querySelectorAll('*')].some(e => "
                "e.getBoundingClientRect().right > t.getBoundingClientRect().right + 1)).length")
            assert edges == 0
            folded = page.locator("details").first
            assert folded.get_attribute("open") is None
            folded.locator("summary").focus()
            page.keyboard.press("Enter")
            assert folded.get_attribute("open") is not None
            assert page.locator("nav a").first.get_attribute("href") == "#summary"
        assert wrong == []
        browser.close()
