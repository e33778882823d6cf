"""Word documents and workbooks: what they hold, and what must not be opened."""

import datetime
import io
import zipfile

import docx
import openpyxl
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from canopy.importing import archives
from canopy.importing.blocks import Heading, Paragraph, Picture, TableBlock
from canopy.importing.composing import compose
from canopy.importing.csv_files import read_csv
from canopy.importing.office import read_docx
from canopy.importing.workbook import read_xlsx, shown_value
from canopy.ingest.sink import Unusable
from tests.importing.samples import picture

W = nsdecls("w")


def word(tmp_path, document):
    document.save(tmp_path / "a.docx")
    parts = read_docx(tmp_path / "a.docx")
    return parts, list(parts.blocks)


def test_a_word_document(tmp_path):
    d = docx.Document()
    d.add_heading("Harbour report", 0)
    d.add_paragraph("Dredged in 1911.")
    d.add_heading("Trade", 2)
    table = d.add_table(3, 3)
    for cell, text in zip(
        (c for r in table.rows for c in r.cells),
        ["Port", "In", "Out", "Ilmen", "204", "198", "", "7", "5"],
        strict=True,
    ):
        cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    d.add_picture(str(picture(tmp_path / "p.png")))
    d.inline_shapes[0]._inline.docPr.set("descr", "The pier")
    _, blocks = word(tmp_path, d)
    assert [b for b in blocks if isinstance(b, (Heading, Paragraph))] == [
        Heading(1, "Harbour report"),
        Paragraph("Dredged in 1911."),
        Heading(2, "Trade"),
    ]
    assert [(b.header, b.rows) for b in blocks if isinstance(b, TableBlock)] == [
        (("Port", "In", "Out"), [("Ilmen", "204", "198"), ("Ilmen", "7", "5")])
    ]
    assert [(b.suffix, b.alt) for b in blocks if isinstance(b, Picture)] == [(".png", "The pier")]


def test_what_plain_paragraphs_leave_out_is_read(tmp_path):
    d = docx.Document()
    body = d.element.body
    for inner in (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>controlled</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        "<w:p><w:ins><w:r><w:t>inserted </w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        "<w:hyperlink><w:r><w:t>linked</w:t></w:r></w:hyperlink></w:p>",
        "<w:p><w:r><w:t>around</w:t></w:r><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>",
    ):
        body.insert(len(body) - 1, parse_xml(inner.replace(">", f" {W}>", 1)))
    table = d.add_table(1, 2)
    table.cell(0, 0).add_table(1, 1).cell(0, 0).text = "nested"
    table.cell(0, 1).text = "beside"
    _, blocks = word(tmp_path, d)
    assert [b.text for b in blocks if isinstance(b, Paragraph)] == ["controlled", "inserted linked", "around", "boxed"]
    assert [r for b in blocks if isinstance(b, TableBlock) for r in b.rows] == [("nested", "beside")]


def test_styles_of_ones_own_and_footnotes(tmp_path):
    d = docx.Document()
    own = d.styles.add_style("Chapter", WD_STYLE_TYPE.PARAGRAPH)
    own.base_style = d.styles["Heading 2"]
    d.add_paragraph("The pier", style="Chapter")
    d.add_paragraph("Built in 1911.")
    notes = (
        f'<w:footnotes {W}><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:t>---</w:t></w:r></w:p></w:footnote>'
        '<w:footnote w:id="1"><w:p><w:r><w:t>By the town.</w:t></w:r></w:p></w:footnote></w:footnotes>'
    ).encode()
    part = Part(
        PackURI("/word/footnotes.xml"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml",
        notes,
        d.part.package,
    )
    d.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    _, blocks = word(tmp_path, d)
    assert blocks == [
        Heading(2, "The pier"),
        Paragraph("Built in 1911."),
        Heading(1, "Footnotes"),
        Paragraph("By the town."),
    ]


def tables(path):
    document = read_xlsx(path)
    return [(b.caption, b.header, list(b.rows)) for b in document.blocks], document.notes


def test_a_workbook(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Trade"
    for row in (
        ["Ships by year"],
        [],
        ["Year", "Ships", "Share", "Checked"],
        [1911, 204, 0.25, datetime.date(1912, 1, 3)],
        [1934, 388.5, 1, None],
        [],
        ["Port", "Depth"],
        ["Ilmen", 9],
    ):
        sheet.append(row)
    sheet["C4"].number_format = sheet["C5"].number_format = "0%"
    sheet.merge_cells("A4:A5")
    other = book.create_sheet("Sheet2")
    other["B2"], other["C2"] = "total", "=SUM(A1:A3)"
    book.save(tmp_path / "a.xlsx")
    book, notes = tables(tmp_path / "a.xlsx")
    assert book == [
        (
            "Trade. Ships by year",
            ("Year", "Ships", "Share", "Checked"),
            [("1911", "204", "25%", "1912-01-03"), ("1911", "388.5", "100%", "")],
        ),
        ("Trade", ("Port", "Depth"), [("Ilmen", "9")]),
        ("", (), [("", "total", "=SUM(A1:A3)")]),
    ]
    assert len(notes) == 1 and "formulas without a stored result stand as they are: cell C2" in notes[0]


def test_a_cell_far_out_costs_nothing(tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD20000"] = "near", "far"
    book.save(tmp_path / "a.xlsx")
    (item,) = compose(read_xlsx(tmp_path / "a.xlsx"), "a")
    assert item["rows"] == [["near", ""], ["", "far"]]


def test_shown_values():
    assert [
        shown_value(v)
        for v in (
            None,
            True,
            3,
            3.0,
            0.1,
            float("nan"),
            datetime.datetime(2020, 1, 2),
            datetime.datetime(2020, 1, 2, 3, 4),
            "a",
        )
    ] == ["", "TRUE", "3", "3", "0.1", "", "2020-01-02", "2020-01-02 03:04:00", "a"]


def repacked(path, change):
    """The archive with each part's bytes changed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            new.writestr(part.filename, change(part.filename, old.read(part)))
    path.write_bytes(stream.getvalue())


def make(kind, path):
    if kind == "docx":
        d = docx.Document()
        d.add_paragraph("words")
        d.save(path)
    else:
        book = openpyxl.Workbook()
        book.active["A1"] = "words"
        book.save(path)


MAIN = {"docx": "word/document.xml", "xlsx": "xl/worksheets/sheet1.xml"}
READ = {"docx": lambda p: list(read_docx(p).blocks), "xlsx": lambda p: [list(b.rows) for b in read_xlsx(p).blocks]}


@pytest.mark.parametrize("kind", ["docx", "xlsx"])
class TestBroken:
    def check(self, kind, path, match):
        with pytest.raises(Unusable, match=match):
            READ[kind](path)

    def test_bombs_stay_packed(self, kind, tmp_path):
        path = tmp_path / f"a.{kind}"
        make(kind, path)
        repacked(path, lambda n, b: b" " * (40 << 20) if n == MAIN[kind] else b)
        self.check(kind, path, "times its size")

    def test_unpacked_size_is_bounded(self, kind, tmp_path, monkeypatch):
        path = tmp_path / f"a.{kind}"
        make(kind, path)
        monkeypatch.setattr(archives, "MAX_XML", 100)
        self.check(kind, path, "unpacks to")

    def test_entities_are_refused(self, kind, tmp_path):
        path = tmp_path / f"a.{kind}"
        make(kind, path)
        repacked(
            path,
            lambda n, b: (
                b'<!DOCTYPE a [<!ENTITY b "boom">]>' + b[b.find(b"?>") + 2 if b.startswith(b"<?") else 0 :]
                if n == MAIN[kind]
                else b
            ),
        )
        self.check(kind, path, "entities")

    def test_encrypted_files(self, kind, tmp_path):
        path = tmp_path / f"a.{kind}"
        path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
        self.check(kind, path, "password")

    @pytest.mark.parametrize(
        "damage",
        [
            lambda b: b[: len(b) // 2],
            lambda b: b"",
            lambda b: b"PK\x03\x04" + bytes(100),
            lambda b: b[:200] + bytes(400) + b[600:],
        ],
    )
    def test_damage(self, kind, tmp_path, damage):
        path = tmp_path / f"a.{kind}"
        make(kind, path)
        path.write_bytes(damage(path.read_bytes()))
        self.check(kind, path, "broken|expected|cannot|can be read")

    def test_another_archive(self, kind, tmp_path):
        path = tmp_path / f"a.{kind}"
        with zipfile.ZipFile(path, "w") as z:
            z.writestr("readme.txt", "hello")
        self.check(kind, path, "without the folder")


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (42, "00000", "00042"),
        (1234.5, '"$"#,##0.00', "$1,234.50"),
        (1234.5, "#,##0.00 [$€-407]", "1,234.50 €"),
        (0.075, "0.0%", "7.5%"),
        (-250, "#,##0;(#,##0)", "(250)"),
        (-2.5, "0.00", "-2.50"),
        (0, '0;-0;"none"', "none"),
        (2.675, "0.00", "2.68"),
        (1234567, "#,##0,", "1,235"),
        (1.5e-07, "0.00E+00", "1.50E-07"),
        (0.5, "# ?/?", "1/2"),
        (3.0, "General", "3"),
        (5, "0.##", "5"),
        (0.25, "#.00", ".25"),
        (12, '0" kg"', "12 kg"),
        (datetime.timedelta(days=1, hours=13, minutes=30), "[h]:mm", "37:30"),
        (datetime.timedelta(seconds=75), "[m]:ss", "1:15"),
    ],
)
def test_numbers_in_their_format(value, number_format, shown):
    assert shown_value(value, number_format) == shown


def test_hidden_parts_of_a_workbook_are_left_out_with_a_note(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Item", "Cost", "Price"], ["Pen", 1, 2], ["Old pen", 3, 4]):
        sheet.append(row)
    sheet.row_dimensions[3].hidden = sheet.column_dimensions["B"].hidden = True
    other = book.create_sheet("Draft")
    other.append(["a", "b"])
    other.sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")
    book, notes = tables(tmp_path / "a.xlsx")
    assert book == [("", ("Item", "Price"), [("Pen", "2")])]
    assert notes == [
        "sheet 'Sheet': left out: hidden row 3",
        "sheet 'Sheet': left out: hidden column B",
        "sheet 'Draft' is hidden: left out",
    ]


def test_a_merged_title_is_no_header(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Prices 2025"], ["Dish", "Staff", "Guests"], ["Soup", 3, 5], ["Curry", 6, 8], [], ["With tax."]):
        sheet.append(row)
    sheet.merge_cells("A1:B1")
    sheet.merge_cells("A6:B6")
    book.save(tmp_path / "a.xlsx")
    book, _ = tables(tmp_path / "a.xlsx")
    assert book == [
        ("Prices 2025", ("Dish", "Staff", "Guests"), [("Soup", "3", "5"), ("Curry", "6", "8"), ("With tax.", "", "")])
    ]


@pytest.mark.parametrize(
    ("file", "caption", "header"),
    [
        ("# ----\n# Visits\n# 2024\n\nDay,Count\n1,5\n2,6\n", "Visits. 2024", ("Day", "Count")),
        ("## made by hand\n#Day,Count\n1,5\n2,6\n", "made by hand", ("#Day", "Count")),
        ("#,Name\n1,Ada\n2,Bo\n", "", ("#", "Name")),
    ],
)
def test_comments_above_a_table_are_its_title(tmp_path, file, caption, header):
    (tmp_path / "a.csv").write_text(file)
    table = next(iter(read_csv(tmp_path / "a.csv").blocks))
    assert (table.caption, table.header, len(list(table.rows))) == (caption, header, 2)


NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def paragraph_of(document, runs):
    document.element.body.insert(0, parse_xml(f'<w:p xmlns:w="{NAMESPACE}">{runs}</w:p>'))


def test_included_pages_are_read_and_other_kinds_noted(tmp_path):
    d = docx.Document()
    d.add_paragraph("Before.")
    for name, kind, data in (
        ("a.html", "text/html", b"<p>Inside, caf\xc3\xa9.</p>"),
        ("b.rtf", "application/rtf", b"{}"),
    ):
        part = Part(PackURI(f"/word/{name}"), kind, data, d.part.package)
        key = d.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk")
        d.element.body.insert(1, parse_xml(f'<w:altChunk xmlns:w="{NAMESPACE}" xmlns:r="http://schemas.openxmlformats.org/'
                                           f'officeDocument/2006/relationships" r:id="{key}"/>'))
    document, blocks = word(tmp_path, d)
    assert [b.text for b in blocks] == ["Before.", "Inside, café."]
    assert document.notes == ["a document included in it is not read (.rtf): open and save the whole in Word"]


def test_struck_out_words_symbols_and_powers(tmp_path):
    d = docx.Document()
    paragraph_of(
        d,
        "<w:r><w:t xml:space='preserve'>Now </w:t></w:r><w:r><w:rPr><w:strike/></w:rPr><w:t>9</w:t></w:r>"
        "<w:r><w:rPr><w:strike w:val='0'/></w:rPr><w:t>7 m</w:t></w:r>"
        "<w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>2</w:t></w:r>"
        "<w:r><w:sym w:font='Symbol' w:char='F0B1'/></w:r><w:r><w:t>1</w:t></w:r>"
        "<w:r><w:sym w:font='X' w:char='F041'/></w:r>",
    )
    document, blocks = word(tmp_path, d)
    assert [b.text for b in blocks] == ["Now 7 m^2±1\ufffd"] and document.notes == [
        "1 struck-out passages are left out"
    ]
