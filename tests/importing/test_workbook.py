"""Workbooks as a person reads them: what is hidden or struck out is left out with its place, merged cells, tables."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Font

from canopy.importing.folder import import_folder
from canopy.importing.sheets import split_columns
from canopy.importing.workbook import read_xlsx

Tables = list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]


def read(
    folder: Path, rows: list[list[Any]], change: Callable[[Any], None] = lambda s: None
) -> tuple[Tables, list[str]]:
    """The tables and notes of a workbook of one sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    change(book.active)
    book.save(folder / "a.xlsx")
    document = read_xlsx(folder / "a.xlsx")
    return [(b.caption, b.header, list(b.rows)) for b in document.blocks], document.notes  # type: ignore[union-attr]


TEAS: list[list[Any]] = [["Tea", "Price"], ["Green", 3], ["Black", 4], ["Mate", 5]]


def test_filtered_rows_and_sheets_nobody_sees_are_named(tmp_path: Path) -> None:
    def change(sheet: Any) -> None:
        sheet.auto_filter.ref = "A1:B4"
        sheet.auto_filter.add_filter_column(0, ["Mate"])
        sheet.row_dimensions[2].hidden = sheet.row_dimensions[3].hidden = True
        secret = sheet.parent.create_sheet("Secret")
        secret.append(["word"])
        secret.sheet_state = "veryHidden"

    assert read(tmp_path, TEAS, change) == (
        [("", ("Tea", "Price"), [("Mate", "5")])],
        ["sheet 'Sheet': left out: hidden or filtered-out rows 2-3", "sheet 'Secret' is hidden: left out"])


def test_struck_out_words_are_left_out_with_their_place(tmp_path: Path) -> None:
    def change(sheet: Any) -> None:
        sheet["A3"].font = sheet["B3"].font = Font(strike=True)
        sheet["A4"] = CellRichText("Mate ", TextBlock(InlineFont(strike=True), "(cold) "), "hot")

    assert read(tmp_path, TEAS, change) == (
        [("", ("Tea", "Price"), [("Green", "3"), ("Mate hot", "5")])],
        ["sheet 'Sheet': left out: struck-out text of cells A3, B3, A4"])


def test_comments_charts_and_invisible_values_are_noted(tmp_path: Path) -> None:
    def change(sheet: Any) -> None:
        sheet["B2"].comment = Comment("ask first", "Ann")
        sheet["B4"].number_format = ";;;"
        chart = BarChart()
        chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=4))
        sheet.add_chart(chart, "E2")
        sheet.parent.create_chartsheet("Curve")

    assert read(tmp_path, TEAS, change) == (
        [("", ("Tea", "Price"), [("Green", "3"), ("Black", "4"), ("Mate", "")])],
        ["chart sheet 'Curve' is left out", "sheet 'Sheet': left out: comment on cell B2",
         "sheet 'Sheet': left out: value whose format shows nothing in cell B4", "sheet 'Sheet': left out: 1 chart"])


def test_words_of_text_boxes_are_noted(tmp_path: Path) -> None:
    read(tmp_path, TEAS)
    box = ('<x:wsDr xmlns:x="a" xmlns:a="b"><x:sp><x:txBody><a:p><a:r><a:t>Ask at</a:t></a:r></a:p>'
           "<a:p><a:r><a:t>the bar</a:t></a:r></a:p></x:txBody></x:sp></x:wsDr>")
    with zipfile.ZipFile(tmp_path / "a.xlsx", "a") as archive:
        archive.writestr("xl/drawings/drawing1.xml", box)
    document = read_xlsx(tmp_path / "a.xlsx")
    assert len(list(document.blocks)) == 1 and document.notes == ["a text box is left out: 'Ask at the bar'"]


def test_merged_names_stand_once_in_a_row_and_merged_values_hold_for_each_column(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["Dept", "Name", "Mon", "Tue"], ["Bar", "Ann", 1, 2], [None, "Bo", "off", None],
                             ["Total", None, 1, 2]]

    def change(sheet: Any) -> None:
        for area in ("A2:A3", "C3:D3", "A4:B4"):
            sheet.merge_cells(area)

    assert read(tmp_path, rows, change)[0] == [("", ("Dept", "Name", "Mon", "Tue"), [
        ("Bar", "Ann", "1", "2"), ("Bar", "Bo", "off", "off"), ("Total", "", "1", "2")])]


def test_a_merged_name_of_columns_holds_for_each(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["Product", None, "Price"], ["Tea", "Green", 3]]
    assert read(tmp_path, rows, lambda sheet: sheet.merge_cells("A1:B1"))[0] == [
        ("", ("Product", "Product", "Price"), [("Tea", "Green", "3")])]


def test_a_title_merged_over_several_rows_stands_once(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["All teas"], [], *[[*row, None] for row in TEAS]]
    tables, _ = read(tmp_path, rows, lambda sheet: sheet.merge_cells("A1:B2"))
    assert tables[0][:2] == ("All teas", ("Tea", "Price"))


def test_cells_with_their_own_strings_need_no_table_of_strings(tmp_path: Path) -> None:
    stream, book = io.BytesIO(), openpyxl.Workbook()
    for row in TEAS:
        book.active.append(row)
    book.save(stream)
    with zipfile.ZipFile(stream) as old, zipfile.ZipFile(tmp_path / "a.xlsx", "w") as new:
        for part in old.namelist():
            data = old.read(part)
            if part == "xl/worksheets/sheet1.xml":
                for n, word in enumerate(("Tea", "Price", "Green", "Black", "Mate")):
                    data = data.replace(f't="s"><v>{n}</v>'.encode(), f't="inlineStr"><is><t>{word}</t></is>'.encode())
            if part != "xl/sharedStrings.xml":
                new.writestr(part, data)
    table = next(iter(read_xlsx(tmp_path / "a.xlsx").blocks))
    assert table.header == ("Tea", "Price")  # type: ignore[union-attr]


def test_two_merged_header_rows_and_a_footnote(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["Region", "2019", None, "2020", None], [None, "Q1", "Q2", "Q1", "Q2"],
                             ["North", 1, 2, 3, 4], ["All in millions"]]

    def change(sheet: Any) -> None:
        for area in ("A1:A2", "B1:C1", "D1:E1", "A4:D4"):
            sheet.merge_cells(area)

    assert read(tmp_path, rows, change)[0] == [
        ("", ("Region", "2019 Q1", "2019 Q2", "2020 Q1", "2020 Q2"),
         [("North", "1", "2", "3", "4"), ("All in millions", "", "", "", "")])]


def test_tables_beside_each_other_are_two(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["Teas", None, None, "Towns"], ["Tea", "Price", None, "Town", "People"],
                             ["Green", 3, None, "Orlo", 700], [None, None, None, "Ilmen", 30]]
    assert read(tmp_path, rows)[0] == [("Teas", ("Tea", "Price"), [("Green", "3")]),
                                       ("Towns", ("Town", "People"), [("Orlo", "700"), ("Ilmen", "30")])]


@pytest.mark.parametrize("rows", [
    [["Tea", "Price", "", "Cups", "Weight"], ["Green", "3", "", "7", "8"]],  # numbers alone: a gap for the eye
    [["Tea", "", "Price"], ["Green", "", "3"]], [["a", "b"], ["1", "2"]], [["", ""]], []])
def test_a_gap_is_no_second_table(rows: list[list[str]]) -> None:
    assert [list(part) for part in split_columns(rows)] == [rows]


def test_a_workbook_without_visible_words_says_why_it_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("words")
    book = openpyxl.Workbook()
    book.create_sheet("Plan").append(["a", "b"])
    book["Plan"].sheet_state = "hidden"
    book.save(tmp_path / "docs" / "b.xlsx")
    result = import_folder(tmp_path / "docs", tmp_path / "out")
    assert result.skipped == {"b.xlsx": "no words in it; sheet 'Plan' is hidden: left out"}
