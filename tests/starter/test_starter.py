"""The starter benchmark.

Its sources keep their format, it renders to the same bytes, and the adapter reads all of it.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import av
import pytest
from PIL import Image

from canopy.benchmarks.registry import load_benchmark_adapter
from canopy.errors import DataError
from canopy.gold.fragments import map_annotations
from canopy.gold.joint import BenchmarkGold, join_splits
from canopy.gold.sharing import Member
from canopy.gold.split import components, connect, split_questions
from canopy.gold.texts import gold_texts
from canopy.hierarchy.leaves import cut_item, gold_fragments, sentence_bounds
from canopy.ingest.sink import Sink
from canopy.ingest.subtitles import parse_cues
from canopy.starter import videos
from canopy.starter.drawings import PAINTERS, spread, write_drawing
from canopy.starter.render import question_record, write_native
from canopy.starter.themes import SOURCE, ImageItem, SourceQuestion, Theme, VideoItem, load_theme, load_themes
from canopy.starter.typography import fit, font, wrap

STARTER = SOURCE.parent


@dataclass
class Rendered:
    """A native folder, and what the adapter makes of the same sources."""

    folder: Path
    sink: Sink


@pytest.fixture(scope="session")
def themes() -> list[Theme]:
    return load_themes()


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    out = tmp_path_factory.mktemp("benchmark")
    sink = Sink("starter", out)
    load_benchmark_adapter("starter").read(STARTER, sink)
    return Rendered(out, sink)


def pictures(themes: list[Theme]) -> list[ImageItem]:
    return [i for t in themes for i in t.items if isinstance(i, ImageItem)]


def lessons(themes: list[Theme]) -> list[VideoItem]:
    return [i for t in themes for i in t.items if isinstance(i, VideoItem)]


def test_adapter_maps_every_record(rendered: Rendered) -> None:
    sink = rendered.sink
    assert not sink.quarantine and not sink.waiting and not sink.fallbacks
    assert sink.counts["mapped"] == sink.counts["read"] == len(sink.items) + len(sink.questions)
    assert "starter/geo-text-nile" in sink.items
    assert {p.name for p in rendered.folder.iterdir()} == {"media"}
    for item in sink.items.values():
        if item.media:
            assert (rendered.folder / item.media).is_file() and len(item.media_sha256) == 64


def test_size_and_mixture(rendered: Rendered) -> None:
    sink = rendered.sink
    modalities = Counter(i.modality for i in sink.items.values())
    assert len(sink.items) >= 100 and len(sink.questions) >= 200
    assert min(modalities[m] for m in ("text", "table", "image", "video")) >= 10
    gold: dict[str, set[str]] = {}
    for a in sink.annotations:
        gold.setdefault(a.question_id, set()).add(a.item_id)
    assert gold.keys() == sink.questions.keys()
    assert sum(len(items) > 1 for items in gold.values()) * 3 >= len(gold)
    types = Counter(q.type for q in sink.questions.values())
    assert (types["multi_hop"] + types["table_text"]) * 3 >= len(gold)
    assert set.union(*gold.values()) == sink.items.keys()
    answers = Counter(q.answers[0] for q in sink.questions.values() if q.type == "yes_no")
    assert answers.keys() == {"yes", "no"} and min(answers.values()) * 3 >= max(answers.values())
    assert sum(p.stat().st_size for p in (rendered.folder / "media").iterdir()) < 3_000_000


def test_text_gold_is_whole_sentences(rendered: Rendered) -> None:
    for a in rendered.sink.annotations:
        if a.unit != "chars":
            continue
        text = rendered.sink.items[a.item_id].text
        bounds = sentence_bounds(text)
        for start, end in a.spans:
            end += len(text[int(end):]) - len(text[int(end):].lstrip())
            assert start in bounds and end in bounds, (a.question_id, text[int(start):int(end)])


def test_gold_is_a_part_that_something_can_prune(rendered: Rendered) -> None:
    sink, shares = rendered.sink, {"text": [], "table": [], "video": []}
    for a in sink.annotations:
        item = sink.items[a.item_id]
        leaves = cut_item(item)
        spans = gold_fragments(item, leaves, a)
        assert len(spans) > 0
        if item.modality in shares:
            shares[item.modality].append(len(spans) / leaves.count)
    for modality, seen in shares.items():
        assert sum(seen) / len(seen) < 0.6, modality


def test_questions_split_by_connected_component(rendered: Rendered) -> None:
    sink = rendered.sink
    pairs = [(Member("question", "starter", a.question_id), Member("item", "starter", a.item_id))
             for a in sink.annotations]
    asked = [Member("question", "starter", q) for q in sink.questions]
    component = {q.id: n for q, n in components(connect(pairs, ()), asked).items()}
    sizes = Counter(component.values())
    assert len(sizes) >= 20 and max(sizes.values()) <= len(component) * 0.1
    for seed in range(20):
        test = sum(s == "test" for s in split_questions(component, 0.5, seed).values())
        assert abs(test / len(component) - 0.5) < 0.05


def test_no_gold_text_of_the_starters_test_questions_trains_a_benchmark_with_the_same_items(rendered: Rendered) -> None:
    sink = rendered.sink
    rows, _ = map_annotations(sink.annotations, sink.items, 30.0)
    texts = gold_texts(rows, sink.items, 30.0)
    starter = BenchmarkGold(list(sink.questions.values()), [(r["question_id"], r["item_id"]) for r in rows], texts)
    half = [dataclasses.replace(q, id=q.id.replace("starter/", "half/"), benchmark="half", question=f"Say: {q.id}")
            for q in list(sink.questions.values())[::2]]
    pairs = [(f"half/{q.removeprefix('starter/')}", f"half/{i.removeprefix('starter/')}") for q, i in starter.pairs]
    kept = {q.id for q in half}
    other = BenchmarkGold(half, [p for p in pairs if p[0] in kept],
                          [t._replace(item_id=t.item_id.replace("starter/", "half/")) for t in texts])
    split = join_splits({"starter": starter, "half": other}, test_share=0.4, seed=13, threshold=0.9)
    # Looked at without the split's own groups: what each gold item says, and who is asked about it on which side.
    whole = {t.item_id: t.text for t in texts if not t.part}
    side = {p.question_id: p.split for placements in split.placements.values() for p in placements}
    sides: dict[str, set[str]] = {}
    for q, i in [*starter.pairs, *other.pairs]:
        sides.setdefault(whole[i.replace("half/", "starter/")], set()).add(side[q])
    assert len(sides) > 50 and all(len(s) == 1 for s in sides.values())
    placements = split.placements["half"]
    assert any(p.split != p.alone for p in placements)  # the two splits differ alone: there was something to join
    for benchmark in split.placements.values():
        assert 0.25 < sum(p.split == "test" for p in benchmark) / len(benchmark) < 0.55


def test_media_open_and_last_as_long_as_said(rendered: Rendered, themes: list[Theme]) -> None:
    for item in pictures(themes):
        with Image.open(rendered.folder / "media" / f"{item.id}.png") as picture:
            picture.load()
            assert picture.size == (960, 600) and "Software" not in picture.info
    for item in lessons(themes):
        with av.open(str(rendered.folder / "media" / f"{item.id}.mp4")) as container:
            stream = container.streams.video[0]
            assert (stream.width, stream.height) == (videos.WIDTH, videos.HEIGHT)
            assert container.duration / av.time_base == item.seconds == sum(1 for _ in container.decode(stream))


def test_subtitles_say_the_narration_in_step_with_the_scenes(rendered: Rendered, themes: list[Theme]) -> None:
    for item in lessons(themes):
        cues = rendered.sink.items[f"starter/{item.id}"].cues
        assert cues == parse_cues(videos.subtitles(item))
        assert " ".join(c.text for c in cues).split() == " ".join(s.narration for s in item.scenes).split()
        assert cues[0].start == 0 and cues[-1].end == item.seconds
        assert all(a.end == b.start for a, b in pairwise(cues)) and all(c.end > c.start for c in cues)
        starts = {c.start for c in cues}
        assert all(sum(s.seconds for s in item.scenes[:n]) in starts for n in range(len(item.scenes)))


def test_same_bytes_again(rendered: Rendered, themes: list[Theme], tmp_path: Path) -> None:
    kinds: dict[str, ImageItem] = {i.drawing.kind: i for i in pictures(themes)}
    assert {k.model_fields["kind"].annotation.__args__[0] for k in PAINTERS} == kinds.keys()
    for item in kinds.values():
        write_drawing(item.drawing, item.title, tmp_path / "again.png")
        assert (tmp_path / "again.png").read_bytes() == (rendered.folder / "media" / f"{item.id}.png").read_bytes()
    for item in lessons(themes)[5:8]:
        videos.write_video(item, tmp_path / "again.mp4")
        assert (tmp_path / "again.mp4").read_bytes() == (rendered.folder / "media" / f"{item.id}.mp4").read_bytes()


def test_writes_a_video_without_h264(themes: list[Theme], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(av, "codecs_available", {"mpeg4"})
    item = lessons(themes)[0]
    videos.write_video(item, tmp_path / "plain.mp4")
    with av.open(str(tmp_path / "plain.mp4")) as container:
        assert container.streams.video[0].codec_context.name == "mpeg4"
        assert container.duration / av.time_base == item.seconds


def test_no_slide_cuts_or_crowds_its_words(themes: list[Theme]) -> None:
    for item in lessons(themes):
        for scene in item.scenes:
            for bullet in scene.bullets:
                assert all(
                    font(11).getlength(x) <= videos.WIDTH - 2 * videos.MARGIN - 22 for x in wrap(bullet, 402, 11)
                )
        size, lines = fit(item.title, videos.WIDTH - 2 * videos.MARGIN - 50, 16, range(12, 7, -1), spacing=1.2)
        assert len(lines) == 1 and size >= 10


def test_native_folder_is_written_once_and_reads_like_the_adapter(
    tmp_path: Path, rendered: Rendered, themes: list[Theme]
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    small(source)
    folder = write_native(tmp_path / "mine", source)
    assert {p.name for p in folder.iterdir()} == {"items.jsonl", "questions.jsonl", "media"}
    sink = Sink("mine", tmp_path)
    load_benchmark_adapter("native").read(folder, sink)
    assert sink.counts["mapped"] == 3 and not sink.quarantine
    gold = sink.annotations[0]
    assert sink.items["mine/mini-text-a"].text[int(gold.spans[0][0]):int(gold.spans[0][1])] == "It has two."
    with pytest.raises(DataError, match=r"items\.jsonl: already there"):
        write_native(folder, source)


def test_question_record_keeps_spans_in_order() -> None:
    question = SourceQuestion.model_validate({"id": "x-q-1", "question": "?", "answers": ["a"], "type": "single",
                                              "gold": [{"item": "t", "quotes": ["B b.", "A a."]}]})
    assert question_record(question, {"t": "A a. B b."})["gold"] == [{"item": "t", "chars": [[0, 4], [5, 9]]}]


def test_spread_keeps_a_gap_and_the_limits() -> None:
    assert spread([0, 1, 2, 100], 10, 0, 100) == [0, 10, 20, 100]
    assert spread([98, 99, 100], 10, 0, 100) == [80, 90, 100]


TEXT = "One is here. It has two. Three is next. Four comes after. Five is last."


def small(folder: Path, **changes: object) -> Path:
    """A theme of a text and a table, with changed records; returns its file."""
    records = {
        "text": {"id": "mini-text-a", "modality": "text", "title": "A", "text": TEXT},
        "table": {
            "id": "mini-table-b",
            "modality": "table",
            "title": "B",
            "header": ["x", "y"],
            "rows": [["1", "2"]] * 6,
        },
        "question": {
            "id": "mini-q-001",
            "question": "How many?",
            "answers": ["two"],
            "type": "table_text",
            "gold": [{"item": "mini-text-a", "quote": "It has two."}, {"item": "mini-table-b", "rows": [5]}],
        },
    }
    for name, change in changes.items():
        records[name] = {**records[name], **change}
    path = folder / "mini.yaml"
    path.write_text(
        json.dumps({"theme": "mini", "items": [records["text"], records["table"]], "questions": [records["question"]]})
    )
    return path


@pytest.mark.parametrize(
    ("changes", "name", "reason"),
    [
        ({"text": {"text": "Short."}}, "mini-text-a", "5 to 12 sentences"),
        ({"text": {"titel": "A"}}, "mini-text-a", "titel"),
        ({"text": {"modality": "audio"}}, "mini-text-a", "audio"),
        ({"table": {"rows": [["1"]] * 6}}, "mini-table-b", "row 0 has 1 cells"),
        ({"table": {"rows": [["1", 2]] * 6}}, "mini-table-b", "string"),
        ({"table": {"rows": [["1", "2"]] * 5}}, "mini-table-b", "at least 6"),
        ({"question": {"answers": []}}, "mini-q-001", "answers"),
        ({"question": {"answers": [2]}}, "mini-q-001", "string"),
        ({"question": {"type": "hard"}}, "mini-q-001", "type"),
        ({"question": {"gold": [{"item": "mini-text-x"}]}}, "mini-q-001", "no such item"),
        ({"question": {"gold": [{"item": "mini-text-a", "quote": "It has three."}]}}, "mini-q-001", "exactly once"),
        ({"question": {"gold": [{"item": "mini-text-a", "rows": [0]}]}}, "mini-q-001", "quote or quotes is expected"),
        ({"question": {"gold": [{"item": "mini-table-b", "rows": [6]}]}}, "mini-q-001", "row 6"),
        ({"question": {"gold": [{"item": "mini-table-b", "rows": [0]}]}}, "mini-text-a", "no question"),
    ],
)
def test_a_fault_names_file_record_and_reason(
    tmp_path: Path, changes: dict[str, object], name: str, reason: str
) -> None:
    path = small(tmp_path, **changes)
    with pytest.raises(DataError, match=reason) as caught:
        load_theme(path)
    assert str(path) in str(caught.value) and name in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["", "[]", "theme: mini", "items: [1, 2", "theme: other\nitems: []\nquestions: []", "\x00"]
)
def test_a_broken_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "mini.yaml").write_text(content)
    with pytest.raises(DataError, match=r"mini\.yaml"):
        load_themes(tmp_path)


def test_no_sources_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no \\.yaml file"):
        load_themes(tmp_path)


def test_ids_are_unique_over_files(tmp_path: Path) -> None:
    first = small(tmp_path)
    (tmp_path / "twin.yaml").write_text(first.read_text().replace('"theme": "mini"', '"theme": "twin"'))
    with pytest.raises(DataError, match=r"twin\.yaml: mini-text-a: this id is used twice"):
        load_themes(tmp_path)
