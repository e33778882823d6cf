"""What encoding a label means to a browser, and which one a page declares: the WHATWG Encoding and HTML standards.

Sources: https://encoding.spec.whatwg.org/#names-and-labels and
https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding
"""

from __future__ import annotations

import re

# By Python's name for what the standard decodes: its labels. Pages say ISO-8859-1 and mean Windows-1252. The last two
# a browser refuses; Python reads them.
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e "
                 "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
                 "iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 "
                 "iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8_r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8_u": "koi8-ru koi8-u",
    "mac_roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
              "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
              "windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp_ext": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
             "windows-949",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "hz": "hz-gb-2312",
    "iso2022_kr": "csiso2022kr iso-2022-kr",
}
_NAMES = {label: name for name, labels in _LABELS.items() for label in labels.split()}
# Encodings that write their letters in pairs of bytes, and those that write them in ASCII between marks.
PAIRS = frozenset({"gb18030", "big5hkscs", "euc_jp", "cp932", "cp949"})
SEVEN_BITS = {"iso2022_jp_ext": b"\x1b", "iso2022_kr": b"\x1b", "hz": b"~{"}

_XML = re.compile(rb"<\?xml\s[^>]*?\bencoding\s*=\s*([\"'])([^\"'>]{1,60})\1")
_TAG = re.compile(rb"<(?:!--|/?[a-zA-Z]|[!/?])")
_ATTRIBUTE = re.compile(rb"[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']?[^\s>]*)))?")
_CHARSET = re.compile(rb"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"']+))", re.I)


def label_name(label: str) -> str:
    """Python's name of the encoding that a browser reads for a label; empty if it is no label.

    A page that could be read as far as its label is not UTF-16, so that such a label means UTF-8.
    """
    name = _NAMES.get(label.strip(" \t\n\r\x0c").lower(), "")
    return "utf-8" if name.startswith("utf-16") else name


def declared_encoding(head: bytes) -> str:
    """The label of the encoding that the start of a page declares; empty if there is none.

    A ``<meta charset>`` or ``<meta http-equiv="Content-Type">`` outside comments, otherwise an XML declaration.
    """
    at = 0
    while match := _TAG.search(head, at):
        at = match.end()
        if match[0] == b"<!--":
            end = head.find(b"-->", match.start() + 2)
            if end < 0:
                break
            at = end + 3
        elif match[0][-1:].isalpha():
            name = re.compile(rb"[^\s/>]*").match(head, at - 1)
            at = name.end() if name else at
            attributes, at = _attributes(head, at)
            if name and name[0].lower() == b"meta" and match[0][:2] != b"</":
                label = _declared_by(attributes)
                if label_name(label):
                    return label
        else:
            end = head.find(b">", at)
            if end < 0:
                break
            at = end + 1
    xml = _XML.match(head)
    return xml[2].decode("ascii", "replace") if xml else ""


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag, the first of a name only, and where the tag ends."""
    attributes: dict[bytes, bytes] = {}
    while match := _ATTRIBUTE.match(head, at):
        attributes.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
        at = match.end()
    return attributes, at


def _declared_by(attributes: dict[bytes, bytes]) -> str:
    if b"charset" in attributes:
        label = attributes[b"charset"]
    elif attributes.get(b"http-equiv", b"").lower() == b"content-type":
        match = _CHARSET.search(attributes.get(b"content", b""))
        label = next(filter(None, match.groups()), b"") if match else b""
    else:
        label = b""
    return label.decode("ascii", "replace")
