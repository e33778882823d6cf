"""CSV files as programs export them: comments, titles, separators, quotes, ragged rows, two header rows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.importing.csv_files import read_csv


class Table(NamedTuple):
    caption: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def tables(folder: Path, text: str, name: str = "a.csv") -> tuple[list[Table], list[str]]:
    (folder / name).write_text(text, "utf-8", newline="")
    document = read_csv(folder / name)
    blocks = [Table(b.caption, b.header, list(b.rows)) for b in document.blocks]  # type: ignore[union-attr]
    return blocks, document.notes


TEA = ("Tea", "Price")


@pytest.mark.parametrize(("above", "title"), [
    ("# ------\n# Tea House Ltd\n# 2031\n# ------\n\n", "Tea House Ltd. 2031"), ("// by Ann, 2031\n", "by Ann, 2031"),
    ("-- export\n", "export"), ("% export\n", "export"), ("; export\n; by Ann\n", "export. by Ann"),
    ("! export\n", "export"), ('"# Prices, all"\n', "Prices, all"), ("# Title: tea\n# Source: shop, 2031\n",
                                                                  "Title: tea. Source: shop, 2031"),
    ("Prices\nof 2031\n\n", "Prices. of 2031"), ("Prices,\n,\n", "Prices"), ("sep=,\n", ""), ('"sep=,"\n', ""),
    ("\ufeff# Prices\n", "Prices"), ("=====\nPrices\n=====\n", "Prices")])
def test_what_stands_above_a_table_is_its_title(tmp_path: Path, above: str, title: str) -> None:
    assert tables(tmp_path, f"{above}Tea,Price\nGreen,3\nBlack,4\n") == (
        [Table(title, TEA, [("Green", "3"), ("Black", "4")])], [])


@pytest.mark.parametrize(("text", "header", "row"), [
    ("#,Tea\n1,Green\n2,Black\n", ("#", "Tea"), ("1", "Green")),
    (";Tea\n1;Green\n2;Black\n", ("", "Tea"), ("1", "Green")),
    ("tag,count\n#one,3\n#two,4\n", ("tag", "count"), ("#one", "3")),
    ("%,Tea\n10,Green\n", ("%", "Tea"), ("10", "Green"))])
def test_a_mark_that_is_a_word_is_no_comment(tmp_path: Path, text: str, header: tuple[str], row: tuple[str]) -> None:
    (table,), _ = tables(tmp_path, text)
    assert (table.caption, table.header, table.rows[0]) == ("", header, row)


@pytest.mark.parametrize("text", [
    "Tea;Note\nGreen;a, b\nBlack;c, d\n", "Tea|Note\nGreen|a, b\nBlack|c, d\n",
    "sep=\t\nTea\tNote\nGreen\ta, b\nBlack\tc, d\n",
    'Tea,Note\nGreen,"a, b"\nBlack,"c, d"\n', 'Tea, Note\nGreen, "a, b"\nBlack, "c, d"\n',
    "'Tea','Note'\n'Green','a, b'\n'Black','c, d'\n", 'Tea,Note\rGreen,"a,\rb"\rBlack,"c, d"\r',
    'Tea,Note\n-----,-----\nGreen,"a, b"\nBlack,"c, d"\n', "Tea;Note\n\nGreen;a, b\n\nBlack;c, d\n"])
def test_separators_and_quotes(tmp_path: Path, text: str) -> None:
    assert tables(tmp_path, text) == ([Table("", ("Tea", "Note"), [("Green", "a, b"), ("Black", "c, d")])], [])


def test_backslashes_before_quotes_are_no_words(tmp_path: Path) -> None:
    assert tables(tmp_path, 'Tea,Note\nGreen,"so \\"called\\", mild"\n')[0][0].rows == [("Green", 'so "called", mild')]


def test_ragged_rows_are_filled_and_named_by_their_lines(tmp_path: Path) -> None:
    (table,), notes = tables(tmp_path, 'a,b,c\n1,2\n"x\ny",4,5\n6,7,8,9\n1,2\n\nMade in 2031\n')
    assert [len(row) for row in table.rows] == [3, 3, 4, 3, 3] and table.rows[2] == ("6", "7", "8", "9")
    assert notes == ["lines 2, 6: fewer cells than the table's first row; filled with empty cells",
                     "line 5: more cells than the table's first row; columns without a name hold them"]


def test_a_quotation_mark_that_is_never_closed_is_noted(tmp_path: Path) -> None:
    _, notes = tables(tmp_path, 'Tea,Note\nGreen,"mild\nBlack,4\n')
    assert notes == ["the last row, up to line 3, ends inside a quotation mark: its lines are one cell"]


def test_tables_of_a_report_have_their_own_titles(tmp_path: Path) -> None:
    text = ("# ----\n# Shop\n# ----\n\nTea,Price\nGreen,3\n,3\n\n# ----\n# Days\n# ----\nDay,Cups\nMon,5\nTue,6\n\n"
            "Made in 2031\n")
    assert tables(tmp_path, text)[0] == [
        Table("Shop", TEA, [("Green", "3"), ("", "3")]),
        Table("Shop. Days", ("Day", "Cups"), [("Mon", "5"), ("Tue", "6"), ("Made in 2031", "")])]


@pytest.mark.parametrize(("text", "header"), [
    (",2019,,2020,\nTea,Q1,Q2,Q1,Q2\nGreen,1,2,3,4\n", ("Tea", "2019 Q1", "2019 Q2", "2020 Q1", "2020 Q2")),
    ("Tea,Cost,Cost,Price\n,Plan,Actual,Actual\nGreen,1,2,3\n", ("Tea", "Cost Plan", "Cost Actual", "Price Actual")),
    ("Tea,Cost,,Price,\n,2019,2020,2019,2020\nGreen,1,2,3,4\n",
     ("Tea", "Cost 2019", "Cost 2020", "Price 2019", "Price 2020")),
    ("Tea,Weight,Time\n,g,min\nGreen,2,3\n", ("Tea", "Weight g", "Time min")),
    ("Tea,Weight,Time\nMate,n/a,none\nGreen,2,3\n", ("Tea", "Weight", "Time")),
    ("Tea,,Time\nMate,x,long\nGreen,y,3\n", ("Tea", "", "Time")), ("Tea,Tea,Time\nMate,a,b\nOolong,c,d\n",
                                                                  ("Tea", "Tea", "Time"))])
def test_two_header_rows_are_joined_where_values_show_it(tmp_path: Path, text: str, header: tuple[str, ...]) -> None:
    (table,), _ = tables(tmp_path, text)
    assert table.header == header


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.sampled_from(["", "a", "7", "b c", "# d", "2019", "n/a", "---x"]), max_size=4), max_size=9))
def test_no_word_is_lost(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    text = "".join(",".join(row) + "\n" for row in rows)
    blocks, _ = tables(tmp_path_factory.mktemp("csv"), text)
    pieces = " ".join(" ".join((b.caption, *b.header, *(c for row in b.rows for c in row))) for b in blocks)
    words = {w.strip("#-.") for w in pieces.replace(",", " ").split()}
    assert {w.strip("#-") for w in text.replace(",", " ").split()} - {""} <= words
