"""The explorer page in a real browser: a person asks, and sees what is kept and what is dropped."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
def test_a_person_asks_and_sees_what_is_kept(serve: Callable, bundle: Path) -> None:
    from playwright.sync_api import sync_playwright

    server = serve(bundle)
    with sync_playwright() as play:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = play.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page()
        wrong: list[str] = []
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith((server.url, "data:")) else None)
        page.goto(server.url + "/")
        page.fill("#question", "Where does the Nile end?")
        page.click("#go")
        page.wait_for_selector("#items article")
        assert "tokens kept" in page.inner_text("#tokens")
        assert page.locator("#items .fragment.kept").count() >= 1
        page.select_option("#rule", "lookahead")
        with page.expect_request("**/compress") as asked:
            page.click("#go")
        assert asked.value.post_data_json["rule"] == "lookahead"
        page.wait_for_selector("#go:not([disabled])")
        assert page.is_hidden("#error") and page.locator("#items article").count() >= 1
        page.fill("#question", " ")
        page.click("#go")
        page.wait_for_selector("#error:not([hidden])")
        # The refused question is the browser's only complaint; nothing is loaded from elsewhere.
        assert wrong == [] or all("400" in w for w in wrong)
        browser.close()
