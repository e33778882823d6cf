"""Declared encodings by the rules of browsers, byte-order marks, and notes on bytes that cannot be read."""

import pytest

from canopy.importing.blocks import Paragraph, clean
from canopy.importing.csv_files import read_csv
from canopy.importing.decoding import find_encoding, read_text
from canopy.importing.encoding_labels import declared_encoding, label_name
from canopy.importing.html import read_html
from canopy.ingest.sink import Unusable


def html_text(tmp_path, data):
    (tmp_path / "a.html").write_bytes(data)
    document = read_html(tmp_path / "a.html")
    return "\n".join(b.text for b in document.blocks if isinstance(b, Paragraph)), document.notes


@pytest.mark.parametrize(("label", "name"), [
    ("ISO-8859-1", "cp1252"), (" latin1\n", "cp1252"), ("ascii", "cp1252"), ("x-user-defined", "cp1252"),
    ("gb2312", "gb18030"), ("GBK", "gb18030"), ("Shift_JIS", "cp932"), ("ks_c_5601-1987", "cp949"), ("l5", "cp1254"),
    ("tis-620", "cp874"), ("utf-16", "utf-8"), ("unicode", "utf-8"), ("koi8", "koi8_r"), ("mac", "mac_roman"),
    ("latin-9", ""), ("utf-7", ""), ("iso8859_1 ", ""), ("", ""),
])
def test_labels(label, name):
    assert label_name(label) == name
    if name:
        assert "a".encode(name).decode(name) == "a"


@pytest.mark.parametrize(("head", "label"), [
    (b"<meta charset=koi8-r>", "koi8-r"),
    (b"<META CharSet = 'koi8-r' >", "koi8-r"),
    (b"<!-- <meta charset=big5> --><meta charset=koi8-r>", "koi8-r"),
    (b"<!--><meta charset=koi8-r>", "koi8-r"),
    (b'<link title="<meta charset=big5>"><meta name=x\ncharset="koi8-r"/>', "koi8-r"),
    (b'<meta content="text/html; charset = \'koi8-r\'" http-equiv=content-type>', "koi8-r"),
    (b'<meta content="text/html; charset=koi8-r" name=description>', ""),
    (b"<metal charset=big5></meta charset=big5>", ""),
    (b"<meta charset=nonsense><meta charset=koi8-r>", "koi8-r"),
    (b'<?xml version="1.0" encoding="koi8-r"?><html>', "koi8-r"),
    (b'<?xml version="1.0" encoding="big5"?><html><meta charset=koi8-r>', "koi8-r"),
    (b"<p>charset=koi8-r", ""),
])
def test_what_a_page_declares(head, label):
    assert declared_encoding(head) == label


def test_a_byte_order_mark_comes_before_what_is_declared(tmp_path):
    page = "<meta charset=koi8-r><p>Größe"
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert html_text(tmp_path, page.encode(encoding)) == ("Größe", [])


def test_seven_bits_with_marks_are_what_they_declare(tmp_path):
    page = "<meta charset=iso-2022-jp><p>港の倉庫"
    assert html_text(tmp_path, page.encode("iso2022_jp")) == ("港の倉庫", [])


def test_utf_8_stays_utf_8_whatever_it_declares(tmp_path):
    text, notes = html_text(tmp_path, "<meta charset=iso-8859-1><p>Größe €".encode())
    assert text == "Größe €" and notes == ["declares cp1252, but all of it is UTF-8: read as UTF-8"]
    # Two letters of GBK that are two of UTF-8 as well.
    data = b"<meta charset=gb2312><p>" + b"\xd0\xa1\xd0\xa2"
    assert html_text(tmp_path, data) == (b"\xd0\xa1\xd0\xa2".decode("gbk"), [])


def test_a_declaration_that_the_bytes_deny_does_not_count(tmp_path):
    text, notes = html_text(tmp_path, ("<meta charset=shift_jis><p>" + "Прибыл корабль из дальних стран. " * 9).encode(
        "cp1251"))
    assert text.startswith("Прибыл корабль") and "guess" in notes[0]


def test_bytes_that_cannot_be_read_are_noted_with_their_line(tmp_path):
    text, notes = html_text(tmp_path, b"<meta charset=windows-1252>\n<p>caf\xe9 d\xe9j\xe0 " + b"\xe9t\xe9 " * 20
                            + b"\n<p>a\x81b")
    assert text.startswith("café déjà") and text.endswith("a\ufffdb")
    assert notes == ["damaged: 1 characters that are not cp1252 stand as \ufffd, the first in line 3"]
    (tmp_path / "a.csv").write_bytes("\ufeffname,note\nAnn,fine\n".encode() + b"Bob,\xff\n" + b"Eve,ok\n" * 5)
    document = read_csv(tmp_path / "a.csv")
    rows = [tuple(row) for block in document.blocks for row in getattr(block, "rows", ())]
    assert ("Bob", "\ufffd") in rows and "line 3" in document.notes[0]


def test_control_characters_never_stay(tmp_path):
    assert clean("\x80 25 \x96 \x93terms\x94\x85 a\x81b") == "€ 25 – “terms”… ab"
    text, _ = html_text(tmp_path, "<p>\x93Fee\x94\x85 &#128; &#x96;".encode())
    assert text == "“Fee”… € –"
    (tmp_path / "a.txt").write_bytes("Fee\x85\x80".encode())
    assert read_text(tmp_path / "a.txt", []) == "Fee…€"


def test_texts_without_a_mark_of_two_bytes_a_letter(tmp_path):
    for encoding in ("utf-16-le", "utf-16-be"):
        (tmp_path / "a.txt").write_bytes("Bay 7".encode(encoding))
        assert read_text(tmp_path / "a.txt", []) == "Bay 7"


def test_stray_nul_bytes_and_odd_bytes_lose_no_file(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"The harbour was dredged." * 9 + b"\x00 Done.")
    assert find_encoding(tmp_path / "a.txt").note == "NUL bytes in it are left out"
    (tmp_path / "a.txt").write_bytes(b"plain words of a log\n" * 9 + b"\x81 \x8d\n")
    assert "guess" in find_encoding(tmp_path / "a.txt").note


def test_a_mark_before_noise_is_no_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe" + b"\x00\xd8\x41\xdc\x00\xdc" * 200)
    with pytest.raises(Unusable, match="no text"):
        find_encoding(tmp_path / "a.txt")
