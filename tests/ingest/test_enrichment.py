"""Ingestion looks into media files.

Broken ones leave with all that needs them and honest counts, what is found is kept and never found twice.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from canopy.config import Config
from canopy.ingest import enrichment
from canopy.ingest.enrichment import enrich_items
from canopy.ingest.sink import Sink
from canopy.items import Annotation, Cue, Item, Question, read_annotations, read_items, read_questions
from canopy.paths import Paths
from canopy.stages.base import NullTracker
from canopy.stages.benchmark import run
from canopy.validation.checker import RuleValidator
from tests.media.making import write_video

FATES = ("mapped", "fallback", "waiting", "quarantined")


def sign(path: Path, words: str) -> None:
    image = Image.new("RGB", (480, 120), "white")
    ImageDraw.Draw(image).text((20, 30), words, fill="black", font=ImageFont.load_default(36))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def native(folder: Path, items: list[dict[str, Any]], questions: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in (("items", items), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    return folder


def stage(folder: Path, root: Path, segmentation: str = "fixed", **ingest: Any) -> tuple[Any, Path]:
    config = Config.model_validate(
        {
            "benchmarks": {"mine": {"adapter": "native", "path": str(folder)}},
            "hierarchy": {"segmentation": segmentation},
            "ingest": {"max_quarantined_share": 0.9, **ingest},
        }
    )
    return run(config, Paths(root), NullTracker(), RuleValidator(), benchmark="mine"), Paths(root).output(
        "benchmark", "mine"
    )


def test_a_folder_with_real_media_is_enriched(tmp_path: Path, real_data: Path) -> None:
    raw = tmp_path / "raw"
    (raw / "m").mkdir(parents=True)
    for source, name in (
        ("torchcodec/nasa_13013.mp4", "nasa.mp4"),
        ("mdn-interactive-examples/cc0-videos/friday.mp4", "friday.mp4"),
        ("mdn-interactive-examples/examples/friday.vtt", "friday.vtt"),
        ("imageio-binaries/coffee.png", "coffee.png"),
    ):
        shutil.copy(real_data / "media" / source, raw / "m" / name)
    sign(raw / "m" / "sign.png", "Boiling point 100 C")
    native(
        raw,
        [
            {"id": "nasa", "modality": "video", "media": "m/nasa.mp4"},
            {"id": "friday", "modality": "video", "media": "m/friday.mp4", "duration": 60, "subtitles": "m/friday.vtt"},
            {"id": "sign", "modality": "image", "media": "m/sign.png"},
            {"id": "given", "modality": "image", "media": "m/sign.png", "words": "as written"},
            {"id": "coffee", "modality": "image", "media": "m/coffee.png"},
        ],
        [
            {
                "id": "q",
                "question": "At how many degrees does water boil?",
                "answers": ["100"],
                "gold": [{"item": "sign"}],
            }
        ],
    )
    result, out = stage(raw, tmp_path / "ws", "shots")
    items = {i.source: i for i in read_items(out / "items.parquet")}
    assert items["nasa"].duration == pytest.approx(13.056) and items["friday"].duration == 60
    assert [c.start for c in items["nasa"].cues] == [0.21, 4.26, 8.35, 12.47] and len(items["friday"].cues) == 5
    assert len(items["nasa"].cuts) == 2 and items["friday"].cuts == ()
    assert (items["sign"].words, items["given"].words, items["coffee"].words) == (
        "Boiling point 100 C",
        "as written",
        "",
    )
    notes = "\n".join(result.notes)
    assert "read off 1 of 2 images without given ones and off the frames of 0 of 2 videos" in notes
    assert "mine/friday: its record says 60.0 s, its file 6.2 s; the record's is kept" in notes
    assert "mine/nasa: 2 video streams: number 3 is looked at" in notes
    assert "1 images or videos have no words at all" in notes and [r["id"] for r in result.tables["without_words"]] == [
        "mine/coffee"
    ]
    _, out = stage(raw, tmp_path / "ws", "subtitles", ocr=False)
    items = {i.source: i for i in read_items(out / "items.parquet")}
    assert items["friday"].cuts == (1.0, 1.5, 3.0, 4.3) and items["sign"].words == ""


def test_a_broken_file_leaves_with_all_that_needs_it(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    for name in ("good", "bad", "cut"):
        sign(raw / f"{name}.png", name)
    (raw / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"?" * 99)
    (raw / "cut.png").write_bytes((raw / "cut.png").read_bytes()[:-400])
    (raw / "film.mp4").write_bytes(b"\x00" * 4000)
    write_video(raw / "ok.mp4", [i / 5 for i in range(20)])
    native(
        raw,
        [
            *({"id": n, "modality": "image", "media": f"{n}.png", "caption": n} for n in ("good", "bad", "cut")),
            {"id": "film", "modality": "video", "media": "film.mp4", "duration": 9},
            {"id": "ok", "modality": "video", "media": "ok.mp4"},
        ],
        [
            {
                "id": "fine",
                "question": "?",
                "answers": ["a"],
                "gold": [{"item": "good"}, {"item": "ok", "seconds": [[1, 2]]}],
            },
            {"id": "joint", "question": "??", "answers": ["a"], "gold": [{"item": "good"}, {"item": "bad"}]},
            {
                "id": "either",
                "question": "???",
                "answers": ["a"],
                "gold": [{"item": "film", "seconds": [[1, 2]]}, {"item": "good", "group": 1}],
            },
            {
                "id": "neither",
                "question": "????",
                "answers": ["a"],
                "gold": [{"item": "film"}, {"item": "cut", "group": 1}],
            },
            {"id": "free", "question": "?????", "answers": ["a"]},
        ],
    )
    result, out = stage(raw, tmp_path / "ws", ocr=False)
    assert [result.metrics[k] for k in ("read", *FATES)] == [10, 5, 0, 2, 3]
    assert [i.source for i in read_items(out / "items.parquet")] == ["good", "ok"]
    assert [q.id for q in read_questions(out / "questions.parquet")] == ["mine/fine", "mine/either", "mine/free"]
    assert {(a.question_id, a.item_id) for a in read_annotations(out / "annotations.parquet")} == {
        ("mine/fine", "mine/good"), ("mine/fine", "mine/ok"), ("mine/either", "mine/good")}
    quarantine = {
        r["record"]: r["reason"] for r in map(json.loads, (out / "quarantine.jsonl").read_text().splitlines())
    }
    assert set(quarantine) == {"bad", "cut", "film"} and quarantine["cut"].startswith(
        "cut.png: the image cannot be decoded: "
    )
    assert quarantine["film"].startswith("film.mp4: not a video that can be read")
    waiting = {r["record"]: r["reason"] for r in map(json.loads, (out / "waiting.jsonl").read_text().splitlines())}
    assert set(waiting) == {"joint", "neither"} and "gold item 'mine/bad' cannot be used: bad.png: " in waiting["joint"]
    assert any(
        "3 images or videos cannot be decoded and are no items: mine/bad, mine/cut, mine/film" in n
        for n in result.notes
    )


def picture(sink: Sink, name: str, media: str) -> Item:
    return Item(f"{sink.benchmark}/{name}", sink.benchmark, "image", media=media)


def test_one_record_that_gives_items_and_questions_moves_as_a_whole(tmp_path: Path) -> None:
    sink = Sink("b", tmp_path / "out")
    sign(tmp_path / "a.png", "a")
    (tmp_path / "bad.png").write_bytes(b"no")
    with sink.record("f.json", "1") as draft:
        draft.fallbacks.append("some fallback")
        draft.items += [picture(sink, "a", "a.png"), picture(sink, "bad", "bad.png")]
        draft.questions.append(Question("b/1", "b", "?"))
        draft.annotations.append(Annotation("b/1", "b/a", "item"))
    with sink.record("f.json", "2") as draft:
        draft.fallbacks.append("some fallback")
        draft.items.append(picture(sink, "gone", "gone.png"))
        draft.questions.append(Question("b/2", "b", "?"))
    with sink.record("f.json", "3") as draft:
        draft.fallbacks.append("some fallback")
        draft.questions.append(Question("b/3", "b", "?"))
        draft.annotations.append(Annotation("b/3", "b/a", "item"))
    sink.items["b/stray"] = picture(sink, "stray", "bad.png")
    enrich_items(sink, tmp_path, tmp_path / "work", ocr=False, segmentation="fixed")
    assert sink.counts["read"] == sum(sink.counts[f] for f in FATES) == sum(sink.read_from.values()) == 4
    assert [sink.counts[f] for f in FATES] == [0, 1, 1, 2] and dict(sink.fallbacks) == {"some fallback": 1}
    assert (
        list(sink.items) == ["b/a"]
        and list(sink.questions) == ["b/3"]
        and [a.question_id for a in sink.annotations] == ["b/3"]
    )
    assert [w["reason"] for w in sink.waiting] == ["media file 'gone.png' is not there"]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that words are really read off, as they are read."""
    seen: list[str] = []

    def count(name: str, real: Callable[..., Any]) -> None:
        def counting(*args: Any) -> Any:
            seen.append(name)
            return real(*args)
        monkeypatch.setattr(enrichment, name, counting)

    for name in ("read_words", "screen_cues", "probe_video", "embedded_cues", "open_image", "shot_cuts"):
        count(name, getattr(enrichment, name))
    return seen


def test_nothing_is_found_twice_even_after_a_killed_run(
    tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sign(tmp_path / "a.png", "Alpha")
    sign(tmp_path / "b.png", "Beta")
    write_video(tmp_path / "v.mp4", [i / 5 for i in range(20)])
    raw = native(tmp_path, [{"id": n, "modality": "image", "media": f"{n}.png"} for n in ("a", "b")]
                 + [{"id": "v", "modality": "video", "media": "v.mp4", "duration": 4}], [])
    real = enrichment.read_words
    keys: list[int] = []
    monkeypatch.setattr(enrichment, "process_count", lambda: 1)

    def killed_at_the_second(image: Any, read: Callable[..., Any]) -> str:
        if keys:
            raise KeyboardInterrupt
        keys.append(1)
        return real(image, read)

    monkeypatch.setattr(enrichment, "read_words", killed_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        stage(raw, tmp_path / "ws")
    monkeypatch.setattr(enrichment, "read_words", real)
    counted.clear()
    first, out = stage(raw, tmp_path / "ws")
    assert sorted(counted) == ["embedded_cues", "open_image", "probe_video", "read_words", "screen_cues"]
    assert [i.words for i in read_items(out / "items.parquet")] == ["Alpha", "Beta", ""]
    written = {p.name: p.read_bytes() for p in out.iterdir()}
    counted.clear()
    again, out = stage(raw, tmp_path / "ws")
    assert counted == [] and {p.name: p.read_bytes() for p in out.iterdir()} == written and again.notes == first.notes
    _, out = stage(raw, tmp_path / "ws", "shots")
    assert counted == ["shot_cuts"], "another setting finds what it needs and keeps the rest"
    sign(tmp_path / "b.png", "Gamma")
    counted.clear()
    _, out = stage(raw, tmp_path / "ws")
    assert counted == ["open_image", "read_words"] and read_items(out / "items.parquet")[1].words == "Gamma"


def test_a_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    sign(tmp_path / "a.png", "a")
    work = tmp_path / "work"
    work.mkdir()
    (work / "media.sqlite").write_bytes(b"garbage" * 1000)
    sink = Sink("b", tmp_path)
    sink.items["b/a"] = picture(sink, "a", "a.png")
    enrich_items(sink, tmp_path, work, ocr=False, segmentation="fixed")
    assert list(sink.items) == ["b/a"]
    with sqlite3.connect(work / "media.sqlite") as kept:
        assert kept.execute("SELECT value FROM found").fetchall() == [("[480, 120]",)]


def test_items_without_files_and_given_words_stay_as_they_are(tmp_path: Path) -> None:
    sign(tmp_path / "a.png", "Alpha")
    sink = Sink("b", tmp_path)
    items = [
        Item("b/t", "b", "text", text="x"),
        Item("b/i", "b", "image", caption="c"),
        Item("b/v", "b", "video", duration=9.0),
    ]
    sink.items = {i.id: i for i in items} | {"b/a": picture(sink, "a", "a.png")}
    sink.words_given = True
    enrich_items(sink, tmp_path, tmp_path / "work", ocr=True, segmentation="shots")
    enrich_items(sink, tmp_path, tmp_path / "work", ocr=True, segmentation="fixed")
    assert (
        [sink.items[i.id] for i in items] == items
        and sink.items["b/a"].words == ""
        and sink.items["b/a"].media_sha256
        and sink.notes == []
    )


def test_subtitles_give_cuts_without_a_file_too(tmp_path: Path) -> None:
    sink = Sink("b", tmp_path)
    sink.items["b/v"] = Item(
        "b/v", "b", "video", duration=9.0, cues=(Cue(0, 2, "a"), Cue(3, 4, "b"), Cue(8.5, 20, "c"))
    )
    enrich_items(sink, tmp_path, tmp_path / "work", ocr=True, segmentation="subtitles")
    assert sink.items["b/v"].cuts == (2.5, 6.25)


def test_all_cores_give_the_bytes_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["Alpha", "Beta", "Gamma", "Delta", "Omega", "Sigma"]
    for n, word in enumerate(words):
        sign(tmp_path / f"{n}.png", word)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    write_video(tmp_path / "v.mp4", [i / 5 for i in range(20)])
    raw = native(tmp_path, [{"id": f"{n}", "modality": "image", "media": f"{n}.png"} for n in range(6)]
                 + [{"id": "gone", "modality": "image", "media": "gone.png"},
                    {"id": "broken", "modality": "image", "media": "broken.png"},
                    {"id": "v", "modality": "video", "media": "v.mp4", "duration": 9}], [])
    outputs = []
    for processes in (1, 2):
        monkeypatch.setattr(enrichment, "process_count", lambda n=processes: n)
        monkeypatch.setattr("canopy.media.ocr_pool.FEW", 2)
        result, out = stage(raw, tmp_path / f"ws{processes}")
        outputs.append((result.notes, {p.name: p.read_bytes() for p in out.iterdir()}))
    assert outputs[0] == outputs[1]
    assert [i.words for i in read_items(out / "items.parquet")][:6] == words
