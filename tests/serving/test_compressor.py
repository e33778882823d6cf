"""Known and raw items get the same evidence, a bad job does not hurt its neighbours, and a wrong part is refused."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_model

from canopy.bundle.manifest import CORPUS, INDEX, Manifest
from canopy.bundle.parts import read_parts
from canopy.config import load_config
from canopy.corpus.packing import pack_corpus
from canopy.corpus.reader import Corpus
from canopy.digests import file_sha256
from canopy.errors import DataError, EncoderMismatch
from canopy.items import Item, write_items
from serving.bundle import export_bundle
from serving.compressor import ServedCompressor
from serving.jobs import CompressJob, RetrieveJob, decode_job, decode_outcome, encode_job, encode_outcome
from serving.node_cache import NodeCache
from serving.raw_items import parse_raw_items

ASK = "When was the Aswan High Dam finished?"


@pytest.fixture(scope="module")
def compressor(bundle: Path) -> ServedCompressor:
    return ServedCompressor.open(bundle)


def test_known_item_by_id_and_sent_in_get_the_same_evidence(compressor: ServedCompressor) -> None:
    for item in tiny_model.ITEMS:
        by_id, sent = compressor.run([CompressJob(ASK, (item.id,)), CompressJob(ASK, items=(item,))])
        assert not by_id.error and not sent.error
        # The store encodes items together, a request one by one: the same regions, scores equal to half precision.
        a, b = ([(r.fragments, r.span, r.depth, r.tokens, r.text) for r in o.items[0].regions] for o in (by_id, sent))
        assert a == b
        stored, encoded = ([r.score for r in o.items[0].regions] for o in (by_id, sent))
        assert stored == pytest.approx(encoded, abs=1e-4)
        assert (by_id.encoded, by_id.cached) == (0, 1)


def test_spans_are_in_the_items_unit_and_give_back_the_text(compressor: ServedCompressor) -> None:
    ids = tuple(i.id for i in tiny_model.ITEMS)
    outcome = compressor.run([CompressJob(ASK, ids, fragments=True)])[0]
    assert [e.id for e in outcome.items] == list(ids)
    for evidence, item in zip(outcome.items, tiny_model.ITEMS, strict=True):
        assert evidence.tokens_after <= evidence.tokens_before and evidence.fragments is not None
        assert len(evidence.fragments) == evidence.count and evidence.regions
        edges = [r.fragments for r in evidence.regions]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(edges))
        assert sum(f.kept for f in evidence.fragments) == sum(hi - lo for lo, hi in edges)
        for region in evidence.regions:
            if item.modality == "text":
                assert item.text[int(region.span[0]):int(region.span[1])] == region.text
            elif item.modality == "table":
                assert region.text.count("\n") + 1 == region.span[1] - region.span[0]
    nile = outcome.items[0]
    assert any("1970" in r.text for r in nile.regions) and nile.tokens_after < nile.tokens_before
    assert outcome.items[7].unit == "seconds" and outcome.items[7].head == "Rocket launch. A rocket is launched"
    assert [r.depth for r in outcome.items[6].regions] == [0]


def test_retrieves_first_where_no_items_are_named(compressor: ServedCompressor) -> None:
    hits, evidence = compressor.run([RetrieveJob(ASK, 3), CompressJob(ASK, k=2)])
    assert [h.id for h in hits.hits][:2] == [e.id for e in evidence.items] and hits.hits[0].id == "tiny/nile"
    assert [h.score for h in hits.hits] == sorted((h.score for h in hits.hits), reverse=True)
    assert evidence.items[0].retrieval_score == hits.hits[0].score
    assert len(compressor.run([RetrieveJob(ASK, 200)])[0].hits) == len(tiny_model.ITEMS)


def test_another_branching_encodes_anew_then_remembers(compressor: ServedCompressor) -> None:
    wide = CompressJob(ASK, ("tiny/nile",), branching=6)
    first, second = compressor.run([wide])[0], compressor.run([wide])[0]
    assert (first.encoded, second.encoded, second.cached) == (1, 0, 1) and first.items == second.items
    assert max(r.depth for r in first.items[0].regions) == 1


def test_the_rule_is_each_job_s_own(compressor: ServedCompressor) -> None:
    ids = tuple(i.id for i in tiny_model.ITEMS)
    jobs = [CompressJob(ASK, ids), CompressJob(ASK, ids, rule="lookahead"),
            CompressJob(ASK, ids, rule="lookahead", margin=2.0), CompressJob(ASK, ids)]
    parent, ahead, whole, again = compressor.run(jobs)
    assert parent.items == again.items
    assert [compressor.run([j])[0].items for j in jobs] == [parent.items, ahead.items, whole.items, again.items]
    # Nothing beats an item by 2.
    assert all([r.depth for r in e.regions] == [0] and e.tokens_after == e.tokens_before for e in whole.items)
    # Below every region of the paper's rule looking ahead keeps something, and here it goes deeper somewhere.
    spans = [[[r.fragments for r in e.regions] for e in outcome.items] for outcome in (parent, ahead)]
    assert all(any(a <= lo and hi <= b for lo, hi in deep) for flat, deep in zip(*spans, strict=True) for a, b in flat)
    assert spans[0] != spans[1]
    assert decode_job(encode_job(jobs[2])) == jobs[2]


def test_answers_do_not_depend_on_the_batch(compressor: ServedCompressor) -> None:
    jobs = [CompressJob(f"{ASK} {n}" * (1 + n), ("tiny/nile", "tiny/curie"), (tiny_model.ITEMS[n],)) for n in range(4)]
    alone = [compressor.run([j])[0] for j in jobs]
    together = compressor.run(jobs)
    assert [a.items for a in alone] == [t.items for t in together]


def test_a_failing_job_leaves_its_neighbours_alone(compressor: ServedCompressor,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    failing = dataclasses.replace(tiny_model.ITEMS[1], text="boom. Other.")
    good, bad = CompressJob(ASK, ("tiny/nile",)), CompressJob(ASK, items=(failing,))
    encode = compressor.compressor.model.encoder.encode_nodes

    def fail(requests):  # type: ignore[no-untyped-def]
        if "boom" in requests[0].item.text:
            raise RuntimeError("out of memory")
        return encode(requests)

    monkeypatch.setattr(compressor.compressor.model.encoder, "encode_nodes", fail)
    first, failed, last = compressor.run([good, bad, good])
    assert failed.error == "RuntimeError: out of memory" and first.items == last.items and not first.error
    assert first.items


def test_too_much_to_encode_is_refused_by_its_size(compressor: ServedCompressor,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    good, text = CompressJob(ASK, ("tiny/nile",)), Item("a", "", "text", text="Word. " * 25_000)
    # 60,000 characters as sent, but every row reads the title and the column's name again.
    table = Item("b", "", "table", "T" * 200, header=("H" * 200,), rows=(("cell",),) * 2_000)
    refused = [CompressJob(ASK, items=(text,) * 3), CompressJob(ASK, items=(table,))]
    monkeypatch.setattr(compressor.compressor.model.encoder, "encode_nodes", None)
    outcomes = compressor.run([good, *refused])
    assert [o.status for o in outcomes] == [0, 413, 413] and outcomes[0].items and not outcomes[0].error
    assert "450000 characters" in outcomes[1].error and "808000 characters" in outcomes[2].error
    assert "at most 400000" in outcomes[2].error
    monkeypatch.setattr("serving.compressor.MAX_ENCODED_CHARS", 300)
    stored, anew = compressor.run([CompressJob(ASK, k=9), CompressJob(ASK, k=9, branching=5)])
    assert stored.status == 0 and len(stored.items) == 9 and anew.status == 413 and "`branching`" in anew.error


def test_jobs_and_outcomes_cross_a_process_unchanged(compressor: ServedCompressor) -> None:
    job = CompressJob(ASK, ("tiny/nile",), tuple(tiny_model.ITEMS), fragments=True)
    assert decode_job(encode_job(job)) == job and decode_job(encode_job(RetrieveJob("x", 2))) == RetrieveJob("x", 2)
    outcome = compressor.run([job])[0]
    assert decode_outcome(encode_outcome(outcome)) == outcome


@pytest.mark.parametrize("broken", [
    "digest", "query_digest", "store", "index", "adapter file", "manifest", "index folder", "corpus file"])
def test_parts_that_do_not_belong_together_are_refused(bundle: Path, tmp_path: Path, broken: str) -> None:
    copy = Path(shutil.copytree(bundle, tmp_path / "bundle"))
    manifest = Manifest.read(copy)
    if broken == "adapter file":
        tiny_model.make_adapter(copy / "adapter", seed=9)
    elif broken == "manifest":
        (copy / "manifest.json").write_text("{")
    elif broken == "corpus file":
        write_items(tmp_path / "fewer.parquet", tiny_model.ITEMS[:3])
        pack_corpus(tmp_path / "fewer.parquet", copy / CORPUS)
    elif broken == "index folder":
        shutil.rmtree(copy / INDEX)
    else:
        dataclasses.replace(manifest, parts=dataclasses.replace(manifest.parts, **{broken: "0" * 64})).write(copy)
    error = DataError if broken in ("manifest", "index folder", "corpus file") else EncoderMismatch
    with pytest.raises(error, match=r"bundle"):
        ServedCompressor.open(copy)


def test_corpus_gives_back_every_item(bundle: Path) -> None:
    corpus = Corpus.open_packed(bundle / "corpus.arrow")
    assert [corpus[i.id] for i in tiny_model.ITEMS] == tiny_model.ITEMS and len(corpus) == len(tiny_model.ITEMS)
    assert corpus.unknown(["tiny/nile", "x", "y"]) == ["x", "y"] and "tiny/nile" in corpus


def test_a_folded_item_is_known_and_compressed_under_its_own_id(workspace: Path, bundle: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bundle, tmp_path / "bundle"))
    write_items(tmp_path / "near.parquet", [Item("other/near", "other", "text", text="An old, silent pond.")])
    items = workspace / "data" / "corpus" / "items.parquet"
    pack_corpus(items, copy / CORPUS, tmp_path / "near.parquet", {"other/nile": "tiny/nile"})
    dataclasses.replace(Manifest.read(copy), corpus_sha256=file_sha256(copy / CORPUS)).write(copy)
    compressor = ServedCompressor.open(copy)
    assert compressor.corpus.unknown(["other/nile", "other/near", "other/x"]) == ["other/x"]
    assert compressor.corpus["other/near"].text
    assert compressor.corpus["other/nile"] == dataclasses.replace(tiny_model.ITEMS[0], id="other/nile")
    folded, own = compressor.run([CompressJob(ASK, ("other/nile",)), CompressJob(ASK, ("tiny/nile",))])
    assert folded.items[0].id == "other/nile" and folded.items[0].regions == own.items[0].regions and folded.cached == 1


def test_parts_of_different_items_are_not_exported(workspace: Path, tmp_path: Path) -> None:
    half = tmp_path / "workspace"
    shutil.copytree(workspace / "data", half / "data")
    write_items(half / "data" / "corpus" / "items.parquet", tiny_model.ITEMS[1:])
    config = load_config(workspace / "params.yaml")
    with pytest.raises(DataError, match=r"\(1 differ\); run `canopy run` first"):
        export_bundle(half, config, tmp_path / "bundles", name="n", version="1", pinned=read_parts(half))
    assert not (tmp_path / "bundles").exists()


def test_cache_is_bounded_by_bytes() -> None:
    cache, vectors = NodeCache(100), np.zeros(10, dtype=np.float32)
    for key in "abc":
        cache.put(key, vectors)
        cache.get("a")
    assert cache.used_bytes == 80 and cache.get("a") is not None and cache.get("b") is None
    assert cache.get("c") is not None
    cache.put("large", np.zeros(1000))
    assert cache.get("large") is None and cache.used_bytes == 80


BAD = {
    "an object is expected": 7, "modality must be one of": {"modality": "smell", "text": "x"},
    "text": {"modality": "text"},
    "a table needs rows": {"modality": "table", "rows": []}, "unknown fields: txt": {"modality": "text", "txt": "x"},
    "send `cues`": {"modality": "video", "duration": 3, "subtitles": "a.vtt"},
    "above 0 and at most": {"modality": "video", "duration": 0},
    "characters; at most": {"modality": "text", "text": "x" * 200_001},
    "rows; at most": {"modality": "table", "rows": [["a"]] * 5_001},
    "nothing to read": {"modality": "image"},
    "seconds; at most": {"modality": "video", "duration": 1e6, "cues": [[0, 1, "x"]]},
    "2000 rows x 2000 columns": {"modality": "table", "header": ["a"] * 2_000, "rows": [["a"], *[[]] * 1_999]},
    "cues; at most": {"modality": "video", "duration": 9, "cues": [[0, 1, "x"]] * 10_001},
    "a cue is [start, end, text]": {"modality": "video", "duration": 9, "cues": [[1]]},
}


def test_each_bad_raw_item_is_told_and_the_good_ones_stay() -> None:
    good = {"id": "g", "modality": "text", "text": "Fine."}
    items, errors = parse_raw_items([good, *BAD.values(), {"modality": "text", "text": "Unnamed."}])
    assert [i.id for i in items] == ["g", f"items[{len(BAD) + 1}]"]
    for error, (wanted, _), index in zip(errors, BAD.items(), range(1, 99), strict=False):
        assert wanted in error.reason and error.index == index, (wanted, error)
    assert len(errors) == len(BAD) and json.dumps([e.reason for e in errors])


def test_cells_are_bounded_over_all_tables_and_before_they_are_filled_up(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"modality": "table", "header": ["a"] * 1_000, "rows": [["a"], *[[]] * 89]}
    items, errors = parse_raw_items([table, table, table, {"modality": "text", "text": "Fine."}])
    assert [i.id for i in items] == ["items[0]", "items[1]", "items[3]"]
    assert "180000 cells in the tables before it; at most 200000" in errors[0].reason
    monkeypatch.setattr("serving.raw_items.parse_item", None)  # would be called only after the check
    assert "90 rows x 3000 columns" in parse_raw_items([{**table, "header": ["a"] * 3_000}])[1][0].reason
