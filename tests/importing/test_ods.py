"""OpenDocument spreadsheets: the words that show, without what is hidden, struck out or a comment."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from canopy.importing.folder import import_folder
from canopy.importing.ods import read_ods
from canopy.ingest.sink import Unusable

NAMES = " ".join(f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"' for short, long in (
    ("office", "office"), ("table", "table"), ("text", "text"), ("style", "style"), ("draw", "drawing")))
STYLES = ('<style:style style:name="gone" style:family="table"><style:table-properties table:display="false"/>'
          '</style:style><style:style style:name="out" style:family="text"><style:text-properties '
          'style:text-line-through-style="solid"/></style:style>')


def ods(path: Path, sheets: str, manifest: str = "<m/>") -> Path:
    content = (f"<office:document-content {NAMES}><office:automatic-styles>{STYLES}</office:automatic-styles>"
               f"<office:body><office:spreadsheet>{sheets}</office:spreadsheet></office:body></office:document-content>")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("content.xml", content)
    return path


def cell(words: str, more: str = "") -> str:
    return f"<table:table-cell {more}><text:p>{words}</text:p></table:table-cell>"


def row(*cells: str, more: str = "") -> str:
    return f"<table:table-row {more}>{''.join(c if c.startswith('<') else cell(c) for c in cells)}</table:table-row>"


def sheet(*rows: str, name: str = "Teas", more: str = "") -> str:
    return f'<table:table table:name="{name}" {more}>{"".join(rows)}</table:table>'


def tables(path: Path) -> tuple[list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]], list[str]]:
    document = read_ods(path)
    return [(b.caption, b.header, list(b.rows)) for b in document.blocks], document.notes  # type: ignore[union-attr]


def test_a_spreadsheet(tmp_path: Path) -> None:
    header = f"<table:table-header-rows>{row('Tea', 'Price', 'Note')}</table:table-header-rows>"
    empty = '<table:table-cell table:number-columns-repeated="16000"/>'
    rows = (
        header, row("Green", "3,50 €", "so<text:s text:c='2'/>mild", empty),
        row('<table:table-cell office:value-type="float" office:value="7"/>', "<table:covered-table-cell/>", "none"),
        row(cell("same", 'table:number-columns-repeated="3"'), more='table:number-rows-repeated="2"'),
        row(empty, more='table:number-rows-repeated="1048000"'))
    assert tables(ods(tmp_path / "a.ods", sheet(*rows))) == ([("Teas", ("Tea", "Price", "Note"), [
        ("Green", "3,50 €", "so mild"), ("7", "", "none"), ("same",) * 3, ("same",) * 3])], [])


def test_what_nobody_sees_is_left_out_with_a_note(tmp_path: Path) -> None:
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>'
    remark = ("<table:table-cell><office:annotation><text:p>ask</text:p></office:annotation>"
              "<text:p>Mate</text:p></table:table-cell>")
    rows = (columns, row("Tea", "Cost", "Price"), row("Green", "1", "<table:table-cell><text:p>3 "
            "<text:span text:style-name='out'>4</text:span></text:p></table:table-cell>"),
            row("Black", "2", "5", more='table:visibility="filter"'), row(remark, "3", "6"))
    hidden = sheet(row("word"), name="Draft", more='table:style-name="gone"')
    assert tables(ods(tmp_path / "a.ods", sheet(*rows) + hidden)) == (
        [("Teas", ("Tea", "Price"), [("Green", "3"), ("Mate", "6")])],
        ["sheet 'Teas': left out: hidden or filtered-out row 3", "sheet 'Teas': left out: hidden column B",
         "sheet 'Teas': left out: struck-out text of cell C2", "sheet 'Teas': left out: comment on cell A4",
         "sheet 'Draft' is hidden: left out"])


def test_merged_cells_show_in_each_row(tmp_path: Path) -> None:
    rows = (row("Dept", "Name", "N"), row(cell("Bar", 'table:number-rows-spanned="2"'), "Ann", "1"),
            row("<table:covered-table-cell/>", "Bo", "2"))
    assert tables(ods(tmp_path / "a.ods", sheet(*rows)))[0][0][2] == [("Bar", "Ann", "1"), ("Bar", "Bo", "2")]


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="password"):
        read_ods(ods(tmp_path / "a.ods", "", "<encryption-data/>"))
    with pytest.raises(Unusable, match="broken"):
        read_ods(ods(tmp_path / "b.ods", "<table:table>"))
    wide = sheet(row(cell("x", 'table:number-columns-repeated="90000000"')))
    with pytest.raises(Unusable, match="cells"):
        list(read_ods(ods(tmp_path / "c.ods", wide)).blocks)


def test_spreadsheets_of_other_kinds_are_skipped_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    ods(tmp_path / "docs" / "a.ods", sheet(row("Tea", "Price"), row("Green", "3")))
    (tmp_path / "docs" / "b.xlsb").write_bytes(b"x")
    result = import_folder(tmp_path / "docs", tmp_path / "out")
    assert result.items == {"table": 1}
    assert result.skipped == {"b.xlsb": ".xlsb: not a kind of file that is imported; save it as .xlsx or .csv"}
