"""Grids to tables: spans, headers, and nothing lost whatever the grid."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.importing.tables import Cell, expand_spans, is_number, looks_like_header, normalise_table
from canopy.ingest.sink import Unusable
from canopy.ingest.tables import table_cells


def test_spans_say_the_same_in_every_place():
    lines = [
        [Cell("Region", rows=2), Cell("2019", columns=2)],
        [Cell("Q1"), Cell("Q2")],
        [Cell("North", rows=0), Cell("1"), Cell("2")],
        [Cell("3"), Cell("4")],
    ]
    assert expand_spans(lines) == [
        ["Region", "2019", "2019"],
        ["Region", "Q1", "Q2"],
        ["North", "1", "2"],
        ["North", "3", "4"],
    ]
    table = normalise_table(expand_spans(lines), header_rows=2)
    assert table.header == ("Region", "2019 Q1", "2019 Q2") and table.rows == [("North", "1", "2"), ("North", "3", "4")]


def test_a_cell_across_the_whole_table_stands_once():
    assert expand_spans([[Cell("a"), Cell("b")], [Cell("A group", columns=2)]]) == [["a", "b"], ["A group", ""]]


def test_a_table_of_spans_without_end_is_refused():
    with pytest.raises(Unusable, match="cells"):
        expand_spans([[Cell("x", columns=1000, rows=60000)] * 10] * 6000)


@pytest.mark.parametrize(("first", "below", "header"), [
    (["Name", "Age"], [["Ann", "3"]], True),
    (["Ann", "3"], [["Bob", "4"]], False),
    (["Region", "2019", "2020"], [["North", "3", "4"]], True),
    (["1911", "204"], [["1934", "388"]], False),
    (["Name", "Town"], [["Ann", "Oslo"]], True),
    (["", "", "x"], [["a", "b", "c"]], False),
])
def test_what_a_header_looks_like(first, below, header):
    assert looks_like_header(first, below) is header


def test_numbers():
    assert all(map(is_number, ["3", "-4.5", "$ 1,452.4", "12%", "2020-01-31", "(7)", "1e-5"])) and not any(
        map(is_number, ["", "Q1", "a 3", "-"])
    )


def test_titles_above_a_table_join_its_caption():
    table = normalise_table([["Ships by year", None], ["Year", "Ships"], ["1911", "204"], ["1934", "388"]])
    assert (table.caption, table.header, table.rows) == (
        "Ships by year",
        ("Year", "Ships"),
        [("1911", "204"), ("1934", "388")],
    )


GRID = st.lists(st.lists(st.one_of(st.none(), st.text(st.sampled_from("ab1 \n"), max_size=3)), max_size=5), max_size=6)


@settings(max_examples=200, deadline=None)
@given(GRID, st.one_of(st.none(), st.integers(0, 3)))
def test_a_normalised_table_is_a_rectangle_with_every_word_and_normalising_again_changes_nothing(grid, heads):
    words = sorted(w for line in grid for c in line for w in (c or "").split())
    table = normalise_table(grid, heads)
    if table is None:
        assert not words
        return
    lines = [table.header, *table.rows]
    assert table.rows and len({len(line) for line in lines}) == 1
    kept = [w for line in lines for c in line for w in c.split()] + table.caption.replace(". ", " ").split()
    if heads is None or heads < 2:  # several header rows say a repeated word once
        assert sorted(kept) == words
    assert set(kept) == set(words)
    again = normalise_table([table.header, *table.rows], 1 if any(table.header) else 0)
    assert (
        again.rows == table.rows
        or len(table.rows) <= 2
        or sum(map(bool, table.rows[0])) == 1
        or not all(map(any, zip(*lines, strict=True)))
    )


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.builds(Cell, st.sampled_from("abc"), st.integers(0, 4), st.integers(0, 4)), max_size=4),
        min_size=1,
        max_size=5,
    )
)
def test_expanded_spans_are_a_rectangle_that_ingestion_takes(lines):
    grid = expand_spans(lines)
    assert len({len(r) for r in grid}) == 1 and len(grid) == len(lines)
    assert {c.text for line in lines for c in line} == {c for r in grid for c in r if c}
    if any(map(any, grid)):
        table_cells({"rows": grid})
