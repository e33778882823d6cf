"""Plain text and Markdown, and the encodings they come in."""

import os

import pytest

from canopy.importing.blocks import Heading, Paragraph, TableBlock
from canopy.importing.decoding import find_encoding, read_text
from canopy.importing.text import read_markdown, read_plain
from canopy.ingest.sink import Unusable

MARKDOWN = """---
title: "The harbour"
tags: [a]
---
# Ilmen *harbour*

First line
of a paragraph with a [link](x.html) and `code`.

- one
- two

| Year | Ships |
|---|---|
| 1911 | 204 |

![A **crane** at work](pics/crane%201.png)

```
def f():
    pass
```

<div>Shown <script>not()</script></div>
"""


def markdown(tmp_path, text):
    path = tmp_path / "a.md"
    path.write_text(text)
    document = read_markdown(path)
    return document, list(document.blocks)


def test_markdown_without_its_markup(tmp_path):
    document, blocks = markdown(tmp_path, MARKDOWN)
    assert document.title == "The harbour" and document.captions == {"pics/crane%201.png": "A crane at work"}
    assert [b.text for b in blocks if isinstance(b, Paragraph) and b.text.strip()] == [
        "First line of a paragraph with a link and code.", "one", "two", "def f():\n    pass", "Shown"]
    assert [b.text for b in blocks if isinstance(b, Heading)] == ["Ilmen harbour"]
    assert [(b.header, b.rows) for b in blocks if isinstance(b, TableBlock)] == [(("Year", "Ships"), [("1911", "204")])]


def test_html_in_markdown_is_read(tmp_path):
    _, blocks = markdown(
        tmp_path, "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>\n\ntext<br>more <b>bold</b>\n"
    )
    assert [(b.header, b.rows) for b in blocks if isinstance(b, TableBlock)] == [(("a",), [("1",)])]
    assert [b.text for b in blocks if isinstance(b, Paragraph)] == ["text\nmore bold"]


@pytest.mark.parametrize("text", ["[" * 20_000, "> " * 5_000 + "x", "*" * 9_999 + "x", "- " * 3_000 + "x", "`" * 9_999])
def test_markdown_nested_without_end(tmp_path, text):
    _, blocks = markdown(tmp_path, text)
    assert isinstance(blocks, list)


def test_plain_paragraphs_keep_their_lines(tmp_path):
    (tmp_path / "a.txt").write_text("One\ntwo\n \nThree\x0cFour")
    assert [b.text for b in read_plain(tmp_path / "a.txt").blocks] == ["One\ntwo", "Three", "Four"]


FRENCH = "La façade de l'hôtel est très élégante. Où est-il déjà allé? "


@pytest.mark.parametrize(
    ("text", "written", "encoding"),
    [
        ("Grüße", "utf-8", "utf-8"),
        ("Grüße", "utf-8-sig", "utf-8-sig"),
        ("Grüße", "utf-16", "utf-16"),
        ("plain words here", "utf-16-le", "utf_16_le"),
        (FRENCH, "cp1252", "cp1252"),
        ("Príce “quoted” 5 €", "cp1252", "cp1252"),
        ("Привет, как дела? Это короткий текст.", "cp1251", "cp1251"),
        ("これは日本語のテキストです。", "shift_jis", "cp932"),
        ("Wszyscy ludzie rodzą się wolni i równi, było ich wielu pod względem swych praw. " * 2, "cp1250", "cp1250"),
    ],
)
def test_encodings(tmp_path, text, written, encoding):
    path, notes = tmp_path / "a.txt", []
    path.write_bytes(text.encode(written))
    assert find_encoding(path).name == encoding and read_text(path, notes) == text
    assert bool(notes) == (encoding not in ("utf-8", "utf-8-sig", "utf-16"))


def test_a_sign_late_in_a_long_file_decides(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"plain line\n" * 300_000 + FRENCH.encode("cp1252") * 3)
    assert find_encoding(path).name == "cp1252"


def test_damaged_utf_8_is_not_taken_for_another_encoding(tmp_path):
    path, notes = tmp_path / "a.txt", []
    path.write_bytes("Grüße, Ölstraße, Öfen, übrig, später, für, müde, schön".encode() + b" \xff und aus \xc3")
    assert read_text(path, notes).endswith("schön \ufffd und aus \ufffd") and "damaged" in notes[0]


@pytest.mark.parametrize(
    "data", [b"MZ\x90\x00\x03\x00\x00\x00" + bytes(range(256)) * 40, os.urandom(5000) + b"\x00\xff\xfe\xfd"]
)
def test_binary_files_are_no_text(tmp_path, data):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(Unusable, match=r"no text|looks like"):
        read_text(path, [])


def test_markdown_lists_keep_their_numbers_and_nesting(tmp_path):
    (tmp_path / "a.md").write_text("4. Open.\n5. Wait.\n\nA pause.\n\n7. Close.\n   - gently\n\n- Plain\n")
    assert [b.text for b in read_markdown(tmp_path / "a.md").blocks] == [
        "4. Open.",
        "5. Wait.",
        "A pause.",
        "7. Close.",
        "- gently",
        "Plain",
    ]


def test_front_matter_in_toml(tmp_path):
    (tmp_path / "a.md").write_text('+++\ntitle = "Opening hours"\ndraft = false\n+++\n\nAt nine.\n')
    document = read_markdown(tmp_path / "a.md")
    assert document.title == "Opening hours" and [b.text for b in document.blocks] == ["At nine."]


def test_html_inside_a_line_of_markdown(tmp_path):
    (tmp_path / "a.md").write_text("It holds 10<sup>6</sup> cells & a < b.\n\n| n |\n|-|\n| m<sup>2</sup> |\n")
    first, table = read_markdown(tmp_path / "a.md").blocks
    assert first.text == "It holds 10^6 cells & a < b." and table.rows == [("m^2",)]


@pytest.mark.parametrize(("front", "title"), [
    ("+++\ntitle = 'Leave rules'\n[params]\nweight = 3\n+++\n", "Leave rules"),
    ("---\ntitle: >\n  Leave\n  rules\ntags: [a]\n---\n", "Leave rules"),
    ("---\r\nTitle: Leave rules\r\n...\r\n", "Leave rules"),
    ('{\n "title": "Leave rules",\n "draft": false\n}\n', "Leave rules"),
    ("<?xml version='1.0'?>\n<frontmatter>\n<title>Leave &amp; rules</title><date>2020</date>\n</frontmatter>\n",
     "Leave & rules"),
    ("---\ndraft: true\n---\n", ""), ("---\n---\n", ""), ("<?xml version='1.0'?>\n", "")])
def test_front_matter_gives_the_title_and_no_paragraph(tmp_path, front, title):
    document, blocks = markdown(tmp_path, front + "\nStaff get 25 days.\n")
    assert document.title == title and [b.text for b in blocks] == ["Staff get 25 days."] and not document.notes


@pytest.mark.parametrize("front", ["+++\ntitle = \"Leave rules\n+++\n", "---\ntitle: 'Leave rules\n---\n"])
def test_broken_front_matter_is_noted(tmp_path, front):
    document, blocks = markdown(tmp_path, front + "Staff get 25 days.\n")
    assert document.title == "Leave rules" and [b.text for b in blocks] == ["Staff get 25 days."]
    assert "front matter" in document.notes[0] and "line 1" in document.notes[0]


def test_a_text_between_two_rules_is_no_front_matter(tmp_path):
    _, blocks = markdown(tmp_path, "---\n\nWe open at nine.\n\n---\n\nWe close at five.\n")
    assert [b.text for b in blocks] == ["We open at nine.", "We close at five."]
    _, blocks = markdown(tmp_path, '{"a": 1} is JSON.\n')
    assert [b.text for b in blocks] == ['{"a": 1} is JSON.']


def test_a_footnote_stands_below_what_refers_to_it(tmp_path):
    _, blocks = markdown(tmp_path, (
        "Staff get 25 days.[^a] Ask first.\n\nOther words.[^b]\n\n```\nx[^a]\n\n[^a]: code\n```\n\n"
        "[^b]: Of the\n    second.\n[^a]: Half for half time.\n\n[^z]: Nobody asks.\n"))
    assert [b.text for b in blocks] == [
        "Staff get 25 days.[^a] Ask first.", "[^a]: Half for half time.", "Other words.[^b]", "[^b]: Of the second.",
        "x[^a]\n\n[^a]: code", "[^z]: Nobody asks."]


def test_struck_out_words_of_markdown_are_left_out_with_a_note(tmp_path):
    document, blocks = markdown(
        tmp_path, "The fee is ~~20~~ **15** euros. ~~Old~~ `~~code~~` x<s>y</s>z ~~a <b>b</b>~~\n")
    assert [b.text for b in blocks] == ["The fee is 15 euros. ~~code~~ xz"]
    assert document.notes == ["4 struck-out passages are left out"]


def paragraphs(tmp_path, text):
    (tmp_path / "a.md").write_text(text)
    return [getattr(b, "text", None) or b.rows for b in read_markdown(tmp_path / "a.md").blocks]


@pytest.mark.parametrize(("text", "words"), [
    ("1. a\n1. b\n", ["1. a", "2. b"]),
    ("2. a\n4. b\n    - c\n9) d\n", ["2. a", "4. b", "- c", "9. d"]),
    ("Term\n: What it means\n\nWhy?\n: So.\n", ["Term: What it means", "Why? So."]),
    ("> [!NOTE]\n> Ask first.\n", ["Note: Ask first."]),
    ("<details><summary>Who?</summary>\n\nThe **clerk**.\n\n</details>\n\nAfter.\n", ["Who?", "The clerk.", "After."]),
    ("It is $a_1 * b_1 * c$ and $5 or $6.\n", ["It is $a_1 * b_1 * c$ and $5 or $6."]),
    ("- [x] done\n- [ ] open\n", ["[x] done", "[ ] open"]),
])
def test_markdown_is_read_as_the_page_that_it_makes(tmp_path, text, words):
    assert paragraphs(tmp_path, text) == words


def test_front_matter_that_does_not_end_is_noted(tmp_path):
    document, blocks = markdown(tmp_path, "---\ntitle: Leave\ndate: 2020\n\nStaff get 25 days.\n")
    assert document.title == "Leave" and [b.text for b in blocks] == ["Staff get 25 days."]
    assert "front matter" in document.notes[0]
    _, blocks = markdown(tmp_path, "---\nNote well: this is text.\nMore of it.\n\nStaff get 25 days.\n")
    assert len(blocks) == 2
