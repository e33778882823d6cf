"""The stage `answers` with a reader that sees.

Pictures and the frames of kept regions reach it as image parts, and options come back as letters.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from canopy.benchmarks.declaration import Benchmark, write_declaration
from canopy.gold.fragments import GOLD_SCHEMA, map_annotations
from canopy.gold.split import SPLIT_SCHEMA
from canopy.items import Annotation, Question, write_annotations, write_items, write_questions, write_table
from canopy.llm.showing import FRAME_TOKENS
from canopy.media.videos import frame_times
from tests.answer_workspace import answer, copy_answer_workspace, make_answer_workspace, outputs, table
from tests.llm.scripted_server import Request, ScriptedServer, answer_plainly, pictures_of, prompt_of, words_of
from tests.llm.test_language_roles import decoded
from tests.media.making import number_of, numbered, write_video
from tests.tiny_model import BENCHMARK, ITEMS

OPTIONS = (("A", "the crew"), ("B", "the engines"), ("C", "a diagram"))
QUESTIONS = [
    Question("tiny/pad", BENCHMARK,
             "What walks to the launch pad of the rocket?\n(A) the crew\n(B) the engines\n(C) a diagram", ("A",),
             details=OPTIONS),
    Question("tiny/rain", BENCHMARK, "What shows evaporation and rain in the water cycle?", ("C",), details=OPTIONS),
]
ANNOTATIONS = [Annotation("tiny/pad", "tiny/launch", "seconds", ((2.0, 8.0),)),
               Annotation("tiny/rain", "tiny/diagram", "item", ())]
LAUNCH = next(i for i in ITEMS if i.id == "tiny/launch")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace with a picture and a film of 150 s whose frames, two a second, show their numbers."""
    root = make_answer_workspace(tmp_path_factory.mktemp("pictures") / "w")
    Image.new("RGB", (1600, 900), "red").save(root / "raw" / "diagram.png")
    write_video(root / "raw" / "launch.mp4", [n / 2 for n in range(300)], pictures=[numbered(n) for n in range(300)])
    media = {"tiny/diagram": "diagram.png", "tiny/launch": "launch.mp4"}
    items = [replace(i, media=media.get(i.id, "")) for i in ITEMS]
    source, gold, split = (root / "data" / s / BENCHMARK for s in ("benchmark", "gold_spans", "split"))
    write_declaration(source, Benchmark("tiny", metric="options", evidence_cap="video"))
    write_items(source / "items.parquet", items)
    write_items(root / "data" / "corpus" / "items.parquet", items)
    write_questions(source / "questions.parquet", QUESTIONS)
    write_annotations(source / "annotations.parquet", ANNOTATIONS)
    write_table(gold / "gold.parquet", map_annotations(ANNOTATIONS, {i.id: i for i in items}, 30.0)[0], GOLD_SCHEMA)
    write_table(split / "splits.parquet", [{"question_id": q.id, "split": "test"} for q in QUESTIONS], SPLIT_SCHEMA)
    return root


def served(base: Path, root: Path, server: ScriptedServer, language: str = "sees_media: true",
           answers: str = "") -> list[dict[str, Any]]:
    copy_answer_workspace(base, root, [(
        "answers: {k: 3, budgets: [0.3]}", f'language: {{base_url: "{server.url}", model: tiny, {language}}}\n'
        "answers: {k: 3, systems: [canopy, canopy-frame-density, aks, vanilla, no-retrieval, gold-span], "
        f"corpus_scopes: [unified, gold]{answers}}}")])
    answer(root)
    return table(root).to_pylist()


def film_frames(request: Request) -> list[int]:
    """Numbers of the frames in a request (the other picture is red)."""
    return [number_of(p) for p in map(decoded, pictures_of(request)) if p.getpixel((0, 0))[0] < 40
            or p.getpixel((0, 0))[1] > 200]


def test_kept_regions_are_shown_in_pictures_and_letters_come_back(base: Path, tmp_path: Path) -> None:
    def script(request: Request) -> str:
        return (
            "The answer is (A), the crew."
            if prompt_of(request).endswith("_option") and "walks to the launch pad" in words_of(request)
            else "a diagram, I think"
            if prompt_of(request).endswith("_option")
            else answer_plainly(request)
        )

    with ScriptedServer(script) as server:
        rows = {(r["system"], r["corpus_scope"], r["question_id"]): r for r in served(base, tmp_path / "w", server)}
        read = {prompt_of(r): r for r in server.requests}
        requests = [r for r in server.requests if prompt_of(r) == "reader_option"]
    assert set(read) >= {"reader_option", "closed_option", "critic"}
    assert {(r["prediction"], r["accuracy"], r["parse_failed"]) for r in rows.values() if r["question_id"]
            == "tiny/pad"} == {("A", 1.0, 0.0)}
    assert {(r["prediction"], r["accuracy"]) for r in rows.values() if r["question_id"] == "tiny/rain"} == {("C", 1.0)}
    assert not pictures_of(read["closed_option"]) and any(pictures_of(r) for r in server.requests if prompt_of(r)
                                                          == "critic")
    assert all(f"({letter}) {option}" in words_of(r) for r in requests for letter, option in OPTIONS)
    # Gold Span of the launch: one segment of 30 s, so the frames that the clock gives it, two pictures a second.
    first = [2 * t for t in frame_times(0.0, 30.0)]
    assert any([abs(a - b) <= 1 for a, b in zip(film_frames(r), first, strict=False)] == [True] * len(first)
               == [True] * len(film_frames(r)) for r in requests)
    span = rows["gold-span", "gold", "tiny/pad"]
    assert span["tokens"] > FRAME_TOKENS * len(first) and rows["gold-span", "gold",
                                                               "tiny/rain"]["tokens"] > FRAME_TOKENS
    assert rows["vanilla", "gold", "tiny/pad"]["tokens"] > span["tokens"] > rows["no-retrieval", "unified",
                                                                                 "tiny/pad"]["tokens"] == 0


def test_the_critic_is_shown_no_more_than_the_readers_caps_allow(base: Path, tmp_path: Path) -> None:
    """`answers.video_evidence_tokens` bounds both, as a server with a short context needs it."""
    with ScriptedServer() as server:
        served(base, tmp_path / "w", server, answers=", video_evidence_tokens: 1000, evidence_tokens: 400")
        requests = [r for r in server.requests if prompt_of(r) in ("critic", "reader_option")]
        assert {prompt_of(r)
                for r in requests} == {"critic", "reader_option"} and all(FRAME_TOKENS * len(pictures_of(r)) <= 1000
                                                                       for r in requests)
    notes = {n["note"] for r in table(tmp_path / "w").to_pylist() for n in r["notes"]}
    assert "regions the critic had no room for" in notes


def test_a_reader_without_eyes_gets_words_alone(base: Path, tmp_path: Path) -> None:
    with ScriptedServer() as server:
        served(base, tmp_path / "w", server, language="sees_media: false")
        assert server.count("reader_option") and not any(pictures_of(r) for r in server.requests)
    assert "images and frames shown" not in json.loads(outputs(tmp_path / "w")["systems.json"])["readers"][0]["label"]
