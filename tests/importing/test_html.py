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
