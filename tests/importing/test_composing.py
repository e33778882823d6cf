"""Blocks to items: bounded, titled by their headings, and no word lost."""

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.importing.blocks import Document, Heading, Paragraph, TableBlock, clean
from canopy.importing.composing import MAX_CHARS, MAX_ROWS, compose
from canopy.importing.cutting import cut_text


def items(*blocks, title="", name="the file"):
    return list(compose(Document(list(blocks), title=title), name))


def test_headings_become_title_and_section():
    records = items(
        Heading(1, "Handbook"),
        Paragraph("Welcome."),
        Heading(2, "Leave"),
        Heading(3, "Parental"),
        Paragraph("Six months."),
        Heading(2, "Pay"),
        Paragraph("Monthly."),
    )
    assert [(m["title"], m["section"], m["text"]) for m in records] == [
        ("Handbook", "", "Welcome."),
        ("Handbook: Leave > Parental", "Leave > Parental", "Six months."),
        ("Handbook: Pay", "Pay", "Monthly."),
    ]


def test_without_a_title_the_files_name_stands_in():
    assert items(Paragraph("Words."))[0]["title"] == "the file"
    assert items(Paragraph("Words."), title="Its own")[0]["title"] == "Its own"


def test_a_heading_with_nothing_below_it_is_an_item():
    records = items(
        Heading(1, "Agenda"),
        Heading(2, "Opening"),
        Heading(2, "Budget"),
        Paragraph("Three points."),
        Heading(2, "Any other business"),
    )
    assert [m["text"] for m in records] == ["Opening", "Three points.", "Any other business"]
    assert items(Heading(1, "Only this"))[0]["text"] == "Only this"


def test_paragraphs_of_one_heading_share_items_of_about_equal_length():
    records = items(*(Paragraph(f"Paragraph {n} " + "word " * 60) for n in range(10)))
    sizes = [len(m["text"]) for m in records]
    assert max(sizes) <= MAX_CHARS and len(sizes) == 2 and min(sizes) > max(sizes) / 2


def test_a_long_table_comes_in_parts_that_say_which():
    records = items(TableBlock(("n",), ((str(n),) for n in range(MAX_ROWS + 3)), "Numbers"))
    assert [(len(m["rows"]), m["section"]) for m in records] == [
        (MAX_ROWS, f"Numbers > rows 1-{MAX_ROWS}"),
        (3, f"Numbers > rows {MAX_ROWS + 1}-{MAX_ROWS + 3}"),
    ]
    assert all(m["header"] == ["n"] for m in records)


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("ab .!?\n\u00a0é漢"), max_size=400), st.integers(5, 60))
def test_cut_texts_are_bounded_and_keep_every_character(text, limit):
    parts = cut_text(text, limit)
    assert all(0 < len(p) <= limit for p in parts)
    assert re.sub(r"\s", "", "".join(parts)) == re.sub(r"\s", "", text)


BLOCK = st.one_of(
    st.builds(Heading, st.integers(1, 4), st.text(st.sampled_from("ABC "), max_size=5)),
    st.builds(Paragraph, st.text(st.sampled_from("de. "), max_size=9)),
    st.builds(lambda c: TableBlock(("f",), [(c,)]), st.text("g", min_size=1, max_size=3)))


@settings(max_examples=100, deadline=None)
@given(st.lists(BLOCK, max_size=12))
def test_no_word_is_lost(blocks):
    words = " ".join(
        " ".join([m["title"], m["section"], m.get("text", ""), *(c for r in m.get("rows", []) for c in r)])
        for m in items(*blocks)
    )
    for b in blocks:
        for word in (b.text.split() if not isinstance(b, TableBlock) else b.rows[0]):
            assert word in words


def test_cleaning_takes_what_does_not_show():
    assert clean("a\u00adb\u200bc\x00d\r\ne\x0cf ") == "abcd\ne\n\nf"


def test_cutting_is_by_sentences():
    parts = cut_text(" ".join(f"This is sentence number {n}." for n in range(200)), MAX_CHARS)
    assert (
        len(parts) > 1
        and all(p.startswith("This") and p.endswith(".") for p in parts)
        and all(a != b for a, b in pairwise(parts))
    )
