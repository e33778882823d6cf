"""Numbers of Word's lists, formulas, and what Word hides."""

from __future__ import annotations

import io
from pathlib import Path

import docx
from docx.document import Document as WordDocument
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from canopy.importing.blocks import Document, Heading, Paragraph
from canopy.importing.list_numbers import show_number
from canopy.importing.office import read_docx

W = nsdecls("w")
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def read(tmp_path: Path, document: WordDocument) -> tuple[Document, list[str]]:
    document.save(str(tmp_path / "a.docx"))
    parts = read_docx(tmp_path / "a.docx")
    return parts, [b.text for b in parts.blocks if isinstance(b, (Heading, Paragraph))]


def define_list(document: WordDocument, number: int, *levels: tuple[str, str, int],
                restart_of: int | None = None) -> None:
    """A list definition; levels are (format, text, start). ``restart_of``: a second list of that definition, from 1."""
    root = document.part.numbering_part.element
    if restart_of is None:
        inner = "".join(
            f'<w:lvl w:ilvl="{n}"><w:start w:val="{start}"/><w:numFmt w:val="{style}"/><w:lvlText w:val="{text}"/>'
            "</w:lvl>"
            for n, (style, text, start) in enumerate(levels))
        root.insert(0, parse_xml(f'<w:abstractNum {W} w:abstractNumId="{number}">{inner}</w:abstractNum>'))
        root.append(parse_xml(f'<w:num {W} w:numId="{number}"><w:abstractNumId w:val="{number}"/></w:num>'))
        return
    root.append(parse_xml(
        f'<w:num {W} w:numId="{number}"><w:abstractNumId w:val="{restart_of}"/><w:lvlOverride w:ilvl="0">'
        '<w:startOverride w:val="1"/></w:lvlOverride></w:num>'))


def add(document: WordDocument, text: str, number: int, level: int = 0, style: str | None = None) -> None:
    paragraph = document.add_paragraph(text, style=style)
    paragraph._p.get_or_add_pPr().append(parse_xml(
        f'<w:numPr {W}><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'))


def test_lists_have_the_numbers_that_word_shows(tmp_path: Path) -> None:
    d = docx.Document()
    define_list(d, 90, ("decimal", "%1.", 3), ("lowerLetter", "%2)", 1), ("decimal", "%1.%2.%3", 1))
    define_list(d, 91, restart_of=90)
    for text, number, level in (("x", 90, 0), ("y", 90, 1), ("z", 90, 1), ("w", 90, 2), ("v", 90, 0), ("u", 90, 1)):
        add(d, text, number, level)
    d.add_paragraph("Between.")
    add(d, "t", 90)
    add(d, "s", 91)
    add(d, "r", 91)
    add(d, "none", 0)
    _, texts = read(tmp_path, d)
    assert texts == ["3. x", "- a) y", "- b) z", "3.b.1 w", "4. v", "- a) u", "Between.", "5. t", "1. s", "2. r",
                     "none"]


def test_styles_number_their_paragraphs_and_bullets_say_nothing(tmp_path: Path) -> None:
    d = docx.Document()
    for text, style in (("one", "List Number"), ("two", "List Number"), ("dot", "List Bullet")):
        d.add_paragraph(text, style=style)
    define_list(d, 90, ("upperRoman", "Part %1", 1), ("bullet", "o", 1))
    add(d, "Rules", 90, 0, "Heading 1")
    add(d, "inner", 90, 1)
    parts, texts = read(tmp_path, d)
    assert texts == ["1. one", "2. two", "dot", "Part I Rules", "- inner"]
    assert [b.level for b in parts.blocks if isinstance(b, Heading)] == [1]


def test_numbers_in_letters_and_numerals() -> None:
    assert [show_number(n, "a") for n in (1, 26, 27, 52, 703, 0)] == ["a", "z", "aa", "az", "aaa", "0"]
    assert [show_number(n, "I") for n in (4, 9, 14, 1999, 4000, -1)] == ["IV", "IX", "XIV", "MCMXCIX", "4000", "-1"]
    assert show_number(7, "1") == show_number(7, "") == "7"


def test_formulas_stand_on_one_line(tmp_path: Path) -> None:
    d = docx.Document()

    def run(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    power = f"<m:sSup><m:sSupPr/><m:e>{run('x')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    fraction = f"<m:f><m:num>{run('a+b')}</m:num><m:den>{run('2')}</m:den></m:f>"
    root = f"<m:rad><m:radPr/><m:deg/><m:e>{power}</m:e></m:rad>"
    total = (f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{run("i")}</m:sub><m:sup/>'
             f"<m:e>{run('k')}</m:e></m:nary>")
    d.add_paragraph("E = ")._p.append(parse_xml(f"<m:oMath {M}>{power}{fraction}{root}{total}</m:oMath>"))
    assert read(tmp_path, d)[1] == ["E = x^2 (a+b)/2 √(x^2) ∑ i k"]


def test_hidden_words_headers_and_comments_are_left_out_with_a_note(tmp_path: Path) -> None:
    d = docx.Document()
    paragraph = d.add_paragraph("Seen ")
    paragraph.add_run("unseen").font.hidden = True
    paragraph.add_run("too").font.strike = True
    d.sections[0].header.paragraphs[0].text = "Confidential"
    parts, texts = read(tmp_path, d)
    assert [t.strip() for t in texts] == ["Seen"]
    assert parts.notes == ["1 struck-out passages are left out", "1 hidden passages are left out",
                           "its page headers are left out"]
    assert not read(tmp_path, docx.Document())[0].notes


def test_old_form_fields_and_readings_above_words(tmp_path: Path) -> None:
    d = docx.Document()
    field = '<w:r {w}><w:fldChar w:fldCharType="begin"><w:ffData>{inner}</w:ffData></w:fldChar></w:r>'
    paragraph = d.add_paragraph("Agreed ")
    for inner in ('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>', '<w:ddList><w:result w:val="1"/>'
                  '<w:listEntry w:val="North"/><w:listEntry w:val="South"/></w:ddList>'):
        paragraph._p.append(parse_xml(field.format(w=W, inner=inner)))
    paragraph = d.add_paragraph("In ")
    paragraph._p.append(parse_xml(
        f"<w:r {W}><w:ruby><w:rt><w:r><w:t>Tokyo</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase>"
        "</w:ruby></w:r>"))
    assert read(tmp_path, d)[1] == ["Agreed [x] South", "In 東京(Tokyo)"]


def include(document: WordDocument, name: str, data: bytes) -> None:
    part = Part(PackURI(f"/word/{name}"), "application/octet-stream", data, document.part.package)
    key = document.part.relate_to(part, RELATIONSHIP_TYPE.A_F_CHUNK)
    document.element.body.insert(0, parse_xml(
        f'<w:altChunk {W} {nsdecls("r")} r:id="{key}"/>'))


def test_included_documents_are_read_and_others_noted(tmp_path: Path) -> None:
    inner, data = docx.Document(), io.BytesIO()
    inner.add_paragraph("From the inner one.", style="List Number")
    inner.save(data)
    archive = (b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n"
               b"--x\r\n"
               b"Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
               b"<p>caf=C3=A9</p>\r\n--x--\r\n")
    d = docx.Document()
    for name, part in (("c.docx", b"no zip"), ("b.mht", archive), ("a.docx", data.getvalue()), ("d.rtf", b"{\\rtf1}")):
        include(d, name, part)
    parts, texts = read(tmp_path, d)
    assert texts == ["1. From the inner one.", "café"]
    assert [n.split(":")[0] for n in parts.notes] == [
        "a document included in it is not read (.rtf)", "a document included in it cannot be read"]
