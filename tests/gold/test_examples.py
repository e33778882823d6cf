"""The page of examples.

What is gold is marked, what is long is cut with a note, and nothing of the data becomes part of the page.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from canopy.gold.examples import render_examples
from canopy.gold.fragments import map_annotations
from canopy.gold.marking import clock_span, window
from canopy.items import Annotation, Cue, Item, Question

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = '</style></article><script>alert("x")</script> {{ benchmark }} & \' onload="1" \u202egnp.exe <img src=http://x.invalid/a>'
TEXT = "One mill stood here. Its wheel was made of oak. Nobody remembers the miller. The river took it in 1912."
ITEMS = [
    Item("b/t", "b", "text", "The <mill>", "Old & new", text=TEXT),
    Item("b/r", "b", "table", "Mills", header=("Name", "Built"),
         rows=tuple((f"Mill {n}", str(1800 + n)) for n in range(60))),
    Item("b/v", "b", "video", "A film", duration=400.0, caption="How flour is made",
         cues=tuple(Cue(30.0 * n, 30.0 * n + 5, f"Line {n}.") for n in range(13)),
         screen=(Cue(61.0, 63.0, "MILL ROAD"),)),
    Item("b/i", "b", "image", "A picture", media="mill.png", caption="The mill at dusk", words="OPEN"),
    Item("b/h", "b", "text", HOSTILE, text=f"{HOSTILE}. More of it."),
    Item("b/l", "b", "text", "Long", text="Word. " * 300 + "x" * 9_000 + ". The end is here."),
]
QUESTIONS = [
    Question("b/q1", "b", "What was the wheel made of?", ("oak",), "single", "dev"),
    Question("b/q2", "b", "Which mill came first?", ("Mill 0", "the first")),
    Question("b/q3", "b", "When does line 2 come?", ()), Question("b/q4", "b", HOSTILE, (HOSTILE,), HOSTILE),
    Question("b/q5", "b", "And the end?", ("here",)),
    Question("b/none", "b", "Without gold?", ("x",)),
]
SAID = [
    Annotation("b/q1", "b/t", "chars", ((31, 47),)), Annotation("b/q1", "b/i", "item"),
    Annotation("b/q2", "b/r", "rows", ((0, 1), (40, 42)), 0), Annotation("b/q2", "b/t", "item", (), 1, pseudo=True),
    Annotation("b/q3", "b/v", "seconds", ((61.0, 61.0), (95.0, 130.0))), Annotation("b/q4", "b/h", "chars", ((0, 20),)),
    Annotation("b/q5", "b/l", "chars", ((10_810, 10_825),)),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    from PIL import Image

    media = tmp_path_factory.mktemp("media")
    Image.new("RGB", (900, 300), "steelblue").save(media / "mill.png")
    return render(media)


def render(media: Path | None = None, most: int = 20) -> str:
    items = {i.id: i for i in ITEMS}
    rows, _ = map_annotations(SAID, items, 30.0)
    return render_examples("made <up>", QUESTIONS, SAID, rows, items, segment_seconds=30.0, seed=13, media=(media,)
                           if media else (), most=most)


def example(page: str, question: str) -> str:
    return next(part for part in page.split("<section ")[1:] if question in part)


class Tags(HTMLParser):
    """Collects start tags, and checks that every element that is opened is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_nothing_of_the_data_becomes_part_of_the_page(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    assert tags.open == [] and "script" not in {t for t, _ in tags.seen} and "\u202e" not in page
    assert not [a for _, attrs in tags.seen for a in attrs if a.startswith("on")]
    assert {re.match(r"#e\d+$|data:", u)[0][:1] for _, a in tags.seen for u in (a.get("src"), a.get("href"))
            if u} == {"#", "d"}
    assert page.count("&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; {{ benchmark }}") >= 4


def test_sentences_and_annotated_characters_are_marked(page: str) -> None:
    told = example(page, "What was the wheel made of?")
    assert '<span class="fragment gold">Its wheel <mark>was made of oak.</mark> </span>' in told
    assert (
        told.count("fragment gold") == 1
        and "1 of 4 sentences gold" in told
        and ">oak</li>" in told
        and "single · dev" in told
    )
    assert "2 items, evidence together" in told and "The &lt;mill&gt; — Old &amp; new" in told
    assert 'src="data:image/jpeg;base64,' in told and 'width="360" height="120"' in told and "OPEN" in told


def test_alternatives_and_pseudo_gold_are_told_apart(page: str) -> None:
    told = example(page, "Which mill came first?")
    assert "Alternative 1 of 2" in told and "Alternative 2 of 2" in told
    first, second = told.split("Alternative 2 of 2")
    assert "pseudo gold" in second and "pseudo gold" not in first
    assert re.findall(r'<tr class=gold><td class="n">(\d+)</td>', first) == ["0", "40", "41"]
    assert (
        "[35 rows left out]" in first
        and "[16 rows left out]" in first
        and "Mill 43" in first
        and "Mill 44" not in first
    )


def test_a_videos_segments_times_and_words(page: str) -> None:
    told = example(page, "When does line 2 come?")
    assert told.count('"segment gold"') == 3 and told.count('"segment"') == 10 and told.count('"time"') == 2
    assert (
        "annotated: 1:01, 1:35–2:10" in told and "MILL ROAD" in told and "none given" in told and "0:00 to 6:40" in told
    )


def test_times_of_any_length() -> None:
    assert [clock_span(*x) for x in ((0.0, 1.5), (0.21, 0.95), (61.0, 61.0), (3599.0, 3661.0))] == [
        "0:00–0:01",
        "0:00.2–0:00.9",
        "1:01",
        "59:59–1:01:01",
    ]


def test_a_section_that_the_title_says_is_not_said_again() -> None:
    item = Item("b/i", "b", "text", title="Guide: Piers", section="Piers", text="One. Two.")
    row = {"question_id": "b/q", "item_id": "b/i", "group": 0, "fragments": [0], "count": 2, "coverage": "located",
           "modality": "text"}
    for section, heading in (("Piers", "Guide: Piers</span>"), ("Depths", "Guide: Piers — Depths</span>")):
        told = render_examples("b", [Question("b/q", "b", "How many?")], [], [row],
                               {"b/i": replace(item, section=section)}, segment_seconds=30.0, seed=1)
        assert heading in told


def test_long_words_are_cut_but_never_in_silence(page: str) -> None:
    told = example(page, "And the end?")
    assert (
        "characters left out]" in told
        and "sentences left out]" in told
        and "x" * 1_300 not in told
        and "The end" in told
    )


def test_the_same_input_gives_the_same_bytes_and_fewer_are_the_first_of_more() -> None:
    one, two = (re.findall(r'class="number">\d+</span> <span dir="auto">([^<]*)', render(most=n)) for n in (2, 20))
    assert render() == render() and two[:2] == one and len(two) == 5 and "its file is not there" in render()
    nothing = render_examples("b", QUESTIONS, [], [], {}, segment_seconds=30.0, seed=1)
    assert "nothing to show" in nothing


def test_what_is_shown_of_a_long_item() -> None:
    assert (
        window(40, [7], 40) == [(0, 40)]
        and window(100, [50], 40) == [(0, 2), (48, 53)]
        and window(100, [1, 99], 40) == [(0, 4), (97, 100)]
    )


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
def test_a_person_sees_the_gold(page: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    (tmp_path / "examples.html").write_text(page, "utf-8")
    address = (tmp_path / "examples.html").as_uri()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM,
                                       args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        colours = []
        for scheme in ("light", "dark"):
            shown = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
            wrong: list[str] = []
            shown.on("console", lambda m, wrong=wrong: wrong.append(m.text))
            shown.on("request", lambda r, wrong=wrong: wrong.append(r.url) if not r.url.startswith((address, "data:"))
                     else None)
            shown.goto(address)
            assert (
                shown.locator("section.example").count() == 5
                and shown.evaluate("document.documentElement.scrollWidth") == 390
            )
            assert shown.locator("img").evaluate("i => i.naturalWidth") == 360
            gold = shown.locator(".fragment.gold").nth(1)
            colours.append(gold.evaluate("e => getComputedStyle(e).backgroundColor + getComputedStyle(e).color"))
            assert wrong == []
        assert colours[0] != colours[1]
        browser.close()
