"""Names, content words and kinds of questions, by rules that hold on any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.llm.plain.asking import alternatives, asks_for_several, direction_of, kind_of
from canopy.llm.plain.candidates import amounts, find_candidates, years
from canopy.llm.plain.sentences import Sentence, cut_evidence, cut_text
from canopy.llm.plain.words import OF, bare_title, content, names, question_entities, quoted, stem
from canopy.llm.roles import RegionView


@pytest.mark.parametrize(("text", "expected"), [
    ("The University of Oxford was founded in 1096.", ("University of Oxford", "1096")),
    ("J. R. R. Tolkien and C. S. Lewis taught there; Émile Zola didn't.",
     ("J. R. R. Tolkien and C. S. Lewis", "Émile Zola")),
    ("He moved to Paris. She stayed in Rome.", ("Paris", "Rome")),
    ("It is called Kiss and Tell (1945 film).", ("Kiss and Tell", "1945")),
    ("who sang the song in 1999", ("1999",)),
    ("nothing here at all", ()), ("", ()), ("A B", ()), ("...", ()),
])
def test_names(text: str, expected: tuple[str, ...]) -> None:
    assert names(text) == expected


def test_names_for_answers_are_cut_at_and() -> None:
    assert names("Gas Huffer and Fatboy Slim", OF) == ("Gas Huffer", "Fatboy Slim")


@given(st.text(max_size=300))
def test_rules_take_any_text(text: str) -> None:
    assert all(len(n) > 1 and n == n.strip() for n in names(text))
    assert all(s == s.lower() or s for s in content(text))
    assert kind_of(text) in ("verdict", "choice", "person", "place", "time", "number", "other")
    pair = alternatives(text)
    assert pair is None or pair[0].lower() != pair[1].lower()
    assert (
        "".join("".join(cut_text(text, "text")).split()) == "".join(text.split())
        and years(text) is not None
        and amounts(text) is not None
    )
    for kind in ("person", "time", "number", "other"):
        for c in find_candidates(Sentence(text, "", 0, "text"), kind):  # type: ignore[arg-type]
            assert (
                c.text
                and 0 <= c.fit <= 1
                and " ".join(c.text.split()) in " ".join(text.split())
                and text.startswith(c.text.split()[0], c.at)
            )


def test_stems_and_titles() -> None:
    assert stem("directed") == stem("directing") == stem("director") == "direct" and stem("bus") == "bus"
    assert content("The films were directed by him") == {"film", "direct"}
    assert bare_title("Kiss and Tell (1945 film)") == "Kiss and Tell" and bare_title("(sic)") == ""
    assert quoted('He sang "Yellow Moon" and “Blue Sun”') == ["Yellow Moon", "Blue Sun"]
    assert question_entities('Who wrote "Dune" for Chilton in 1965?') == ["Dune", "Chilton", "1965"]


@pytest.mark.parametrize(("question", "kind"), [
    ("Who wrote Dune?", "person"), ("In which year was it finished?", "time"), ("how many lakes are there", "number"),
    ("Where is it?", "place"),
    ("Is Mars red?", "verdict"), ("Which is older, Rome or Paris?", "choice"),
    ("What do King Roger and La donna del lago have in common?", "other"),
    ("Barbara had a famous cousin who died in what year?", "time"),
    ("The poem was written by the man who lived in which city?", "place"),
    ("What famous American author lived there?", "person"), ("What is the total revenue in 2019?", "number"),
    ("Tell me a story.", "other"), ("", "other"),
])
def test_kinds(question: str, kind: str) -> None:
    assert kind_of(question) == kind


@pytest.mark.parametrize(("question", "pair"), [
    ("Which magazine was started first Arthur's Magazine or First for Women?",
     ("Arthur's Magazine", "First for Women")),
    ("Who is older, Bill Murray or Dan Aykroyd?", ("Bill Murray", "Dan Aykroyd")),
    ("Did he win or lose?", None), ("Rome or Rome?", None), ("Is it in Paris or not?", None),
])
def test_alternatives(question: str, pair: tuple[str, str] | None) -> None:
    assert alternatives(question) == pair


def test_directions_and_lists() -> None:
    assert direction_of("Which was founded first?") == ("time", -1) and direction_of("Who is younger?") == ("time", 1)
    assert (
        direction_of("Which is larger?") == ("size", 1)
        and direction_of("Which has fewer people?") == ("size", -1)
        and direction_of("Which is it?") == ("", 0)
    )
    assert asks_for_several("What are the respective values in 2017 and 2018?") and not asks_for_several(
        "What is its name?"
    )


def test_candidates_by_kind() -> None:
    text = "On 7 January 1943 the BBC paid $3.5 million to Orson Welles in New York for twenty-four shows."
    of = {k: [c.text for c in find_candidates(Sentence(text, "Radio", 0, "text"), k)]
          for k in ("time", "number", "person", "other")}  # type: ignore[arg-type]
    assert of["time"] == ["7 January 1943"] and {"$3.5 million", "twenty-four"} <= set(of["number"])
    assert {"BBC", "Orson Welles", "New York", "Radio"} <= set(of["person"]) and "twenty-four shows" in of["other"]
    row = Sentence("Element is Neon; Boiling point is 27.1; a note", "Gases", 0, "table")
    cells = find_candidates(row, "number")
    assert [(c.text, c.column) for c in cells] == [("Neon", "Element"), ("27.1", "Boiling point"), ("a note", "")]
    assert [c.fit for c in cells] == [0.0, 1.0, 0.0] and all(row.text[c.at:].startswith(c.text) for c in cells)
    assert years("from 1943 to 2007, 12345") == [1943, 2007] and amounts("1,234 in 1999 and 5.5%") == [1234.0, 5.5]


def test_evidence_without_words_gives_its_title() -> None:
    views = [RegionView("a", "image", "A dam", 0, 1, ""), RegionView("b", "text", "", 0, 1, " "),
             RegionView("c", "table", "T", 0, 2, "T\nx is 1\ny is 2")]
    assert [(s.text, s.region) for s in cut_evidence(views)] == [("A dam", 0), ("T", 2), ("x is 1", 2), ("y is 2", 2)]
    assert [s.full for s in cut_evidence(views)] == ["A dam", "T", "T. x is 1", "T. y is 2"]
