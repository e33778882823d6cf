"""The extractive reader picks from what it is shown, never more, and the same every time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canopy.encoder.minilm import MiniLMEncoder
from canopy.items import Question
from canopy.llm.plain import plain_roles
from canopy.llm.plain.sentences import ENCODED, Likeness, cut_evidence
from canopy.llm.roles import RegionView, Roles, Trace
from tests.tiny_model import ITEMS

NILE, CURIE, MARS = (RegionView(i.id, "text", i.title, 0, 9, i.text) for i in (ITEMS[0], ITEMS[2], ITEMS[3]))
GASES = RegionView("tiny/elements", "table", "Noble gases", 0, 3,
              "Noble gases. Properties\nElement is Helium; Symbol is He; Boiling point in kelvin is 4.2\n"
              "Element is Neon; Symbol is Ne; Boiling point in kelvin is 27.1\nElement is Argon; Symbol is Ar; Boiling "
              "point in kelvin is 87.3")


def read(roles: Roles, words: str, *evidence: RegionView, trace: Trace | None = None, **details: str) -> str:
    return roles.reader.read(Question("q", "b", words, details=tuple(details.items())), evidence, trace
                             if trace is not None else Trace()).text


@pytest.mark.parametrize(("words", "answer"), [
    ("When was the Aswan High Dam finished?", "1970"), ("How many countries does the Nile flow through?", "eleven"),
    ("Where was Marie Curie born?", "Warsaw"), ("What is the boiling point of neon?", "27.1"),
    ("What is the symbol of argon?", "Ar"),
    ("Is Mars red?", "yes"), ("Did Marie Curie design the Aswan High Dam?", "no"),
])
def test_plain_questions(roles: Roles, words: str, answer: str) -> None:
    trace = Trace()
    assert read(roles, words, NILE, CURIE, MARS, GASES, trace=trace) == answer
    assert trace.calls == [] and trace.notes == {}


def test_choices_go_by_years_and_amounts(roles: Roles) -> None:
    rome = RegionView("r", "text", "Rome Cinema", 0, 1, "The Rome Cinema was opened in 1931. It has 400 seats.")
    paris = RegionView("p", "text", "Paris Cinema", 0, 1, "The Paris Cinema was opened in 1911. It has 900 seats.")
    assert read(roles, "Which was opened first, Rome Cinema or Paris Cinema?", rome, paris) == "Paris Cinema"
    assert read(roles, "Which was opened later, Rome Cinema or Paris Cinema?", rome, paris) == "Rome Cinema"
    assert read(roles, "Which is larger, Rome Cinema or Paris Cinema?", rome, paris) == "Paris Cinema"
    assert read(roles, "Which is nicer, Rome Cinema or Paris Cinema?", rome) in ("Rome Cinema", "Paris Cinema")


def test_options_by_evidence_and_guessed_without(roles: Roles) -> None:
    options = {"A": "A rocket", "B": "Farmers", "C": "Iron oxide", "D": "The moon"}
    trace = Trace()
    assert read(roles, "What gives Mars its red colour?", NILE, MARS, trace=trace,
                **options) == "C" and trace.notes == {}
    guess = read(roles, "What gives Mars its red colour?", trace=trace, **options)
    assert (
        guess in options
        and trace.notes == {"plain reader: an option guessed without evidence": 1}
        and trace.calls == []
    )
    inside = "What gives Mars its red colour?\n(A) A rocket\n(B) Iron oxide"
    assert read(roles, inside, MARS) == "B"


def test_without_evidence_there_is_no_answer(roles: Roles) -> None:
    for words in ("When was it finished?", "Is Mars red?", "Rome or Paris?"):
        trace = Trace()
        assert read(roles, words, trace=trace) == "" and trace.notes == {}
    trace = Trace()
    assert read(roles, "In what year?", RegionView("a", "text", "", 0, 1, "no dates here"),
                trace=trace) == "" and trace.notes == {"plain reader: no candidate": 1}
    assert read(roles, "", NILE) is not None and read(roles, "Who?", RegionView("a", "image", "", 0, 1, "")) == ""


def test_lists_only_where_the_benchmark_has_them_and_the_question_asks(roles: Roles) -> None:
    question = "Which elements are noble gases with a symbol?"
    assert read(roles, question, GASES, answer_type="span").count("; ") >= 1 and "; " not in read(roles, question,
                                                                                                  GASES)
    # what it says is never looked at
    assert read(roles, question, GASES, answer_type="multi-span") == read(roles, question, GASES, answer_type="span")
    assert "; " not in read(roles, "What is the symbol of argon?", GASES, answer_type="span")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(words=st.text(max_size=80), text=st.text(max_size=120), title=st.text(max_size=20),
       modality=st.sampled_from(["text", "table", "video", "image"]))
def test_an_answer_is_a_span_of_what_is_shown(words: str, text: str, title: str, modality: str) -> None:
    roles = _hashed()
    evidence = [RegionView("a", modality, title, 0, 1, text), RegionView("b", "text", "Rome", 0, 1,
                                                                      "Rome lies on the Tiber.")]
    reply = roles.reader.read(Question("q", "b", words), evidence, Trace())
    assert reply == roles.reader.read(Question("q", "b", words), evidence, Trace())
    everything = " ".join(f"{text} {title} Rome Rome lies on the Tiber. {words}".split())
    assert reply.text in ("", "yes", "no") or " ".join(reply.text.split()) in everything


def _hashed() -> Roles:
    """Roles over an encoder that knows nothing: what the rules do must not depend on good vectors."""
    class Hashed:
        name = "hashed"

        def encode_queries(self, texts: list[str]) -> np.ndarray:
            raw = np.stack([np.random.default_rng(abs(hash(t)) % 2**32).normal(size=8) for t in texts])
            return (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)

        def count_tokens(self, texts: list[str]) -> np.ndarray:
            return np.array([len(t.split()) for t in texts])

    return plain_roles(Hashed())  # type: ignore[arg-type]


def test_tokens_are_the_encoders_word_pieces(roles: Roles, encoder: MiniLMEncoder) -> None:
    texts = ["The Aswan High Dam", "", "Phobos and Deimos."]
    assert (
        roles.reader.count_tokens(texts) == encoder.count_tokens(texts).tolist() and roles.reader.count_tokens([]) == []
    )
    assert roles.label == "LLM-free (extractive reader, MiniLM)" and roles.kind == "plain" and roles.chat is None
    assert roles.reader.name == "extractive" and not roles.reader.sees_media


def test_the_same_whatever_was_asked_before_and_by_how_many(encoder: MiniLMEncoder) -> None:
    questions = ["When was the Aswan High Dam finished?", "Where was Marie Curie born?", "Which moons does Mars have?",
             "How long is the Nile?"] * 3
    alone = [read(plain_roles(encoder), w, NILE, CURIE, MARS) for w in questions[:4]]
    shared = plain_roles(encoder)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda w: read(shared, w, NILE, CURIE, MARS), questions))
    assert together == alone * 3


def test_each_sentence_is_encoded_once_and_long_evidence_in_part() -> None:
    seen: list[str] = []

    def encode(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return np.eye(1, 4, dtype=np.float32).repeat(len(texts), axis=0)

    likeness = Likeness(encode)  # type: ignore[arg-type]
    rows = "\n".join(f"Year is {1900 + n}; Winner is Team {n}" for n in range(100))
    sentences = cut_evidence([RegionView("t", "table", "Winners", 0, 100, rows)])
    scores = likeness.to_question("Which team won in 1977?", sentences)
    # the rows that share most words, and the question
    assert (scores > -1).sum() == ENCODED and scores[77] > -1 and len(seen) == ENCODED + 1
    assert (likeness.to_question("Which team won in 1977?", sentences) == scores).all() and len(seen) == ENCODED + 1
    assert likeness.to_question("x", []).shape == (0,)
