"""Subtitle files as they are found: no word is lost or read twice, markup and notes go, odd times are understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.ingest.subtitles import parse_cues
from canopy.items import Cue


def texts(file: str) -> list[str]:
    return [cue.text for cue in parse_cues(file)]


def test_subrip_and_odd_cues() -> None:
    cues = parse_cues(
        "1\r\n00:00:01,5 --> 00:00:02,25\r\nHello <i>there</i>\r\n\r\n"
        "2\r\n01:00:00,000 --> 00:59:00,000\r\nbackwards\r\n\r\n3\r\n00:00:00,000 --> 00:00:00,500\r\n\r\n"
    )
    assert cues == (Cue(1.5, 2.25, "Hello there"),)


def test_a_blank_line_does_not_end_a_cue() -> None:
    file = ("1\n00:00:01,000 --> 00:00:04,000\nThe ferry is late,\n\nit comes at nine.\n\n"
            "2\n00:00:05,000 --> 00:00:06,000\n\nAfter a blank line.\n\n3\n00:00:07,000 --> 00:00:08,000\n1914\n\n"
            "4\n00:00:09,000 --> 00:00:10,000\nRoom\n12\n")
    assert texts(file) == ["The ferry is late, it comes at nine.", "After a blank line.", "1914", "Room 12"]


def test_a_missing_blank_line_makes_no_words_of_numbers() -> None:
    assert texts("1\n00:00:01,000 --> 00:00:02,000\nOne\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n") == ["One", "Two"]


def test_notes_styles_and_names_of_cues_are_no_words() -> None:
    file = (
        "WEBVTT\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v Ada>One &amp; two\n\n"
        "NOTE a remark\nof two lines\n\nsecond part\n00:03.000 --> 00:04.000\nNOTE is a word here\n"
    )
    assert texts(file) == ["Ada: One & two", "NOTE is a word here"]


@pytest.mark.parametrize(("times", "start", "end"), [
    ("0:0:1 --> 0:0:2", 1, 2), ("00:01.5 -> 00:02,25", 1.5, 2.25), ("1 00:00:01,000 --> 00:00:02,000", 1, 2),
    ("00: 00: 01, 000 --> 00: 00: 02, 000", 1, 2), ("100:00:00,000 --> 100:00:01,000", 360_000, 360_001),
    ("00:00:01:500 --> 00:00:02:500", 1.5, 2.5), ("00:00:01,000 → 00:00:02,000 X1:40 X2:600", 1, 2),
    ("0:01 --> 0:02", 1, 2), ("1:02,5 --> 1:03,25", 62.5, 63.25), ("00:00:01.000-->00:00:02.000", 1, 2),
    ("1.5 --> 2.25", 1.5, 2.25), ("00:00:01,000 - -> 00:00:02,000", 1, 2), ("00:01.0 => 00:02.0", 1, 2),
    ("75:30.000 --> 76:00.000", 4530, 4560), ("00:00:01,000 - 00:00:02,000", 1, 2),
    ("00:01.000 --> 00:02.000 position:10%,line-left align:start", 1, 2),
    ("00:00:01.1234567 --> 00:00:02.000", 1.123, 2)])
def test_odd_times(times: str, start: float, end: float) -> None:
    assert parse_cues(f"{times}\nWords\n") == (Cue(start, end, "Words"),)


@pytest.mark.parametrize(
    "line",
    ["I {laughs} at that", "5 < 6 and 7 > 6", r"C:\new\Notes", "from 00:01.000 to 00:02.000", "<3 you", "x &lt; y"],
)
def test_words_that_look_like_markup_stay(line: str) -> None:
    assert texts(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{line}\n") == [line.replace("&lt;", "<")]


def test_rolling_captions_are_read_once() -> None:
    rolling = [
        "WEBVTT",
        "00:00.000 --> 00:02.000\n \nwe<00:00:01.000><c> boil</c>",
        "00:02.000 --> 00:02.010\nwe boil\n ",
        "00:02.010 --> 00:04.000\nwe boil\nthe water",
        "00:04.000 --> 00:04.010\nthe water\n ",
        "00:04.010 --> 00:06.000\nthe water\nfirst",
    ]
    assert parse_cues("\n\n".join(rolling)) == (Cue(0, 2, "we boil"), Cue(2.01, 4, "the water"), Cue(4.01, 6, "first"))


def test_two_people_may_say_the_same() -> None:
    sentences = ["No.", "No.", "Yes!", "Why?", "Because.", "No.", "No."]
    file = "\n\n".join(f"00:0{n}.000 --> 00:0{n + 1}.000\n{words}" for n, words in enumerate(sentences))
    assert texts(file) == sentences


def test_substation_scripts_are_read() -> None:
    script = (
        "[Script Info]\nTitle: x\n\n[Events]\n"
        "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
        "Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,no\n"
        "Dialogue: 0,0:00:01.00,0:00:02.50,Default,,0,0,0,,{\\i1}Hello{\\i0}\\Nthere, you\n"
    )
    assert parse_cues(script) == (Cue(1, 2.5, "Hello there, you"),)


def test_a_speaker_a_reading_and_a_break_stay_and_unknown_tags_are_words() -> None:
    file = ("WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Ann Lee>Good morning.</v>\n<v Bo>Hello,<br/>all\n\n"
            "00:03.000 --> 00:04.000\n<ruby>茶<rt>cha</rt></ruby> <c.red>is</c> &lrm;tea &nbsp; <laughs> <ann@x.org>\n")
    assert texts(file) == ["Ann Lee: Good morning. Bo: Hello, all", "茶(cha) is tea <laughs> <ann@x.org>"]


@pytest.mark.parametrize(("file", "cues", "note"), [
    ("1\n00:00:01,000 -->\nFirst\n\n2\n00:00:03,000 --> 00:00:04,000\nNext\n",
     [(1, 3, "First"), (3, 4, "Next")], "line 2: '00:00:01,000 -->' holds no start and end"),
    ("1\n00:00:01,000 --> 00:00:02,000\nFirst\n\n2\n0o:oo:o3 --> soon:\nNext\n",
     [(1, 2, "First"), (2, 2, "Next")], "line 6: '0o:oo:o3 --> soon:' holds no start and end"),
    ("1\n00:00:05,000 --> 00:00:02,000\nBack to front\n\n2\n-00:00:01,000 --> 00:00:04,000\nNext\n",
     [(0, 4, "Next")], "line 2: a subtitle ends (2 s) before it starts (5 s): left out: 'Back to front'"),
    ("1\n00:00:01,000 --> 00:00:02,000\nFirst\n\n2\nLost\n\n3\n00:00:05,000 --> 00:00:06,000\nNext\n",
     [(1, 2, "First Lost"), (5, 6, "Next")], "line 5: subtitle 2 has no times"),
    ("0:00:01.000,0:00:02.000\nFirst\n\n0:00:0x.000,0:00:04.000\nLost\n\n0:00:05.000,0:00:06.000\nNext\n",
     [(1, 2, "First"), (2, 5, "Lost"), (5, 6, "Next")], "line 4: '0:00:0x.000,0:00:04.000' holds no start and end"),
    ("Made by Ann\n\n1\n00:00:01,000 --> 00:00:02,000\nFirst\n", [(1, 2, "First")],
     "words before the first subtitle are left out: 'Made by Ann'"),
])
def test_what_cannot_be_read_is_noted_with_its_line(file: str, cues: list[tuple[float, float, str]], note: str) -> None:
    notes: list[str] = []
    assert [(c.start, c.end, c.text) for c in parse_cues(file, notes)] == cues
    assert len(notes) == 1 and note in notes[0]


def test_a_file_of_many_faults_has_few_notes() -> None:
    file = "\n\n".join(f"{n}\n00:00:{n:02},000 --> 00:00:00,000\nWord {n}" for n in range(1, 50))
    notes: list[str] = []
    parse_cues(file, notes)
    assert len(notes) == 21 and notes[-1] == "29 more of such notes"


def test_the_header_of_webvtt_is_no_fault() -> None:
    notes: list[str] = []
    parse_cues("WEBVTT - A talk\nKind: captions\n\nNOTE by Ann\n\n00:01.000 --> 00:02.000\nHi\n", notes)
    assert notes == []


def test_a_number_under_words_is_a_word_unless_it_counts_on() -> None:
    file = "00:01.000 --> 00:02.000\nIn the year\n1914\n00:03.000 --> 00:04.000\nwar came\n"
    assert texts(file) == ["In the year 1914", "war came"]


def test_captions_that_grow_word_by_word_are_read_once() -> None:
    words = ["we", "we boil", "we boil the", "we boil the water", "first"]
    file = "\n\n".join(f"00:0{n}.000 --> 00:0{n + 1}.000\n{line}" for n, line in enumerate(words))
    assert " ".join(texts(file)) == "we boil the water first"


def test_layers_of_one_subtitle_are_read_once() -> None:
    assert texts("00:01.000 --> 00:02.000\nHi\n\n00:01.000 --> 00:02.000\nHi\n") == ["Hi"]


@pytest.mark.parametrize("file", [
    "{1}{1}25\n{25}{50}Hello|there\n", "[10][20]Hello|there\n", "0:00:01.000,0:00:02.000\nHello\nthere\n",
    "<SAMI><BODY><SYNC Start=1000><P Class=E>Hello<br>there<SYNC Start=2000><P Class=E>&nbsp;</BODY></SAMI>"])
def test_other_formats_are_read(file: str) -> None:
    assert parse_cues(file) == (Cue(1, 2, "Hello there"),)


def test_frames_without_a_rate_and_broken_dialogue_are_noted() -> None:
    notes: list[str] = []
    assert parse_cues("{0}{25}Hello\n{50}{75}World\n", notes) == () and "frame rate" in notes[0]
    script = ("[Script Info]\n\n[Events]\n"
              "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n")
    notes = []
    assert parse_cues(f"{script}Dialogue: cut off\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,Hi\n", notes) and (
        notes == ["line 5: a line of dialogue that cannot be read: 'Dialogue: cut off'"])


WORD = st.sampled_from(["tea", "12", "a<b", "{x}", "NOTE", "00:01.000", "\\N", "-->", "", " "])


@given(st.lists(st.lists(WORD, max_size=4).map(" ".join), max_size=12).map("\n".join))
def test_any_text_is_read_or_gives_no_cues(file: str) -> None:
    for cue in parse_cues(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{file}\n"):
        assert cue.end >= cue.start and cue.text == " ".join(cue.text.split())
