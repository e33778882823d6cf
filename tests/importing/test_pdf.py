"""PDF files: reading order, headings, tables apart from the text, scans, and what must not be opened."""

import zlib

import pytest

from canopy.importing import pdf_streams
from canopy.importing.blocks import Heading, Paragraph, Picture, TableBlock
from canopy.importing.pdf import read_pdf
from canopy.importing.pdf_layout import join_lines, shown_signs
from canopy.ingest.sink import Unusable
from tests.importing.samples import PROSE, lines, pdf


def read(path):
    document = read_pdf(path)
    return document, list(document.blocks)


def texts(blocks):
    return [b.text for b in blocks if isinstance(b, Paragraph)]


def test_headings_and_paragraphs(tmp_path):
    document, blocks = read(
        pdf(
            tmp_path / "a.pdf",
            [[(72, 780, 20, "Ilmen (harbour)"), *lines(PROSE, y=740), *lines("A new paragraph.", y=660)]],
            title="The port",
        )
    )
    assert document.title == "The port"
    assert blocks == [Heading(1, "Ilmen (harbour)"), Paragraph(PROSE, "p1"), Paragraph("A new paragraph.", "p1")]


def test_words_are_told_apart_by_the_gaps_between_them(tmp_path):
    _, blocks = read(
        pdf(tmp_path / "a.pdf", [[(72, 700, 11, "Words"), (106.4, 700, 11, "without"), (147, 700, 11, "blanks")]])
    )
    assert texts(blocks) == ["Words without blanks"]


def test_a_table_is_in_its_place_and_its_words_nowhere_else(tmp_path):
    cells = [
        (80, 605, 11, "Year"),
        (180, 605, 11, "Ships"),
        (80, 585, 11, "1911"),
        (180, 585, 11, "204"),
        (80, 565, 11, "1934"),
        (180, 565, 11, "388"),
    ]
    boxes = [(75 + 100 * x, 560 + 20 * y, 100, 20) for x in range(2) for y in range(3)]
    _, blocks = read(
        pdf(tmp_path / "a.pdf", [[*lines(PROSE, y=740), *cells, *lines("After the table.", y=500)]], {0: boxes})
    )
    assert blocks == [
        Paragraph(PROSE, "p1"),
        TableBlock(("Year", "Ships"), [("1911", "204"), ("1934", "388")], "", "p1"),
        Paragraph("After the table.", "p1"),
    ]


def test_two_columns_are_read_one_after_the_other(tmp_path):
    left, right = (
        f"{side} column. " + " ".join(f"{side} sentence {n} of many words." for n in range(20))
        for side in ("Left", "Right")
    )
    _, blocks = read(
        pdf(
            tmp_path / "a.pdf",
            [
                [
                    (72, 790, 11, "A line across both columns of the page, above them, to be read first of all"),
                    *lines(left, y=740, per_line=38),
                    *lines(right, x=310, y=740, per_line=38),
                ]
            ],
        )
    )
    words = " ".join(texts(blocks))
    assert (
        words.startswith("A line across")
        and left in words
        and right in words
        and words.index(left) < words.index(right)
    )


def test_running_headers_are_left_out_and_said(tmp_path):
    pages = [
        [(72, 810, 9, "Harbour report"), *lines(f"Page of {w}.", y=700), (290, 30, 9, f"Page {n}")]
        for n, w in enumerate(["ships", "grain", "timber", "ice"])
    ]
    document, blocks = read(pdf(tmp_path / "a.pdf", pages))
    assert texts(blocks) == ["Page of ships.", "Page of grain.", "Page of timber.", "Page of ice."]
    assert document.notes == ["left out 8 repeated header and footer lines, such as 'Harbour report'"]


def test_a_page_without_words_is_a_picture_and_a_blank_one_nothing(tmp_path):
    _, blocks = read(pdf(tmp_path / "a.pdf", [lines(PROSE), [], []], {1: [(50, 50, 300, 300)]}))
    assert [(type(b), b.place) for b in blocks] == [(Paragraph, "p1"), (Picture, "p2")]
    assert blocks[1].data.startswith(b"\x89PNG")


def test_words_cut_at_the_end_of_a_line():
    assert (
        join_lines(["Grain was ex-", "ported, well-", "known and"], {"exported"})
        == "Grain was exported, well-known and"
    )
    assert join_lines(["1911-", "1934"], set()) == "1911- 1934"


def test_bombs_are_not_inflated(tmp_path, monkeypatch):
    monkeypatch.setattr(pdf_streams, "MAX_STREAM", 1 << 20)
    once = zlib.compress(b" " * (3 << 20))
    for data in (once, zlib.compress(zlib.compress(b" " * (900 << 20 >> 8)))):
        with pytest.raises(Unusable, match="unpacks to more than"):
            read_pdf(pdf(tmp_path / "a.pdf", [[]], packed=data))


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b"",
        lambda b: b"%PDF-1.4\n",
        lambda b: b[:300],
        lambda b: b.replace(b"/Kids", b"/Kits"),
        lambda b: b[:30] + b[200:],
        lambda b: b.replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),
        lambda b: b"<html>no such page</html>",
    ],
)
def test_damage_is_told_or_survived(tmp_path, damage):
    path = pdf(tmp_path / "a.pdf", [lines(PROSE)])
    path.write_bytes(damage(path.read_bytes()))
    try:
        _, blocks = read(path)
    except Unusable as e:
        assert str(e)
    else:
        assert texts(blocks) in ([], [PROSE])


def test_encrypted_files_say_so(tmp_path):
    path = pdf(tmp_path / "a.pdf", [lines(PROSE)])
    secret = (
        b"/Encrypt << /Filter /Standard /V 1 /R 2 /O <"
        + b"00" * 32
        + b"> /U <"
        + b"11" * 32
        + b"> /P -1 >> /ID [<00><00>]"
    )
    path.write_bytes(path.read_bytes().replace(b"/Root 1 0 R", b"/Root 1 0 R " + secret))
    with pytest.raises(Unusable, match="password"):
        read_pdf(path)


def line_texts(path):
    return [b.text for b in read_pdf(path).blocks if isinstance(b, Paragraph)]


def test_letters_drawn_twice_are_read_once(tmp_path):
    words = [(72, 700, 12, "Total bill"), (72.4, 700, 12, "Total bill"), (72, 660, 4, "small ills")]
    assert line_texts(pdf(tmp_path / "a.pdf", [words])) == ["Total bill small ills"]


def test_raised_digits_are_powers(tmp_path):
    words = [(72, 700, 12, "It holds 10"), (127.6, 705, 8, "6"), (136, 700, 12, "cells")]
    assert line_texts(pdf(tmp_path / "a.pdf", [words])) == ["It holds 10^6 cells"]


def test_values_of_form_fields_stand_beside_their_names(tmp_path):
    path = pdf(tmp_path / "a.pdf", [[(72, 700, 11, "Name:"), (72, 660, 11, "Paid:")]])
    fields = (b"/Annots [<< /Subtype /Widget /FT /Tx /V (Ada) /Rect [110 696 200 712] >> "
              b"<< /Subtype /Widget /FT /Btn /AS /Off /Rect [110 656 126 672] >> "
              b"<< /Subtype /Widget /F 2 /FT /Tx /V (unseen) /Rect [210 696 300 712] >>] ")
    path.write_bytes(path.read_bytes().replace(b"/Type /Page /Parent", b"/Type /Page " + fields + b"/Parent"))
    assert " ".join(line_texts(path)) == "Name: Ada Paid: [ ]"


def test_signs_without_a_character_are_shown():
    assert shown_signs("(cid:127) first (cid:3)") == "\u2022 first \ufffd"
