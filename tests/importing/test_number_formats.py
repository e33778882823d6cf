"""Numbers, dates and texts in the format codes of spreadsheets, as Excel shows them."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.importing.number_formats import show_number
from canopy.importing.workbook import shown_value

DAY = datetime.datetime(2024, 3, 5, 14, 7, 9)
EURO = '_-* #,##0.00 [$€-407]_-;-* #,##0.00 [$€-407]_-;_-* "-"?? [$€-407]_-;_-@_-'


@pytest.mark.parametrize(("value", "code", "text"), [
    (7, "000", "007"), (12345, "00", "12345"), (0, "#", ""), (0, "0", "0"), (1234567.891, "#,##0.00", "1,234,567.89"),
    (999.995, "#,##0.00", "1,000.00"), (-0.5, "0%", "-50%"), (0.1234, "0.0%", "12.3%"), (1.5, "0.0 %", "150.0 %"),
    (1234, "[$£-809]#,##0", "£1,234"), (1234, "#,##0\\ [$CHF]", "1,234 CHF"), (-5, "$#,##0.00;[Red]$#,##0.00", "$5.00"),
    (-5, '"€"#,##0.00_);("€"#,##0.00)', "(€5.00)"), (1234.5, EURO, "1,234.50 €"), (-1234.5, EURO, "-1,234.50 €"),
    (0, EURO, "- €"), (0.75, "# ?/?", "3/4"), (2.5, "# ?/?", "2 1/2"), (3, "# ?/?", "3"), (2.5, "?/?", "5/2"),
    (0.3333, "# ??/??", "1/3"), (1.26, "# ?/8", "1 2/8"), (0.999, "# ?/2", "1"), (3.1416, "# ?/?", "3 1/7"),
    (12345, "0.00E+00", "1.23E+04"), (0.00012, "0.0E-0", "1.2E-4"), (12345, "##0.0E+0", "12.3E+3"),
    (999999, "0.0E+0", "1.0E+6"), (0, "0.00E+00", "0.00E+00"), (1234567, '0.0,,"M"', "1.2M"), (1500, '0,"k"', "2k"),
    (5551234, "000-0000", "555-1234"), (2125551234, "(000) 000-0000", "(212) 555-1234"),
    (123456789, "000-00-0000", "123-45-6789"), (50, "[<100]0;[>=100]0.0,", "50"),
    (500, '[<100]"low "0;"high "0', "high 500"), (1, '[=1]"Yes";[=0]"No";0', "Yes"), (0, '[=1]"Yes";[=0]"No";0', "No"),
    (-3, '[=1]"Yes";[=0]"No";0', "-3"), (-3, '+0;-0;"none"', "-3"), (3, "+0;-0", "+3"),
    (7, 'General" pcs"', "7 pcs"), (-7, "General", "-7"), (1 / 3, "General", "0.333333333"), (0.1 + 0.2, "", "0.3"),
    (1234567890123, "General", "1234567890123"), (0.00001234, "General", "1.234E-05"), (5, "@", "5"),
    (12, '"No. "00', "No. 12"), (12, "[Blue]0.0", "12.0"), (5, ";;;", ""), (3, '0"\u00a0m²"', "3\u00a0m²"),
    (12.5, "#.##", "12.5"), (12, "0.0#", "12.0"), (1e20, "#,##0", "100,000,000,000,000,000,000"),
    (45356.5, "[=0]0;dd.mm.yyyy", "05.03.2024"),
])
def test_numbers(value, code, text):
    assert shown_value(value, code) == text


@pytest.mark.parametrize(("value", "code", "text"), [
    (DAY, "dd/mm/yyyy", "05/03/2024"), (DAY, "d mmm yyyy", "5 Mar 2024"), (DAY, "DD.MM.YY", "05.03.24"),
    (DAY, "dddd, d mmmm yyyy", "Tuesday, 5 March 2024"), (DAY, "mmm-yy", "Mar-24"), (DAY, "mmmmm", "M"),
    (DAY, "ddd", "Tue"), (DAY, "yyyy-mm-dd hh:mm", "2024-03-05 14:07"), (DAY, "h:mm AM/PM", "2:07 PM"),
    (DAY, "m/d/yyyy h:mm:ss", "3/5/2024 14:07:09"), (DAY, "mm:ss", "07:09"), (DAY, "[$-F800]yyyy", "2024"),
    (DAY, "[$-409]h:mm AM/PM;@", "2:07 PM"), (DAY, 'yyyy"年"m"月"d"日"', "2024年3月5日"), (DAY, "h", "14"),
    (DAY, "mm-dd-yy", "2024-03-05"), (DAY, "yyyy\\-mm", "2024-03"), (DAY, "hh:mm:ss.00", "14:07:09.00"),
    (datetime.time(0, 5), "h:mm AM/PM", "12:05 AM"), (datetime.time(7, 30), "hh:mm", "07:30"),
    (datetime.time(7, 30, 15, 250_000), "ss.00", "15.25"), (datetime.time(7, 59, 59, 999_999), "h:mm:ss", "8:00:00"),
    (datetime.date(2024, 3, 5), "General", "2024-03-05"), (datetime.timedelta(hours=37.5), "[h]:mm", "37:30"),
    (datetime.timedelta(minutes=75, seconds=5), "[mm]:ss", "75:05"), (datetime.timedelta(hours=1), "[ss]", "3600"),
    (datetime.timedelta(hours=-2.5), "[h]:mm", "-2:30"), (datetime.timedelta(days=2), '[h]" hours"', "48 hours"),
])
def test_moments(value, code, text):
    assert shown_value(value, code) == text


@pytest.mark.parametrize(("value", "code", "text"), [
    ("00042", "@", "00042"), ("A7", '"No. "@', "No. A7"), ("n/a", '0;-0;0;"("@")"', "(n/a)"), ("x", "0.00", "x"),
    ("#N/A", "0.00", "#N/A"), (True, "0", "TRUE"), ("secret", ";;;", ""), (float("inf"), "0", "")])
def test_texts_errors_and_truths(value, code, text):
    assert shown_value(value, code) == text


@given(st.floats(-1e12, 1e12), st.text(st.sampled_from('0#?.,%E+-/;[]<>="$€_*\\@ymdhs: AMPGeneral'), max_size=14))
def test_any_code_shows_some_text(value, code):
    assert isinstance(show_number(value, code), str)


@given(st.integers(-10**12, 10**12), st.integers(0, 4))
def test_plain_decimals_are_those_of_python(value, digits):
    number = value / 10 ** digits
    code = "0." + "0" * digits if digits else "0"
    assert show_number(number, code).lstrip("-").rstrip(".") == f"{abs(number):.{digits}f}"
    assert show_number(number, f"#,##{code}").rstrip(".").lstrip("-") == f"{abs(number):,.{digits}f}"
