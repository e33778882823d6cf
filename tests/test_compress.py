"""The front door: what it takes, what it refuses, and that all doors give equal evidence for equal input."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import canopy
from canopy import Compression, Compressor, Item, ItemEvidence, cli
from canopy.bundle.manifest import Manifest
from canopy.bundle.parts import read_parts
from canopy.config import load_config
from canopy.errors import CanopyError, DataError, EncoderMismatch
from canopy.llm.roles import Trace
from canopy.pipelines.canopy import Canopy
from serving.bundle import export_bundle
from serving.compressor import ServedCompressor
from serving.jobs import CompressJob
from serving.raw_items import parse_raw_items
from tests import tiny_model, tiny_tools

ROOT = Path(__file__).resolve().parents[1]
QUESTION = "When was the Aswan High Dam finished?"
QUESTIONS = (QUESTION, "What is the boiling point of neon?", "When does the rocket leave the pad?",
             "Where does it rain?")
NILE = "The Nile flows north. It is 6,650 km long. Its delta is fertile."
HALF_PRECISION = 5e-4  # the step between two float16 numbers just below 1


def native(item: Item) -> dict[str, Any]:
    """An item as a record of the native format."""
    fields = {name: getattr(item, name) for name in ("id", "modality", "title", "section", "caption")}
    if item.modality == "text":
        return {**fields, "text": item.text}
    if item.modality == "table":
        return {**fields, "header": list(item.header), "rows": [list(r) for r in item.rows]}
    if item.modality == "image":
        return {**fields, "words": item.words}
    return {**fields, "duration": item.duration, "cues": [[c.start, c.end, c.text] for c in item.cues]}


RECORDS = [native(i) for i in tiny_model.ITEMS]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.make_workspace(tmp_path_factory.mktemp("front") / "workspace")


@pytest.fixture(scope="module")
def bundle(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_bundle(workspace, load_config(workspace / "params.yaml"), tmp_path_factory.mktemp("bundles"),
                         name="tiny", version="3", pinned=read_parts(workspace))


@pytest.fixture(scope="module")
def tuned(bundle: Path) -> Compressor:
    return Compressor.load(bundle)


@pytest.fixture(scope="module")
def served(bundle: Path) -> ServedCompressor:
    return ServedCompressor.open(bundle)


@pytest.fixture(scope="module")
def tiny_corpus(tuned: Compressor, tmp_path_factory: pytest.TempPathFactory) -> tiny_tools.Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    return tiny_tools.make_corpus(folder, tuned.model.encoder)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def frozen() -> Compressor:
    return Compressor.load()


class Kept(NamedTuple):
    """A kept region, as every door states it."""

    item: str
    fragments: tuple[int, int]
    depth: int
    score: float


def kept_of(items: Iterable[ItemEvidence]) -> list[Kept]:
    return [Kept(i.id, r.fragments, r.depth, r.score) for i in items for r in i.regions]


def by_library(compressor: Compressor, question: str) -> list[Kept]:
    return kept_of(compressor.compress(question, RECORDS).items)


def by_service(served: ServedCompressor, question: str) -> list[Kept]:
    items, errors = parse_raw_items(RECORDS)
    assert errors == []
    return kept_of(served.run([CompressJob(question, items=tuple(items))])[0].items)


def by_service_of_known_items(served: ServedCompressor, question: str) -> list[Kept]:
    job = CompressJob(question, tuple(i.id for i in tiny_model.ITEMS))
    return kept_of(served.run([job])[0].items)


def by_command(bundle: Path, question: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[Kept]:
    (folder / "items.jsonl").write_text("".join(json.dumps(r) + "\n" for r in RECORDS))
    assert cli.run(["compress", question, str(folder / "items.jsonl"), "--model", str(bundle), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["model"] == "tiny version 3" and answer["tokens_after"] <= answer["tokens_before"]
    return [Kept(i["id"], tuple(r["fragments"]), r["depth"], r["score"]) for i in answer["items"] for r in i["regions"]]


def by_pipeline(corpus: tiny_tools.Corpus, question: str) -> list[Kept]:
    bench = corpus.bench(k=len(tiny_model.ITEMS), rounds=1)
    result = Canopy(len(tiny_model.ITEMS), 1, bench.tools.answers.options).answer(
        tiny_tools.question(question), bench.tools, Trace())
    kept = [Kept(e.item_id, (e.lo, e.hi), e.depth, e.score) for r in result.rounds for e in r.kept]
    order = [i.id for i in tiny_model.ITEMS]
    return sorted(kept, key=lambda k: (order.index(k.item), k.fragments))


def by_registered_model(model: Any, question: str) -> list[Kept]:
    import pandas as pd

    rows = pd.DataFrame({"question": [question] * len(RECORDS), "item": [json.dumps(r) for r in RECORDS]})
    return [Kept(record["id"], tuple(r["fragments"]), r["depth"], r["score"])
            for record, answer in zip(RECORDS, model.predict(rows), strict=True) for r in json.loads(answer)]


def by_registered_model_row(model: Any, record: dict[str, Any]) -> list[str]:
    import pandas as pd

    return list(model.predict(pd.DataFrame({"question": [QUESTION], "item": [json.dumps(record)]})))


def assert_equal(kept: list[Kept], expected: list[Kept]) -> None:
    assert [k[:3] for k in kept] == [k[:3] for k in expected]
    assert [k.score for k in kept] == pytest.approx([k.score for k in expected], abs=HALF_PRECISION)


@pytest.mark.parametrize("question", QUESTIONS)
def test_all_doors_but_mlflows_give_equal_evidence(
        bundle: Path, tuned: Compressor, served: ServedCompressor, tiny_corpus: tiny_tools.Corpus, question: str,
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = by_library(tuned, question)
    assert {k.item for k in expected} == {i.id for i in tiny_model.ITEMS} and any(k.depth for k in expected)
    assert_equal(kept_of(tuned.compress(question, tiny_model.ITEMS).items), expected)  # Items, not records
    assert_equal(by_service(served, question), expected)
    assert_equal(by_service_of_known_items(served, question), expected)
    assert_equal(by_command(bundle, question, tmp_path, capsys), expected)
    assert_equal(by_pipeline(tiny_corpus, question), expected)


@pytest.mark.slow
def test_the_registered_model_gives_equal_evidence(workspace: Path, tuned: Compressor, tmp_path: Path) -> None:
    import mlflow

    from orchestration.models.registration import save_model

    save_model(tmp_path / "model", workspace, load_config(workspace / "params.yaml"))
    model = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    opened = Compressor.load(tmp_path / "model")
    for question in QUESTIONS:
        expected = by_library(tuned, question)
        assert_equal(by_registered_model(model, question), expected)
        assert_equal(by_library(opened, question), expected)
    ragged = {"id": "r", "modality": "table", "header": ["dam", "year"], "rows": [["Aswan", "1970"], ["Hoover"]]}
    with pytest.warns(UserWarning, match=r"row 0: items\[0\] \(r\): rows\[1\] has fewer cells"):
        by_registered_model_row(model, ragged)


@pytest.mark.parametrize("folder", ["node_encoder", "node_encoder/adapter"])
def test_an_adapter_alone_is_a_model(workspace: Path, tuned: Compressor, folder: str) -> None:
    alone = Compressor.load(workspace / "data" / folder)
    assert alone.compress(QUESTION, RECORDS) == tuned.compress(QUESTION, RECORDS)


def test_items_are_strings_records_and_items_mixed(frozen: Compressor) -> None:
    film = tiny_model.ITEMS[7]
    result = frozen.compress(QUESTION, [NILE, native(tiny_model.ITEMS[4]), film, native(tiny_model.ITEMS[6])])
    assert [i.modality for i in result.items] == ["text", "table", "video", "image"]
    assert [i.unit for i in result.items] == ["chars", "rows", "seconds", "item"]
    assert [i.id for i in result.items] == ["items[0]", "tiny/elements", "tiny/launch", "tiny/diagram"]
    assert all(i.regions and i.tokens_after <= i.tokens_before for i in result.items)
    assert result.items[2].head == "Rocket launch. A rocket is launched"
    assert result.items[2].regions[0].span[1] <= film.duration


def test_the_result_states_what_is_kept_and_where(frozen: Compressor) -> None:
    result = frozen.compress("How long is the Nile?", (x for x in [NILE]), fragments=True)
    assert isinstance(result, Compression) and result.text == "It is 6,650 km long."
    item, = result.items
    region, = item.regions
    start, end = region.span
    assert NILE[start:end] == region.text == result.text and (region.fragments, region.depth) == ((1, 2), 2)
    assert 0 < item.tokens_after == region.tokens == result.tokens_after < result.tokens_before
    assert [f.kept for f in item.fragments or ()] == [False, True, False] and 0 < region.score <= 1
    assert canopy.compress("How long is the Nile?", [NILE]).items[0].regions == item.regions
    assert dataclasses.asdict(result)["items"][0]["regions"][0]["text"] == region.text
    assert frozen.compress("What?", []) == Compression("What?", ())
    record = {"modality": "text", "title": "Nile", "text": NILE}
    titled = frozen.compress("How long is the Nile?", [record, "Cats sleep."])
    assert titled.text.startswith("Nile\n") and titled.text.endswith("\n\nCats sleep.")


def test_the_rules(frozen: Compressor) -> None:
    items = tiny_model.ITEMS
    parent, ahead = (frozen.compress(QUESTION, items, rule=rule) for rule in ("parent", "lookahead"))
    assert parent.items != ahead.items and frozen.compress(QUESTION, items, rule="lookahead", margin=0.01) == ahead
    assert frozen.compress(QUESTION, items, margin=0.0) == parent
    whole = frozen.compress(QUESTION, items, rule="lookahead", margin=2.0)
    assert all([r.depth for r in i.regions] == [0] for i in whole.items)
    wide = frozen.compress(QUESTION, items[:1], branching=6)
    assert max(r.depth for r in wide.items[0].regions) <= 1


BAD: dict[str, tuple[Any, str]] = {
    "no string": ([NILE, 7], r"items\[1\]: a string, a record or an Item is expected, not int"),
    "blank": (["  "], r"items\[0\]: text is empty"),
    "no modality": ([{"id": "a", "text": "x"}], r"items\[0\] \(a\): modality must be one of"),
    "no text": ([NILE, {"id": "b", "modality": "text"}], r"items\[1\] \(b\): text must be a string"),
    "no rows": ([{"modality": "table", "header": ["x"]}], r"items\[0\]: a table needs rows"),
    "duration": ([{"id": "v", "modality": "video", "duration": "long"}], r"\[0\] \(v\): duration must be a number"),
    "subtitles": ([{"id": "v", "modality": "video", "duration": 9, "subtitles": "a.vtt"}],
                  r"items\[0\] \(v\): subtitles: no folder"),
    "id": ([{"id": 7, "modality": "text", "text": "x"}], r"items\[0\] \(7\): id must be a string, not int"),
    "surrogate": (["half a pair: \ud800"], r"items\[0\]: text holds a lone surrogate"),
    "an item's modality": ([Item("x", "", "smell")], r"items\[0\] \(x\): modality"),  # type: ignore[arg-type]
    "an item's text": ([Item("x", "", "text")], r"items\[0\] \(x\): text is empty"),
    "an item's rows": ([Item("x", "", "table")], r"items\[0\] \(x\): rows"),
    "an item's duration": ([Item("x", "", "video")], r"items\[0\] \(x\): duration"),
    "one string": (NILE, "items: a list of items is expected, not one str"),
    "one record": ({"modality": "text", "text": "x"}, "items: a list of items is expected, not one dict"),
    "nothing": (None, "items: a list of items is expected, not one NoneType"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_items_are_one_error_that_names_item_and_field(frozen: Compressor, case: str) -> None:
    items, message = BAD[case]
    with pytest.raises(CanopyError, match=message) as error:
        frozen.compress(QUESTION, items)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_bad_questions_and_rules_are_named(frozen: Compressor) -> None:
    calls: dict[str, Callable[[], object]] = {
        "question is empty": lambda: frozen.compress(" ", [NILE]),
        "question must be a string, not NoneType": lambda: frozen.compress(None, [NILE]),  # type: ignore[arg-type]
        "rule: there is no rule 'best'; there are": lambda: frozen.compress("x", [NILE], rule="best"),
        "margin: it belongs to the rule `lookahead`": lambda: frozen.compress("x", [NILE], margin=0.1),
        "margin: a number of at least 0": lambda: frozen.compress("x", [NILE], rule="lookahead", margin=float("nan")),
        "branching must be a whole number": lambda: frozen.compress("x", [NILE], branching=1),
    }
    for message, call in calls.items():
        with pytest.raises(DataError, match=message):
            call()


def test_media_count_from_their_folder(frozen: Compressor, tmp_path: Path) -> None:
    (tmp_path / "a.vtt").write_text("WEBVTT\n\n00:01.000 --> 00:02.000\nIgnition.\n\n00:40.000 --> 00:41.000\nOrbit.\n")
    (tmp_path / "film.mp4").write_bytes(b"not looked at: the duration is given")
    record = {"id": "v", "modality": "video", "media": "film.mp4", "duration": 60, "subtitles": "a.vtt"}
    reading = Compressor(frozen.model, tmp_path)
    item, = reading.compress("Orbit?", [record], fragments=True).items
    assert [f.text for f in item.fragments or ()] == ["Ignition.", "Orbit."]
    with pytest.raises(DataError, match=r"items\[0\] \(v\): media file 'other.mp4' is not there"):
        reading.compress("Orbit?", [{**record, "media": "other.mp4"}])


def test_folders_that_are_no_model_are_refused(tmp_path: Path, bundle: Path, workspace: Path) -> None:
    with pytest.raises(DataError, match=r"not a model .no such folder.; name the folder of a bundle"):
        Compressor.load(tmp_path / "absent")
    with pytest.raises(DataError, match=r"not a model .no manifest\.json, MLmodel or adapter_config\.json in it"):
        Compressor.load(str(tmp_path))
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(DataError, match="not a bundle's manifest"):
        Compressor.load(tmp_path)
    manifest = Manifest.read(bundle)
    (tmp_path / "adapter").symlink_to(bundle / "adapter")
    dataclasses.replace(manifest, parts=dataclasses.replace(manifest.parts, digest="0" * 64)).write(tmp_path)
    with pytest.raises(EncoderMismatch, match="the bundle pins 000000000000"):
        Compressor.load(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    config = json.loads((workspace / "data" / "node_encoder" / "adapter" / "adapter_config.json").read_text())
    (other / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": "Qwen3-VL"}))
    with pytest.raises(DataError, match="an adapter for Qwen3-VL, not for the embedded all-MiniLM-L6-v2"):
        Compressor.load(other)


def test_a_bundle_of_an_earlier_version_opens(bundle: Path, tuned: Compressor, tmp_path: Path) -> None:
    """Its manifest states every setting of both kinds of encoder."""
    for part in ("adapter", "node_store", "item_index", "corpus.arrow"):
        (tmp_path / part).symlink_to(bundle / part)
    manifest = Manifest.read(bundle)
    earlier = {
        "kind": "minilm", "mode": "one_pass", "window": 256, "overlap": 64, "batch_tokens": 4096, "model": "",
        "revision": "", "allow_download": False, "instruction": "Represent the user's input.", "device": "auto",
        "dtype": "auto", "query_instruction": "Retrieve images or text relevant to the user's query.",
        "max_tokens": 8192, "max_pixels": 1843200, "video_pixels": 7864320}
    dataclasses.replace(manifest, encoder=earlier).write(tmp_path)
    assert Compressor.load(tmp_path).compress(QUESTION, RECORDS) == tuned.compress(QUESTION, RECORDS)
    assert ServedCompressor.open(tmp_path).run([CompressJob(QUESTION, k=2)])[0].error == ""


def test_importing_canopy_loads_nothing() -> None:
    code = ("import sys, canopy; packages = ('numpy', 'torch', 'pyarrow', 'pydantic', 'transformers'); "
            "heavy = [m for m in packages if m in sys.modules]; "
            "names = [n for n in canopy.__all__ if getattr(canopy, n) is None or n not in dir(canopy)]; "
            "print(heavy, names, 'torch' in sys.modules)")
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[0] == "[] [] False"
    with pytest.raises(AttributeError, match="module 'canopy' has no attribute 'nothing'"):
        _ = canopy.nothing


def test_ragged_rows_are_filled_and_noted(frozen: Compressor) -> None:
    record = {"id": "dams", "modality": "table", "header": ["dam", "year"], "rows": [["Aswan", "1970"], ["Hoover"]]}
    item = Item("made", "", "table", header=("dam",), rows=(("Aswan", "1970"), ("Hoover",)))
    compression = frozen.compress(QUESTION, [record, item, NILE])
    assert compression.notes == (
        "items[0] (dams): rows[1] has fewer cells than the table's 2 columns: filled with empty cells",
        "items[1] (made): rows[0] has more cells than the header's 1 columns: the columns from 2 on have no name")
    assert [i.count for i in compression.items[:2]] == [2, 2] and "1970" in compression.items[1].text


def test_media_without_a_folder_are_refused_or_noted(frozen: Compressor) -> None:
    picture = {"id": "p", "modality": "image", "media": "dam.png"}
    with pytest.raises(DataError, match=r"items\[0\] \(p\): media: no folder of media is given"):
        frozen.compress(QUESTION, [picture])
    notes = frozen.compress(QUESTION, [{**picture, "words": "The dam of 1970"}]).notes
    assert notes == ("items[0] (p): media: no folder of media is given, so that the file is not read",)
