"""Centroid choices: sound example files, held-out questions on the right side, and a stated fallback."""

from __future__ import annotations

import re

import numpy as np
import pytest

from canopy.items import MODALITIES
from canopy.llm.plain.centroids import FOLDER, CentroidRouter, load_examples
from canopy.llm.plain.sentences import Likeness
from canopy.llm.roles import Roles, Trace

# None of these stand in the example files.
AGGREGATE = ["How many of the ships sank before 1900?", "What is the combined population of all towns?",
             "Which driver has the most podiums overall?",
             "What is the average height of the towers?", "Which nation won the fewest medals?",
             "List all the winners from Spain."]
LOOKUP = ["What is the melting point of gold?", "Who was the conductor of the 1952 recording?",
          "Where was the goalkeeper of Ajax born?", "When did the Blue Line open?",
          "What is the name of the stadium used by Leeds?", "Which label released the album Skyline?"]
ROUTES = {"text": "Who wrote the opera Tosca?", "table": "How many goals did the team score in the 1998 season?",
          "image": "What color is the bird on the album cover?",
          "video": "What does the man do after he opens the door in the video?"}


def test_example_files_are_sound() -> None:
    assert {p.stem for p in FOLDER.glob("*.md")} == {"table_questions", "modalities"}
    assert list(load_examples("modalities")) == list(MODALITIES) and list(load_examples("table_questions")) == [
        "aggregate",
        "lookup",
    ]
    for name in ("table_questions", "modalities"):
        every = [e for examples in load_examples(name).values() for e in examples]
        assert len(every) == len(set(every)) and all(len(x) >= 11 for x in load_examples(name).values())
        assert len(every) == len(re.findall(r"^- ", (FOLDER / f"{name}.md").read_text(), re.M))
    assert not {*AGGREGATE, *LOOKUP, *ROUTES.values()} & {e for n in ("table_questions", "modalities")
                                                          for x in load_examples(n).values() for e in x}


def test_aggregate_from_lookup(roles: Roles) -> None:
    trace = Trace()
    verdicts = [roles.classifier.is_aggregate(q, trace) for q in AGGREGATE + LOOKUP]
    assert sum(verdicts[:6]) >= 5 and sum(verdicts[6:]) <= 1 and trace.calls == [] and trace.notes == {}
    assert verdicts == [roles.classifier.is_aggregate(q, Trace()) for q in AGGREGATE + LOOKUP]


@pytest.mark.parametrize("modality", list(ROUTES))
def test_routes(roles: Roles, modality: str) -> None:
    trace = Trace()
    routed = roles.router.route(ROUTES[modality], sorted(MODALITIES), trace)
    assert (
        modality in routed
        and len(routed) < 4
        and list(routed) == sorted(routed)
        and trace.calls == []
        and trace.notes == {}
    )


def test_routes_stay_among_what_there_is(roles: Roles) -> None:
    trace = Trace()
    assert roles.router.route(ROUTES["video"], ["text"],
                              trace) == ("text",) and roles.router.route("x", [], trace) == ()
    assert roles.router.route(ROUTES["table"], ["image", "table"], trace) == ("table",) and trace.notes == {}
    assert roles.router.route("qwxz " * 40, ["smell", "taste"], trace) == ("smell", "taste") and len(trace.notes) == 1


def test_a_question_like_no_example_goes_everywhere_and_is_counted() -> None:
    classes = {e: n for n, label in enumerate(MODALITIES) for e in load_examples("modalities")[label]}
    values = {"between": np.full(4, 0.25), "image or table": np.array([0.0, 0.5, 0.5, 0.0])}

    def encode(texts: list[str]) -> np.ndarray:
        return np.array([values[t] if t in values else np.eye(4)[classes[t]] for t in texts], dtype=np.float32)

    trace, router = Trace(), CentroidRouter(Likeness(encode))  # type: ignore[arg-type]
    everywhere = ("image", "table", "text", "video")
    assert router.route("between", everywhere, trace) == everywhere and trace.notes == {
        "plain router: no modality is near, all are searched": 1
    }
    # a tie names both
    assert router.route("image or table", everywhere, trace) == ("image", "table") and sum(trace.notes.values()) == 1
