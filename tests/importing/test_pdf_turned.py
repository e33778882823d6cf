"""PDF text that runs another way, letters drawn twice, remarks, choices, and what stands beside the pages."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from canopy.importing.blocks import Document, Heading, Paragraph
from canopy.importing.pdf import read_pdf
from tests.importing.samples import pdf


def page(tmp_path: Path, content: str, entries: bytes = b"", catalog: bytes = b"") -> tuple[Document, str]:
    path = pdf(tmp_path / "a.pdf", [[]], packed=zlib.compress(content.encode("latin-1")))
    data = path.read_bytes().replace(b"/Type /Page /Parent", b"/Type /Page " + entries + b" /Parent")
    path.write_bytes(data.replace(b"/Type /Catalog", b"/Type /Catalog " + catalog))
    document = read_pdf(path)
    return document, " ".join(b.text for b in document.blocks if isinstance(b, (Heading, Paragraph)))


def show(text: str, matrix: str, size: float = 11) -> str:
    return f"BT /F1 {size} Tf {matrix} Tm ({text}) Tj ET\n"


@pytest.mark.parametrize(("matrix", "second"), [
    ("0 1 -1 0 300 100", "0 1 -1 0 320 100"), ("0 -1 1 0 300 700", "0 -1 1 0 280 700"),
    ("-1 0 0 -1 500 300", "-1 0 0 -1 500 320")])
def test_text_that_runs_another_way_is_turned(tmp_path: Path, matrix: str, second: str) -> None:
    content = show("Straight words first.", "1 0 0 1 72 700") + show("Prices rose in spring", matrix) + show(
        "and fell again.", second)
    document, text = page(tmp_path, content)
    assert text == "Straight words first. Prices rose in spring and fell again." and not document.notes


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_reads_as_its_reader_sees_it(tmp_path: Path, turn: int) -> None:
    # The page is drawn turned the other way, so that it stands upright when it is shown.
    place = {90: "0 1 -1 0 100 100", 180: "-1 0 0 -1 500 700", 270: "0 -1 1 0 500 700"}[turn]
    below = {90: "0 1 -1 0 120 100", 180: "-1 0 0 -1 500 680", 270: "0 -1 1 0 480 700"}[turn]
    _, text = page(tmp_path, show("The mill burnt down.", place) + show("It was built again.", below),
                   f"/Rotate {turn}".encode())
    assert sorted(text.replace(". ", ".|").split("|")) == ["It was built again.", "The mill burnt down."]


def test_a_stamp_across_the_page_is_noted(tmp_path: Path) -> None:
    stamp = show("DRAFT", "0.7 0.7 -0.7 0.7 200 300", 60)
    document, text = page(tmp_path, show("Words of the page.", "1 0 0 1 72 700") + stamp)
    assert text == "Words of the page." and document.notes == ["page 1: slanted text is left out: 'DRAFT'"]


def test_letters_drawn_twice_in_other_ways_are_read_once(tmp_path: Path) -> None:
    again = "".join(show("Balance of all bills", f"1 0 0 1 {72 + dx} 700", size)
                    for dx, size in ((0, 12), (0.3, 12), (0.6, 12), (0, 12.2)))
    assert page(tmp_path, again)[1] == "Balance of all bills"


def test_a_choice_shows_its_words_and_remarks_stand_where_they_are_written(tmp_path: Path) -> None:
    entries = (b"/Annots [<< /Subtype /Widget /FT /Ch /V (n1) /Opt [[(n1) (North berth)] [(s1) (South berth)]] "
               b"/Rect [120 696 220 712] >> << /Subtype /FreeText /Contents (Paid in May) /Rect [72 640 200 656] >> "
               b"<< /Subtype /Text /Contents (Check this) /Rect [300 640 320 656] >> "
               b"<< /Subtype /Link /Contents (a link) /Rect [300 600 320 616] >>]")
    document, text = page(tmp_path, show("Berth:", "1 0 0 1 72 700"), entries)
    assert text == "Berth: North berth Paid in May"
    assert document.notes == ["page 1: 1 remarks are left out, the first: 'Check this'"]


def test_forms_and_files_beside_the_pages_are_noted(tmp_path: Path) -> None:
    document, _ = page(tmp_path, show("Words.", "1 0 0 1 72 700"), catalog=(
        b"/AcroForm << /Fields [] /XFA (x) >> /Names << /EmbeddedFiles << /Names [] >> >>"))
    assert [n.split(":")[0].split(",")[0] for n in document.notes] == [
        "it holds a form in XFA", "files attached to it are not read"]
