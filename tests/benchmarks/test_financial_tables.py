"""Tables of financial reports: which rows are heads, which cells are numbers, and where a page states an answer."""

from decimal import Decimal

import pytest

from canopy.benchmarks.reading.answer_spans import numbers_in, rows_of, spans_of, stating_rows
from canopy.benchmarks.reading.financial_tables import column_names, header_count, is_value, number_of


@pytest.mark.parametrize(("rows", "heads"), [
    ([["", "2019", "2018"], ["Sales", "5", "6"]], 1),
    ([["", "", "Years Ended September 30,", ""], ["", "2019", "2018", "2017"],
      ["Fixed", "$  1,452.4", "$  1,146.2", "$  1,036.9"]], 2),
    ([["", "Domestic", "", "Abroad", ""], ["", "June 30,", "", "June 30,", ""], ["", "2019", "2018", "2019", "2018"],
      ["Rate", "4.00%", "", "", ""]], 3),
    ([["($ in millions)", "", ""], ["At December 31:", "2019", "2018"], ["Cost", "$100", "$82"]], 2),
    ([["", "2019", "2018"], ["Americas:", "", ""], ["United States", "$61", "$66"]], 1),  # a section's title is no head
    ([["", "2019", "2018"], ["", "$’000", "$’000"], ["Revenue", "27,817", "5,824"]], 2),
    ([["Company - 2018", "Provisions", "Total"], ["Deferred tax assets", "S$ Mil", "S$ Mil"],
      ["Balance", "0.3", "2.8"]], 2),
    ([["Days past due", "1–90", ">360"], ["Low", "1,347", "125"]], 1),
    ([["Name", "Position"], ["Ann Ode", "Chair"], ["Bo Rill", "Clerk"]], 1),  # words alone: the first row
    ([["", "In the year", "Before"], ["In dollars", "Total", "2018"], ["Wood", "—", "7"]], 2),
    ([["Wood", "5", "6"], ["Coal", "7", "8"]], 0),  # no head at all
    ([["", "2019"]], 0),  # the last row is never a head
    ([["Only", "one"], []], 1),
])
def test_heads(rows, heads):
    assert header_count(rows) == heads


def test_columns_are_named_by_all_their_heads():
    rows = [["", "", "Years ended", "Years ended"], ["(in thousands)", "2019", "2018", "Years ended"],
            ["Wood", "1", "2", "3"]]
    assert column_names(rows, 2) == ("(in thousands)", "2019", "Years ended 2018", "Years ended")
    assert column_names(rows, 0) == ("", "", "", "")


@pytest.mark.parametrize(("cell", "number"), [
    ("$  1,452.4", "1452.4"), ("(44.1)", "44.1"), ("$(24,122)", "24122"), ("-12.60", "12.6"), ("5 %", "5"),
    ("(6)%", "6"), ("1,025,659(1)", "1025659"), (".5", "0.5"),
    ("20 bps", "20"), ("€150", "150"), ("2019", None), ("2018 (4)", None), ("FY 2019", None), ("$'000", None),
    ("31,", None), ("1–90", None), ("4(a)", None),
    ("12 cwt", None), ("", None), ("—", None), ("1,23", None), ("9" * 100, None)])
def test_numbers(cell, number):
    assert number_of(cell) == (None if number is None else Decimal(number).normalize())


def test_a_dash_stands_for_a_value():
    assert (
        is_value("—")
        and is_value("$ -")
        and is_value("- - %")
        and not is_value("%")
        and not is_value("")
        and not is_value("n/a")
    )


@pytest.mark.parametrize(("answer", "text", "found"), [
    ("$1,452.4", "It was $  1,452.4 then.", "$  1,452.4"), ("a 'fair' price - it", "A ‘fair’ price – it was",
                                                            "A ‘fair’ price – it"),
    ("32.0%", "by 32.0 and 33.0%", "32.0"), ("5", "1,452.5 and 5.", "5"), ("20", "20.5 or 20", "20"),
    ("Ada", "Adam", None), ("", "x", None), ("%", "5%", "%"),
    ("The end.", "the  end", "the  end"), ("C++", "in C++ then", "C++")])
def test_spans(answer, text, found):
    assert [text[a:b] for a, b in spans_of(answer, text)] == ([] if found is None else [found])


@pytest.mark.parametrize(("derivation", "numbers"), [
    ("44.1-56.7", ["44.1", "56.7"]), ("((42,432-36,836)/42,432) * 100", ["42,432", "36,836"]),
    ("(102.2+61.7+28.8)/3", ["102.2", "61.7", "28.8"]),
    ("28 - 21", ["28", "21"]), ("(13.6 / 100) * 100", ["13.6"]), ("5/4 - 1", ["5"]), ("0-(-42,271)", ["42,271"]),
    ("$ 9,688/ $103,350", ["9,688", "103,350"]), ("", []), ("none", [])])
def test_numbers_of_a_derivation(derivation, numbers):
    assert numbers_in(derivation) == numbers


ROWS = [["", "2019", "2018"], ["Opening balance", "7", "5"], ["Added", "2", "2"],
        ["Incentive schemes1", "(1,200)", "4%"], ["Closing balance", "9", "7"], []]


def test_the_row_with_most_of_the_facts_then_the_label_that_is_asked_for():
    assert rows_of(["7", "5"], ROWS, "?") == ({1}, set())
    assert rows_of(["7"], ROWS, "What is the closing balance in 2018?") == ({4}, set())
    assert rows_of(["7", "no such fact"], ROWS, "") == ({1}, {"no such fact"})
    assert rows_of([], ROWS, "") == (set(), set())


def test_footnote_figures_signs_and_units_make_no_difference():
    assert stating_rows("Incentive schemes",
                        ROWS) == [3] and stating_rows("-1,200", ROWS) == [3] and stating_rows("$4", ROWS) == [3]
    assert stating_rows("balance", ROWS) == [1, 4] and stating_rows("2019", ROWS) == [0]
