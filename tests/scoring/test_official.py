"""Official metrics against worked examples of the published scripts' behaviour, corner cases included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.benchmarks.registry import adapter_names, load_benchmark_adapter
from canopy.items import Question
from canopy.scoring import (
    generic,
    hotpotqa,
    multimodalqa,
    natural_questions,
    options,
    ott_qa,
    tat_qa,
    two_wiki,
)
from canopy.scoring.metric import Support, official_metric, score_answer

METRICS = sorted({load_benchmark_adapter(n).BENCHMARK.metric for n in adapter_names()})


def ask(*answers: str, kind: str = "", words: str = "?", **details: str) -> Question:
    return Question("q", "b", words, answers, kind, details=tuple(details.items()))


@pytest.mark.parametrize(("prediction", "em"), [("The Eiffel-Tower!", 0), ("the  Eiffel Tower.", 1),
                                                ("Tour Eiffel", 1), ("tower", 0), ("", 0)])
def test_natural_questions_takes_any_alias(prediction: str, em: float) -> None:
    assert natural_questions.score(ask("Eiffel Tower", "tour eiffel"), prediction)["em"] == em


def test_natural_questions_reads_an_accent_written_in_two_ways_as_one() -> None:
    assert natural_questions.score(ask("Beyonc\u00e9"), "beyonce\u0301") == {"em": 1.0, "f1": 1.0}
    assert natural_questions.score(ask("Beyonc\u00e9"), "beyonce")["em"] == 0.0


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
    assert (s["sp_em"], s["sp_precision"], s["sp_recall"], s["sp_f1"]) == (0.0, pytest.approx(2 / 3), 1.0,
                                                                           pytest.approx(0.8))
    p, r = 1.0 * 2 / 3, 0.5 * 1.0
    assert s["joint_f1"] == pytest.approx(2 * p * r / (p + r))
    assert s["joint_em"] == 0.0
    none = hotpotqa.score(ask("x"), "x", Support(frozenset(), frozenset({1})))
    assert (none["sp_em"], none["sp_f1"], none["joint_f1"]) == (0.0, 0.0, 0.0)


def test_2wiki_takes_the_best_alias_and_hotpotqa_does_not() -> None:
    q = ask("United States of America", "U.S.A.")
    assert two_wiki.score(q, "usa") == {"em": 1.0, "f1": 1.0}
    assert set(two_wiki.score(q, "usa", Support(frozenset({1}), frozenset({1})))) == {"em", "f1", "sp_em", "sp_f1",
                                                                                      "sp_precision", "sp_recall"}
    assert hotpotqa.score(q, "usa")["em"] == 0.0


def test_ott_qa_is_told_apart_by_where_the_answer_stands() -> None:
    # HybridQA's dev_reference.json: of both kinds is the table's
    for kind in ("table", "passage+table", "calculation+table"):
        assert set(ott_qa.score(ask("x", kind=kind), "x")) == {"em", "f1", "table_em", "table_f1"}
    assert set(ott_qa.score(ask("x", kind="passage"), "x")) == {"em", "f1", "passage_em", "passage_f1"}
    assert set(ott_qa.score(ask("x"), "x")) == {"em", "f1"}
    assert ott_qa.score(ask("the"), "") == {"em": 1.0, "f1": 1.0}  # SQuAD v2: nothing against nothing
    assert ott_qa.score(ask("the"), "cat")["f1"] == 0.0


@pytest.mark.parametrize(("gold", "prediction", "em", "f1"), [
    (("two",), "2", 1, 1.0),                       # number words are numbers
    (("Twenty-one",), "20 1", 1, 1.0),             # token by token, as the script reads them
    (("2.0",), "2", 1, 1.0),
    (("blue whale",), "whale", 0, 0.67),
    (("3 ships",), "4 ships", 0, 0.0),             # another number: no partial credit
    (("x-ray",), "x ray", 1, 1.0),
    (("West Point",), "west 0", 1, 1.0),           # word2number reads "point" as 0
    (("West Point",), "west", 0, 0.0),             # and then it is a number that must be shared
    (("5\u00a0km",), "5 km", 0, 0.0),              # cut at spaces and hyphens alone
    (("two\u00a0km",), "2", 1, 1.0),               # word2number reads past "km"
    (("Steins; Gate",), "steins; gate", 1, 1.0),   # a semicolon of the answer's own
])
def test_multimodalqa_single_answers(gold: tuple[str, ...], prediction: str, em: float, f1: float) -> None:
    assert multimodalqa.score(ask(*gold), prediction) == {"em": em, "f1": f1}


def test_multimodalqas_lists_are_aligned() -> None:
    q = ask("Paris", "New York City", "Rome", list="true")
    assert multimodalqa.score(q, "Rome; Paris; New York City") == {"em": 1.0, "f1": 1.0}
    assert multimodalqa.score(q, "rome\nparis\nnew york") == {"em": 0.0, "f1": 0.93}
    assert multimodalqa.score(q, "rome, paris, new york city")["em"] == 0.0  # one answer, whatever the gold is
    assert multimodalqa.score(ask("Rome"), "Rome; Paris") == {"em": 0.0, "f1": 0.5}  # and two are two
    assert multimodalqa.score(q, "Rome") == {"em": 0.0, "f1": 0.33}
    assert multimodalqa.score(q, "Rome; Rome; Rome; Paris; New York City")["em"] == 0.0
    assert multimodalqa.score(q, "") == {"em": 0.0, "f1": 0.0}


OPTIONS = {"A": "a red car", "B": "a car", "C": "A dog", "D": "Nobody"}


@pytest.mark.parametrize(("reply", "letter"), [
    ("B", "B"), ("(C)", "C"), ("b", "B"), ("C.", "C"), ("The answer is D", "D"), ("Answer: (A) a red car", "A"),
    ("A dog", "C"), ("It shows a red car.", "A"),
    ("**B**", "B"), ("I think it is C, because of the dog", "C"), ("Not (A) but (B)", "B"),
    ("A or B? The answer is C.", "C"), ("", ""),
    ("I cannot tell", ""), ("A man walks", ""), ("E", ""), ("nobody", "D"), ("D) Nobody", "D"),
    ("the answer is a dog", "C"), ("Option B", "B"),
    ("Answer: B because of A", "B"), ("The correct Answer is B, not A", "B"), ("I choose A.", "A"),
    ("A is correct", "A"), ("B is correct", "B"), ("The answer is A dog.", "C"),
    ("It is C, since D shows a cat", "C"), ("C and D are wrong, so B", "B"), ("A and B", ""), ("Either B or C.", ""),
    ("None of A, B, C or D", ""), ("It cannot be B.", ""),
    ("(A) or (B)", ""), ("A man in the U.S.A.", ""), ("A. a red car\nB. a car", ""), ("D. A dog", "D"),
    ("B\nBecause A is wrong", "B"), ("\\boxed{B}", "B"),
])
def test_the_option_a_reply_means(reply: str, letter: str) -> None:
    assert options.parse_option(reply, OPTIONS) == letter


@pytest.mark.parametrize(("reply", "letter"), [("Vitamin B", "A"), ("He takes vitamin C.", "B"),
                                               ("The answer is Vitamin B", "A"), ("Vitamin C, so B", "B"), ("C", "C")])
def test_a_letter_within_an_options_words_is_not_the_answer(reply: str, letter: str) -> None:
    assert options.parse_option(reply, {"A": "Vitamin B", "B": "Vitamin C", "C": "Plan D", "D": "none"}) == letter


@pytest.mark.parametrize("form", ["{k}", "({k})", "{k}.", "{k})", "({k}) {v}", "{k}. {v}", "{k}: {v}",
                                  "The answer is {k}", "The answer is ({k}).", "The best option is {k}",
                                  "Best answer: ({k}) {v}"])
def test_the_forms_that_the_official_scripts_parse(form: str) -> None:
    of = {"A": "A red car", "B": "At the Bar", "C": "Cats and Dogs", "D": "Everybody", "E": "3"}
    assert [options.parse_option(form.format(k=k, v=v), of) for k, v in of.items()] == list(of)


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
    # DROP's rule that numbers must be shared is not TAT-QA's
    ("span", ("sales of 12 units",), "", "sales of 13 units", 0, 0.75),
    ("multi-span", ("1,452", "1,300"), "thousand", "1,300 thousand; 1,452 thousand", 1, 1),
    ("multi-span", ("1,452", "1,300"), "thousand", "1,300; 1,452 (in thousands)", 1, 1),
    ("multi-span", ("Europe", "$5 million"), "", "Europe; 5 million", 1, 1),   # a name is in no scale
    ("span", ("leases; and purchase obligations",), "", "leases; and purchase obligations", 1, 1),
    # sorted and joined, as the script has it
    ("span", ("Europe Asia",), "", "Asia; Europe", 0, 1),
    # brackets with a percent sign do not negate
    ("arithmetic", ("-12",), "percent", "(12%)", 0, 0),
    # digits without end are an answer, and a wrong one
    ("arithmetic", ("12",), "", "9" * 400, 0, 0),
    ("count", ("2",), "", "two", 0, 0),
])
def test_tat_qa_with_scale(kind: str, answers: tuple[str, ...], scale: str, prediction: str, em: float,
                           f1: float) -> None:
    s = tat_qa.score(ask(*answers, answer_type=kind, scale=scale), prediction)
    assert (s["em"], s["f1"]) == (em, pytest.approx(f1, abs=0.01))


@pytest.mark.parametrize(("scale", "prediction", "right"), [("percent", "12%", 1), ("", "12%", 1),
                                                            ("percent", "12 percent", 1), ("million", "12%", 0),
                                                            ("million", "12", 0), ("", "12", 1)])
def test_tat_qas_scale_alone(scale: str, prediction: str, right: float) -> None:
    assert tat_qa.score(ask("12", answer_type="arithmetic", scale=scale), prediction)["scale_right"] == right


@pytest.mark.parametrize("name", adapter_names())
def test_a_question_without_a_published_answer_is_not_scored(name: str) -> None:
    metric = official_metric(load_benchmark_adapter(name).BENCHMARK.metric)
    assert score_answer(metric, ask(), "B") == score_answer(metric, ask(" "), "B") == {}
    assert score_answer(metric, ask("B"), "")[metric.PRIMARY[0]] == 0.0  # a missing answer is


@pytest.mark.parametrize(("text", "number"), [
    ("$1,234.5", 1234.5), ("(12.5)", -12.5), ("12%", 0.12), ("3 million", 3e6), ("5.5 thousand", 5500.0),
    ("about", None), ("-7", -7.0), ("1,000", 1000.0),
])
def test_tat_qas_numbers(text: str, number: float | None) -> None:
    assert tat_qa.to_number(text) == number


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3),
       st.sampled_from(["", "span", "multi-span", "count", "table+passage"]))
def test_every_metric_takes_any_text_and_stays_between_0_and_1(prediction: str, answers: list[str], kind: str) -> None:
    q = ask(*answers, kind=kind, list="true", answer_type=kind, scale="thousand")
    for name in METRICS:
        metric = official_metric(name)
        scores = metric.score(q, prediction, Support(frozenset({1}), frozenset({1, 2})))
        # an answer stands in a table or a passage
        assert {m for m in metric.PRIMARY if not m.startswith(("table", "passage"))} <= set(scores)
        assert all(0.0 <= v <= 1.0 for v in scores.values()), (name, scores)


@given(st.text(alphabet="abc 12.-", min_size=1, max_size=20).filter(lambda t: any(c.isalnum() and c != "a" for c in t)))
def test_the_answer_itself_is_right(answer: str) -> None:
    for name in ("natural_questions", "hotpotqa", "ott_qa", "multimodalqa", "tat_qa", "two_wiki", "generic"):
        assert official_metric(name).score(ask(answer, answer_type="span"), answer)["em"] == 1.0, name
