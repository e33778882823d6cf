"""Numbers for people have at most four significant digits; counts stay whole."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.formatting import cell, duration, number, round_number, round_text, tenths
from tests.digits import long_numbers


@pytest.mark.parametrize(("value", "text"), [
    (0.7846153846153846, "0.7846"), (12345.678, "12,350"), (1234.5, "1,234"), (12345.0, "12,345"), (7, "7"),
    (0.0000123456, "1.235e-05"), (-3.14159, "-3.142"), (math.nan, "–"), (math.inf, "–"), (999.96, "1000")])
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_no_number_is_long(value: float) -> None:
    for text in (number(value), tenths(value), tenths(value, signed=True), cell(value)):
        assert long_numbers(text) == []
    assert math.isclose(round_number(value), value, rel_tol=1e-3)


def test_texts_keep_versions_counts_and_names() -> None:
    text = "loss 0.12345678 with torch 2.13.0, 12345 items, fig_0.12345, 1.5 and 3.14159e-07"
    assert round_text(text) == "loss 0.1235 with torch 2.13.0, 12345 items, fig_0.12345, 1.5 and 3.142e-07"


@pytest.mark.parametrize(("seconds", "text"), [(8.4, "8 s"), (89, "89 s"), (600, "10 min"), (11_100, "3 h 5 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_long_numbers_are_noticed() -> None:
    assert long_numbers("0.7846153846 and 1,234.5 but 52.2% v2.13.0 99.95 0.00012") == ["0.7846153846", "1,234.5"]
