"""HTML pages: what a browser shows, with its tables, whatever the nesting."""

import pytest

from canopy.importing.blocks import Heading, Paragraph, TableBlock
from canopy.importing.html import read_html
from canopy.ingest.sink import Unusable

PAGE = """<!doctype html><html><head><title>Ilmen  harbour</title><style>p {}</style></head><body>
<nav><a href=/>Home</a></nav><script>var a = "<p>no</p>";</script>
<h1>Ilmen</h1><p>The   harbour<br>was <b>dred</b>ged.<!-- no --></p><p hidden>no</p><p style="display: none">no</p>
loose words <p>then a paragraph</p>
<ul><li>one<li>two <i>and</i> more</ul>
<figure><img src="img/pier.png" alt="The pier"><figcaption>The pier in 1911</figcaption></figure>
<table><caption>Ships</caption>
<thead><tr><th rowspan=2>Port<th colspan=2>1911</tr><tr><th>In<th>Out</tr></thead>
<tr><td rowspan="2">Ilmen<td>204<td>198<tr><td>7<td>5&nbsp;000<br>tons</table>
<table><tr><td><p>Placed by</p></td><td><table><tr><td>a<td>1<tr><td>b<td>2</table></td></tr></table>
<pre>  kept
    as is</pre></body></html>"""


def page(tmp_path, text, **kinds):
    path = tmp_path / "a.html"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    document = read_html(path)
    return document, list(document.blocks)


def test_a_page(tmp_path):
    document, blocks = page(tmp_path, PAGE)
    assert document.title == "Ilmen harbour" and document.captions == {"img/pier.png": "The pier. The pier in 1911"}
    assert [b.text for b in blocks if isinstance(b, Heading)] == ["Ilmen"]
    assert [b.text for b in blocks if isinstance(b, Paragraph)] == [
        "The harbour\nwas dredged.",
        "loose words",
        "then a paragraph",
        "one",
        "two and more",
        "The pier in 1911",
        "Placed by",
        "  kept\n    as is",
    ]
    first, second = (b for b in blocks if isinstance(b, TableBlock))
    assert first == TableBlock(
        ("Port", "1911 In", "1911 Out"), [("Ilmen", "204", "198"), ("Ilmen", "7", "5 000 tons")], "Ships"
    )
    assert (second.header, second.rows) == (("", ""), [("a", "1"), ("b", "2")])


@pytest.mark.parametrize("inside", ["<div>", "<table><tr><td>", "<b>", "<li><ul>"])
def test_nesting_without_end(tmp_path, inside):
    _, blocks = page(tmp_path, inside * 3_000 + "deep words")
    assert any("deep words" in b.text for b in blocks if isinstance(b, Paragraph)) or any(
        "deep words" in b.rows[0] for b in blocks
    )


def test_a_table_that_spans_without_end(tmp_path):
    with pytest.raises(Unusable, match="cells"):
        page(
            tmp_path,
            "<table>" + "<tr><td rowspan=65534 colspan=1000>x<td rowspan=9 colspan=9>y</tr>" * 900 + "</table>",
        )


def test_the_declared_encoding_counts_where_it_is_not_utf_8(tmp_path):
    text = '<meta http-equiv=Content-Type content="text/html; charset=koi8-r"><p>Это гавань</p>'
    document, blocks = page(tmp_path, text.encode("koi8-r"))
    assert blocks == [Paragraph("Это гавань")] and not document.notes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<",
        "<!DOCTYPE",
        "<table></table>",
        "<table><tr></table>",
        "<![CDATA[x",
        "<p colspan=99999999999999>a",
        "<img>",
    ],
)
def test_odd_pages_are_survived(tmp_path, text):
    page(tmp_path, text)


def texts(blocks):
    return [b.text for b in blocks if isinstance(b, Paragraph)]


@pytest.mark.parametrize(
    ("label", "text", "page_text"),
    [
        ("iso-8859-1", "Fee: € 25 – “terms”…", "Fee: € 25 – “terms”…"),
        ("us-ascii", "naïve", "naïve"),
        ("latin5", "ğ İ", "ğ İ"),
        ("x-sjis", "①番", "①番"),
        ("gb2312", "镕", "镕"),
    ],
)
def test_declared_encodings_are_read_as_browsers_read_them(tmp_path, label, text, page_text):
    written = {
        "iso-8859-1": "cp1252",
        "us-ascii": "cp1252",
        "latin5": "cp1254",
        "x-sjis": "cp932",
        "gb2312": "gb18030",
    }[label]
    _, blocks = page(tmp_path, f"<meta charset={label}><p>{text}</p>".encode(written))
    assert texts(blocks) == [page_text]


def test_words_of_buttons_and_summaries_are_headings(tmp_path):
    _, blocks = page(
        tmp_path,
        "<h2>Help</h2><p>Ask.</p><details><summary>Where is the key?</summary><p>At the desk.</p></details>"
        "<p>Or call.</p><div><button>When?</button><p>At nine.</p></div><form><button>Send</button></form>",
    )
    assert blocks == [
        Heading(2, "Help"),
        Paragraph("Ask."),
        Heading(3, "Where is the key?"),
        Paragraph("At the desk."),
        Heading(2, "Help"),
        Paragraph("Or call."),
        Heading(3, "When?"),
        Paragraph("At nine."),
        Heading(2, "Help"),
        Paragraph("Send"),
    ]


def test_values_of_form_fields(tmp_path):
    _, blocks = page(
        tmp_path,
        "<p>Name: <input value='Ada'><input type=hidden value=no></p>"
        "<p>Size: <select><option>S<option selected>M</select></p>"
        "<p><input type=checkbox checked> paid <input type=checkbox> sent</p><p><textarea>As agreed.</textarea></p>",
    )
    assert texts(blocks) == ["Name: Ada", "Size: M", "[x] paid [ ] sent", "As agreed."]


def test_powers_formulas_and_struck_out_words(tmp_path):
    document, blocks = page(
        tmp_path,
        "<p>10<sup>-3</sup> m<sup>3</sup>, Ca<sup>2+</sup>, 1<sup>st</sup>, people<sup><a href=#n>2</a></sup></p>"
        "<p>Area <math alttext='a^2'><msup><mi>a</mi><mn>2</mn></msup></math>.</p><p>Now <s>9</s> 7 euros.</p>"
        "<table><tr><th>Unit<th>n<tr><td>km<sup>2</sup><td>5</table>",
    )
    assert texts(blocks) == ["10^-3 m^3, Ca^2+, 1st, people2", "Area a^2 .", "Now 7 euros."]
    assert blocks[-1].rows == [("km^2", "5")] and document.notes == ["1 struck-out passages are left out"]


def test_lists_keep_their_numbers_and_nesting(tmp_path):
    _, blocks = page(
        tmp_path,
        "<ol start=3><li>Open.<li><p>Wait.</p><ul><li>Long<li>Still</ul><li value=9>Close.</ol><ul><li>Plain</ul>",
    )
    assert texts(blocks) == ["3. Open.", "4. Wait.", "- Long", "- Still", "9. Close.", "Plain"]


def test_a_table_named_by_its_rows_has_no_header(tmp_path):
    _, blocks = page(tmp_path, "<table><tr><th colspan=2>Pier</tr><tr><th>Built<td>1911<tr><th>Length<td>90 m</table>"
                               "<table><tr><th>Port<th>Depth<tr><th>Ilmen<td>9</table>")
    assert [(b.header, b.rows, b.caption) for b in blocks] == [
        (("", ""), [("Built", "1911"), ("Length", "90 m")], "Pier"), (("Port", "Depth"), [("Ilmen", "9")], "")]


def words(tmp_path, body):
    _, blocks = page(tmp_path, f"<html><body>{body}</body></html>")
    return [b.text for b in blocks if isinstance(b, Paragraph)]


def test_items_of_a_list_have_the_numbers_that_a_browser_shows(tmp_path):
    assert words(tmp_path, "<ol type=a start=26><li>x<li>y</ol>") == ["z. x", "aa. y"]
    assert words(tmp_path, "<ol type=I start=4><li>x<li type=1>y<li value=9>z</ol>") == ["IV. x", "5. y", "IX. z"]
    assert words(tmp_path, "<ol reversed><li>x<li>y</ol><ol reversed start=9><li>z<li>w</ol>") == [
        "2. x", "1. y", "9. z", "8. w"]
    assert words(tmp_path, "<ol type=i start=0><li>x</ol>") == ["0. x"]


def test_an_element_is_a_heading_by_its_role(tmp_path):
    _, blocks = page(tmp_path, "<div role=heading aria-level=3><button>When?</button></div><p>At noon.</p>"
                               "<p role=Heading>Where?</p><p>Here.</p>")
    assert [(b.level, b.text) for b in blocks if isinstance(b, Heading)] == [(3, "When?"), (2, "Where?")]


def test_a_formula_without_words_of_its_own_is_written_on_one_line(tmp_path):
    power = "<msup><mi>c</mi><mn>2</mn></msup>"
    assert words(tmp_path, f"<p>E = <math><mi>m</mi>{power}</math></p>") == ["E = m c^2"]
    assert words(tmp_path, "<math><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mn>12</mn></mfrac></math>") == [
        "(a + 1)/12"]
    assert words(tmp_path, "<math><msqrt><mi>x</mi><mo>+</mo><mi>y</mi></msqrt><mroot><mi>z</mi><mn>3</mn></mroot>"
                           "<msubsup><mi>t</mi><mn>0</mn><mi>k</mi></msubsup></math>") == ["√(x + y) 3√(z) t_0^k"]
    assert words(tmp_path, "<math>" + "<mrow>" * 500 + "<mi>x</mi>" + "</mrow>" * 500 + "</math>") == ["x"]


def test_the_title_of_a_group_of_fields_stands_apart(tmp_path):
    assert words(tmp_path, "<form><fieldset><legend>Your stay</legend><label>Name</label></fieldset></form>") == [
        "Your stay", "Name"]


@pytest.mark.parametrize(("head", "encoding", "text"), [
    ('<?xml version="1.0" encoding="windows-1251"?><html>', "cp1251", "Привет"),
    ("<html><meta charset=latin1>", "cp1252", "5 € – “x”"), ("<html><meta charset=us-ascii>", "cp1252", "5 €"),
    ("<html><meta charset=x-sjis>", "cp932", "①日本"), ("<html><meta charset=gb2312>", "gb18030", "镕基"),
    ("<html><meta charset=utf-16>", "utf-8", "naïve"), ("<html><meta charset=iso-8859-9>", "cp1254", "€ ğ")])
def test_labels_mean_what_browsers_take_them_for(tmp_path, head, encoding, text):
    document, blocks = page(tmp_path, f"{head}<body><p>{text}</p></body></html>".encode(encoding))
    assert [b.text for b in blocks] == [text] and not document.notes
