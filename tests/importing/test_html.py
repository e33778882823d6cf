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
    assert texts(blocks) == ["10^-3 m^3, Ca^2+, 1st, people[2]", "Area a^2.", "Now 7 euros."]
    assert blocks[-1].rows == [("km^2", "5")] and document.notes == [
        "1 struck-out passages are left out"]


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


def shown(tmp_path, text):
    """All words of a page's blocks."""
    return [getattr(b, "text", None) or b.rows for b in page(tmp_path, text)[1]]


@pytest.mark.parametrize(("source", "words"), [
    ("A = x<sup>2n</sup>, e<sup>-x+1</sup>, A<sup>T</sup>, 5.1<sup>e</sup>, <sup>14</sup>C, Na<sup>+</sup>",
     "A = x^2n, e^(-x+1), A^T, 5.1e, ^14C, Na^+"),
    ("Acme<sup>®</sup> 2<sup>ème</sup>, <sup>1</sup>⁄<sub>2</sub>, 3<sup>1</sup>/<sub>2</sub>",
     "Acme® 2ème, 1⁄2, 3 1/2"),
    ("x<sub>1</sub>, 10<sub>2</sub>, log<sub>10</sub>5, V<sub>max</sub>, a<sub>i+1</sub>, C<sub>6</sub>H<sub>12</sub>",
     "x_1, 10_2, log_10 5, V_max, a_(i+1), C6H12"),
    ("1,200<sup>[3]</sup> or 7<sup><a href=#n>4</a></sup> or 8<a href=#n><sup>5</sup></a>", "1,200[3] or 7[4] or 8[5]"),
    ("<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>", "(a + b)/2"),
    ("is <math><semantics><mrow><mi>x</mi></mrow><annotation encoding='application/x-tex'>x_{0}</annotation>"
     "</semantics></math>.", "is x_{0}."),
    ("is <math><msqrt><msubsup><mi>k</mi><mi>i</mi><mn>2</mn></msubsup></msqrt><mo>=</mo><mn>3</mn></math>",
     "is √(k_i^2) = 3"),
    ("is <span class=mwe-math-element><span style='display: none'><math alttext='{\\displaystyle c^{2}}'><mi>c</mi>"
     "</math></span><img class=mwe-math-fallback-image-inline alt='{\\displaystyle c^{2}}' src=//a/b.svg></span>, ok",
     "is c^{2}, ok"),
    ("is <img class=mwe-math-fallback-image-inline alt='{\\displaystyle c}' src=/b.svg>.", "is c."),
    ("is <span class=katex><span class=katex-mathml><math><mi>y</mi></math></span><span class=katex-html "
     "aria-hidden=true><b>y</b></span></span>.", "is y."),
    ("is <script type=math/tex>a < b</script>.", "is a < b."),
    ("He says <q>yes</q>; a <span style='text-decoration: line-through'>b</span> c", "He says “yes”; a c"),
])
def test_raised_and_lowered_type_and_formulas(tmp_path, source, words):
    assert shown(tmp_path, f"<p>{source}</p>") == [words]


@pytest.mark.parametrize(("source", "words"), [
    ("<ol type=a start=3><li>x<li>y</ol>", ["c. x", "d. y"]),
    ("<ol type=I start=3><li>x<li value=9>y<li>z</ol>", ["III. x", "IX. y", "X. z"]),
    ("<ol style='list-style-type: lower-alpha' start=27><li>x</ol>", ["aa. x"]),
    ("<ol reversed><li>x<li>y</ol>", ["2. x", "1. y"]),
    ("<ol reversed start=10><li>x<li>y</ol>", ["10. x", "9. y"]),
    ("<ol start=-1><li>x<li>y</ol>", ["-1. x", "0. y"]),
    ("<ol style='list-style: none'><li>x</ol>", ["x"]),
    ("<ol><li><h3>Open</h3><p>it</p><li><pre>a\n b</pre></ol>", ["1. Open", "it", "2. a\n b"]),
    ("<ol><li>x<ol type=i><li>y<ul><li>z</ul></ol><li>w</ol>", ["1. x", "- i. y", "- - z", "2. w"]),
    ("<dl><dt>Bay</dt><dd>A place.</dd><dd>A colour.</dd><dt>Why?<dt>When<dd><p>So.</dl>",
     ["Bay: A place.", "A colour.", "Why?, When: So."]),
    ("<dl><dt>Alone</dt></dl><p>After</p>", ["Alone", "After"]),
    ("<dl><dt>Outer</dt><dd><dl><dt>Inner</dt><dd>x</dd></dl></dd></dl>", ["Outer", "Inner: x"]),
])
def test_numbers_of_lists_and_terms(tmp_path, source, words):
    assert shown(tmp_path, source) == words


def test_controls_and_their_labels_stand_apart(tmp_path):
    assert shown(tmp_path, "<form><fieldset><legend>Order</legend><label>Name</label><input value=Ada>"
                           "<label><input type=radio checked>Post</label><label><input type=radio>Van</label>"
                           "<select><optgroup label=A><option label=One><option>Two</select>"
                           "<textarea>first\n  second</textarea><input placeholder=no><input type=submit value=Send>"
                           "<button>Yes</button><button>No</button></fieldset></form>") == [
        "Order", "Name Ada [x] Post [ ] Van One; Two", "first\n  second", "Send Yes No"]
    assert shown(tmp_path, "<span role=checkbox aria-checked=true>Paid</span><span role=checkbox aria-checked=false>"
                           "Sent</span><dialog><p>Sure?</p></dialog><svg><title>no</title><text>East</text></svg>"
                           "<template>no</template><div><template shadowrootmode=open>Shadow</template></div>") == [
        "[x] Paid [ ] Sent", "Sure?", "East", "Shadow"]


def test_what_is_hidden_is_left_out_with_a_note_unless_a_reader_opens_it(tmp_path):
    document, blocks = page(
        tmp_path,
        "<nav>Home</nav><p hidden>One secret.</p><p style='visibility: hidden'>Two.</p><table><tr><th>a<th>b"
        "<tr hidden><td>no<td>no<tr><td>1<td>2</table><h3><button aria-expanded=false>Where?</button></h3>"
        "<div hidden>Here.</div><button aria-controls=p1>When?</button><p>x</p>"
        "<div id=p1 style='display:none'>Soon.</div>"
        "<div role=heading aria-level=4>Deep</div><iframe src=map.html></iframe>")
    assert [(b.level, b.text) for b in blocks if isinstance(b, Heading)] == [(3, "Where?"), (3, "When?"), (4, "Deep")]
    assert texts(blocks) == ["Here.", "x", "Soon."] and blocks[0].rows == [("1", "2")]
    assert document.notes == ["3 hidden passages are left out (the first: “One secret.”)",
                              "1 menus are left out (the first: “Home”)",
                              "1 pages that it shows inside are not read: map.html"]


def test_pages_without_words_say_so(tmp_path):
    document, blocks = page(tmp_path, "<title>App</title><div id=root></div><script>draw()</script>")
    assert blocks == [] and "scripts" in document.notes[0]
    assert shown(tmp_path, "<div id=root></div><noscript><p>Call 555.</p></noscript>") == ["Call 555."]
    assert shown(tmp_path, "<p>Shown</p><noscript><p>Call 555.</p></noscript>") == ["Shown"]


@pytest.mark.parametrize(("source", "header", "rows", "caption"), [
    # An infobox with rows across, and one whose rows are marked by nothing.
    ("<tr><th colspan=2>Pier<tr><td colspan=2>A view<tr><th>Built<td>1911<tr><th>Length<td>90 m<tr><th colspan=2>More"
     "<tr><th>Owner<td>Town", ("", ""),
     [("Built", "1911"), ("Length", "90 m"), ("More", ""), ("Owner", "Town")], "Pier. A view"),
    ("<tr><td>Owner<td>Town<tr><td>Use<td>Museum", ("", ""), [("Owner", "Town"), ("Use", "Museum")], ""),
    ("<tr><td>Owner:<td>Town<tr><td>Seats:<td>40", ("", ""), [("Owner:", "Town"), ("Seats:", "40")], ""),
    ("<tr><td>Dish<td>Price<tr><td>Tea<td>2.50<tr><td>Cake<td>4.00", ("Dish", "Price"),
     [("Tea", "2.50"), ("Cake", "4.00")], ""),
    ("<tr><td><b>Dish</b><td><strong>Cook</strong><tr><td>Tea<td>Ann", ("Dish", "Cook"), [("Tea", "Ann")], ""),
    # A title row above two rows of names; the foot is shown last.
    ("<thead><tr><th colspan=3>Ships<tr><th rowspan=2>Port<th colspan=2>1911<tr><th>In<th>Out"
     "<tfoot><tr><td>All<td>9<td>8<tbody><tr><td>Ilmen<td>9<td>8", ("Port", "1911 In", "1911 Out"),
     [("Ilmen", "9", "8"), ("All", "9", "8")], "Ships"),
    ("<tr><th>Who<th>What<tr><td><ul><li>Ann<li>Bob</ul><td><img alt=Yes src=t.png>", ("Who", "What"),
     [("Ann; Bob", "Yes")], ""),
    ("<tr><th>Club<td><table><tr><td>a<td>1<tr><td>b<td>2</table><tr><th>Town<td>Ilmen<tr><th>Year<td>1911", ("", ""),
     [("Club", "a, 1; b, 2"), ("Town", "Ilmen"), ("Year", "1911")], ""),
])
def test_headers_and_titles_of_tables(tmp_path, source, header, rows, caption):
    _, blocks = page(tmp_path, f"<table>{source}</table>")
    assert [(b.header, b.rows, b.caption) for b in blocks] == [(header, rows, caption)]


def test_tables_that_only_place_things_are_text(tmp_path):
    assert shown(tmp_path, "<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>"
                           "<table><tr><td><h2>Left</h2><p>words<td>right<tr><td>c<td>d</table>") == [
        "a", "b", "c", "d", "Left", "words", "right", "c", "d"]


def test_pictures_from_elsewhere_are_said_in_words(tmp_path):
    document, blocks = page(tmp_path, "<p>See <img src=https://a/b.png alt='the pier'> and <img class=emoji alt=😀 "
                                      "src=data:x> <img src=c.png alt=crane></p><h1><img alt=Acme src=l.png></h1>"
                                      "<body><svg><title>no</title></svg>")
    assert blocks == [Paragraph("See [the pier] and 😀"), Heading(1, "Acme")]
    assert document.captions == {"c.png": "crane", "l.png": "Acme"} and document.title == ""


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
