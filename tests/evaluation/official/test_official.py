"""Official metrics against worked examples of the published scripts' behaviour, corner cases included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.benchmarks.base import adapter_names
from canopy.evaluation.official import (
    generic,
    hotpotqa,
    multimodalqa,
    natural_questions,
    options,
    ott_qa,
    tat_qa,
    two_wiki,
)
from canopy.evaluation.official.base import Support, official_metric
from canopy.items import Question


def ask(*answers: str, kind: str = "", words: str = "?", **details: str) -> Question:
    return Question("q", "b", words, answers, kind, details=tuple(details.items()))


@pytest.mark.parametrize(("prediction", "em"), [("The Eiffel-Tower!", 0), ("the  Eiffel Tower.", 1), ("Tour Eiffel", 1), ("tower", 0), ("", 0)])
def test_natural_questions_takes_any_alias(prediction: str, em: float) -> None:
    assert natural_questions.score(ask("Eiffel Tower", "tour eiffel"), prediction)["em"] == em


def test_articles_and_punctuation_do_not_count() -> None:
    assert generic.score(ask("a cat's hat"), "The cats hat") == {"em": 1.0, "f1": 1.0}
    assert generic.score(ask("red green"), "green blue")["f1"] == pytest.approx(0.5)


def test_hotpotqas_verdicts_earn_nothing_by_overlap() -> None:
    assert hotpotqa.score(ask("yes"), "yes it is") == {"em": 0.0, "f1": 0.0}
    assert hotpotqa.score(ask("no doubt"), "no") == {"em": 0.0, "f1": 0.0}
    assert hotpotqa.score(ask("yes"), "Yes.") == {"em": 1.0, "f1": 1.0}
    assert ott_qa.score(ask("yes"), "yes it is")["f1"] == pytest.approx(0.5)


def test_hotpotqas_joint_scores_multiply_precision_and_recall() -> None:
    support = Support(frozenset({("a", 0), ("a", 1), ("b", 0)}), frozenset({("a", 0), ("b", 0)}))
    s = hotpotqa.score(ask("Ada Lovelace"), "Lovelace", support)
    assert (s["sp_em"], s["sp_precision"], s["sp_recall"], s["sp_f1"]) == (0.0, pytest.approx(2 / 3), 1.0, pytest.approx(0.8))
    p, r = 1.0 * 2 / 3, 0.5 * 1.0
    assert s["joint_f1"] == pytest.approx(2 * p * r / (p + r))
    assert s["joint_em"] == 0.0
    none = hotpotqa.score(ask("x"), "x", Support(frozenset(), frozenset({1})))
    assert (none["sp_em"], none["sp_f1"], none["joint_f1"]) == (0.0, 0.0, 0.0)


def test_2wiki_takes_the_best_alias_and_hotpotqa_does_not() -> None:
    q = ask("United States of America", "U.S.A.")
    assert two_wiki.score(q, "usa") == {"em": 1.0, "f1": 1.0}
    assert hotpotqa.score(q, "usa")["em"] == 0.0


def test_ott_qa_is_told_apart_by_where_the_answer_stands() -> None:
    assert set(ott_qa.score(ask("x", kind="passage+table"), "x")) == {"em", "f1", "table_em", "table_f1", "passage_em", "passage_f1"}
    assert set(ott_qa.score(ask("x", kind="table"), "x")) == {"em", "f1", "table_em", "table_f1"}
    assert ott_qa.score(ask(), "")["f1"] == 1.0  # SQuAD v2: nothing against nothing
    assert ott_qa.score(ask("the"), "cat")["f1"] == 0.0


@pytest.mark.parametrize(("gold", "prediction", "em", "f1"), [
    (("two",), "2", 1, 1.0),                       # number words are numbers
    (("Twenty-one",), "20 1", 1, 1.0),             # token by token, as the script reads them
    (("2.0",), "2", 1, 1.0),
    (("blue whale",), "whale", 0, 0.67),
    (("3 ships",), "4 ships", 0, 0.0),             # another number: no partial credit
    (("x-ray",), "x ray", 1, 1.0),
])
def test_multimodalqa_single_answers(gold: tuple[str, ...], prediction: str, em: float, f1: float) -> None:
    assert multimodalqa.score(ask(*gold), prediction) == {"em": em, "f1": f1}


def test_multimodalqas_lists_are_aligned() -> None:
    q = ask("Paris", "New York City", "Rome", list="true")
    assert multimodalqa.score(q, "Rome; Paris; New York City") == {"em": 1.0, "f1": 1.0}
    assert multimodalqa.score(q, "rome, paris and new york") == {"em": 0.0, "f1": pytest.approx(0.93, abs=0.01)}
    assert multimodalqa.score(q, "Rome") == {"em": 0.0, "f1": 0.33}
    assert multimodalqa.score(q, "Rome; Rome; Rome; Paris; New York City")["em"] == 0.0
    assert multimodalqa.score(q, "") == {"em": 0.0, "f1": 0.0}


OPTIONS = {"A": "a red car", "B": "a car", "C": "A dog", "D": "Nobody"}


@pytest.mark.parametrize(("reply", "letter"), [
    ("B", "B"), ("(C)", "C"), ("b", ""), ("C.", "C"), ("The answer is D", "D"), ("Answer: (A) a red car", "A"), ("A dog", "C"), ("It shows a red car.", "A"),
    ("**B**", "B"), ("I think it is C, because of the dog", "C"), ("Not (A) but (B)", ""), ("A or B? The answer is C.", "C"), ("", ""),
    ("I cannot tell", ""), ("A man walks", ""), ("E", ""), ("nobody", "D"), ("D) Nobody", "D"), ("the answer is a dog", "C"), ("Option B", "B"),
])
def test_the_option_a_reply_means(reply: str, letter: str) -> None:
    assert options.parse_option(reply, OPTIONS) == letter


def test_misses_stay_in_the_denominator() -> None:
    q = ask("C", words="Which?\n(A) one\n(B) two\n(C) three\n(D) four")
    assert options.score(q, "(C)") == {"accuracy": 1.0, "parse_failed": 0.0}
    assert options.score(q, "three") == {"accuracy": 1.0, "parse_failed": 0.0}
    assert options.score(q, "perhaps") == options.score(q, "") == {"accuracy": 0.0, "parse_failed": 1.0}


@pytest.mark.parametrize(("kind", "answers", "scale", "prediction", "em", "f1"), [
    ("arithmetic", ("23.42",), "percent", "23.42 percent", 1, 1),
    ("arithmetic", ("23.42",), "percent", "23.42%", 1, 1),
    ("arithmetic", ("23.42",), "percent", "0.2342", 1, 1),
    ("arithmetic", ("23.42",), "percent", "23.42", 0, 0),
    ("arithmetic", ("12.4",), "million", "12.4 million", 1, 1),
    ("arithmetic", ("12.4",), "million", "12400000", 1, 1),
    ("arithmetic", ("12.4",), "million", "$12.4", 0, 0),
    ("arithmetic", ("-5.2",), "", "(5.2)", 1, 1),
    ("count", ("3",), "", "3", 1, 1),
    ("count", ("3",), "", "4", 0, 0),
    ("span", ("$1,452.4",), "million", "$1,452.4 million", 1, 1),
    ("span", ("$  1,452.4",), "million", "1452.4 million", 1, 1),
    ("span", ("the fiscal year ended",), "", "fiscal year", 0, 0.8),
    ("multi-span", ("2019", "2018"), "", "2018; 2019", 1, 1),
    ("multi-span", ("Europe", "Asia"), "", "Asia", 0, 0.67),
    ("span", ("x",), "", "", 0, 0),
])
def test_tat_qa_with_scale(kind: str, answers: tuple[str, ...], scale: str, prediction: str, em: float, f1: float) -> None:
    s = tat_qa.score(ask(*answers, answer_type=kind, scale=scale), prediction)
    assert (s["em"], s["f1"]) == (em, pytest.approx(f1, abs=0.01))


@pytest.mark.parametrize(("text", "number"), [
    ("$1,234.5", 1234.5), ("(12.5)", -12.5), ("12%", 0.12), ("3 million", 3e6), ("5.5 thousand", 5500.0), ("about", None), ("-7", -7.0), ("1,000", 1000.0),
])
def test_tat_qas_numbers(text: str, number: float | None) -> None:
    assert tat_qa.to_number(text) == number


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3), st.sampled_from(["", "span", "multi-span", "count", "table+passage"]))
def test_every_metric_takes_any_text_and_stays_between_0_and_1(prediction: str, answers: list[str], kind: str) -> None:
    q = ask(*answers, kind=kind, list="true", answer_type=kind, scale="thousand")
    for name in adapter_names():
        metric = official_metric(name)
        scores = metric.score(q, prediction, Support(frozenset({1}), frozenset({1, 2})))
        assert set(metric.PRIMARY) <= set(scores)
        assert all(0.0 <= v <= 1.0 for v in scores.values()), (name, scores)


@given(st.text(alphabet="abc 12.-", min_size=1, max_size=20).filter(lambda t: any(c.isalnum() and c != "a" for c in t)))
def test_the_answer_itself_is_right(answer: str) -> None:
    for name in ("natural_questions", "hotpotqa", "ott_qa", "multimodalqa", "tat_qa", "two_wiki", "musique"):
        assert official_metric(name).score(ask(answer, answer_type="span"), answer)["em"] == 1.0, name
