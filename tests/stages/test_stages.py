"""The stages in a row, over a benchmark, another that repeats parts of it, and one whose records all wait for their
documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from canopy.config import Config
from canopy.embeddings.store import NodeStore
from canopy.paths import Paths
from canopy.stages.base import NullTracker, StageResult
from canopy.stages.registry import PER_BENCHMARK, load_stage
from canopy.validation.checker import RuleValidator
from serving.bundle import check_same_items
from tests.stage_order import stages_in_order

CITIES = (("Lyon", "silk", "Rhone"), ("Linz", "steel", "Danube"), ("Turin", "cars", "Po"), ("Rouen", "ships", "Seine"),
          ("Basel", "dyes", "Rhine"))


def passage(city: str, trade: str, river: str) -> str:
    return (f"{city} lies on the {river} , which floods in spring . The town lived on {trade} for more than a century "
            ". Visitors are shown the old "
            f"quays of {city} by guides in costume . A museum by the station keeps the last machines .")


def write_benchmark(folder: Path, texts: dict[str, tuple[str, str]], asked: dict[str, str]) -> None:
    """A folder in the native format.

    Texts by id as (title, text), and a question for each id in ``asked`` whose answer is the value.
    """
    folder.mkdir()
    items = [{"id": i, "modality": "text", "title": title, "text": text} for i, (title, text) in texts.items()]
    questions = [{"id": f"q-{i}", "question": f"What did {texts[i][0]} live on?", "answers": [a],
                  "gold": [{"item": i, "chars": [[texts[i][1].index("The town"), texts[i][1].index(" Visitors")]]}]}
                 for i, a in asked.items()]
    for name, rows in (("items", items), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Paths, dict[str, StageResult]]:
    root = tmp_path_factory.mktemp("stages")
    plain = {city.lower(): (city, passage(city, trade, river)) for city, trade, river in CITIES}
    write_benchmark(root / "one", plain, {c.lower(): t for c, t, _ in CITIES})
    again = {"lyon": plain["lyon"], "linz": ("Linz on the Danube",
                                             plain["linz"][1].replace(" .", ".").replace(" ,", ",")),
             "turin": plain["turin"],
             "graz": ("Graz", passage("Graz", "beer", "Mur"))}
    write_benchmark(root / "two", again, {"lyon": "silk", "linz": "steel", "turin": "cars", "graz": "beer"})
    (root / "waiting").mkdir()
    (root / "waiting" / "items.jsonl").write_text(json.dumps({"id": "film", "modality": "video", "media": "film.mp4",
                                                              "duration": 90}) + "\n", "utf-8")
    config = Config.model_validate({
        "benchmarks": {b: {"adapter": "native", "path": b, "fold": "redirects"} for b in ("one", "two", "waiting")},
        "split": {"test_share": 0.6},
        "training": {"epochs": 1, "rank": 2, "batch": 8, "per_modality": True, "modality_ranks": {"text": 1}},
        "store": {"shards": 2, "branchings": [2, 3]}, "evaluation": {"resamples": 100},
        "answers": {"systems": ["canopy", "vanilla", "gold-span"], "k": 3}})
    paths, results = Paths(root), {}
    for stage in stages_in_order():
        for b in config.benchmarks if stage in PER_BENCHMARK else (None,):
            run: Callable[..., StageResult] = load_stage(stage)
            results[f"{stage}@{b}" if b else stage] = run(config, paths, NullTracker(), RuleValidator(), benchmark=b)
    return paths, results


@pytest.mark.slow
def test_exact_duplicates_share_nodes_near_ones_keep_their_own_and_one_is_searched(
    done: tuple[Paths, dict[str, StageResult]],
) -> None:
    paths, results = done
    folded = {r["item_id"]: (r["into"], r["kind"])
              for r in pq.read_table(paths.output("corpus") / "folded.parquet").to_pylist()}
    assert folded == {"two/lyon": ("one/lyon", "exact"), "two/linz": ("one/linz", "near"),
                      "two/turin": ("one/turin", "exact")}
    stored = NodeStore.open(paths.output("node_embeddings") / "f_theta").item_ids
    assert set(stored) == {*(f"one/{c.lower()}" for c, _, _ in CITIES), "two/linz", "two/graz"}
    indexed = pq.read_table(paths.output("item_index") / "ids.parquet")["item_id"].to_pylist()
    assert set(indexed) == set(stored) - {"two/linz"}
    check_same_items(paths.root)
    # With more results than items all gold is found, a folded item's through its representative.
    for b in ("one", "two"):
        assert results[f"evaluation@{b}"].metrics["retrieval.recall_at_20"] == 1.0
        assert results[f"evaluation@{b}"].metrics["decisions"] > 0


@pytest.mark.slow
def test_a_benchmark_without_items_or_questions_passes_every_stage(done: tuple[Paths, dict[str, StageResult]]) -> None:
    paths, results = done
    assert results["benchmark@waiting"].metrics["waiting"] == 1 and results["benchmark@waiting"].metrics["items"] == 0
    assert (
        results["gold_spans@waiting"].metrics["questions_selected"]
        == 0
        == results["training_instances@waiting"].metrics["instances"]
    )
    assert results["evaluation@waiting"].metrics["questions"] == 0 and results["evaluation@waiting"].notes
    page = (paths.output("report") / "report.html").read_text("utf-8")
    assert "waiting" in page and "../gold_spans/two/examples.html" in page and "an item of" in page
    assert "nothing to show" in (paths.output("gold_spans", "waiting") / "examples.html").read_text("utf-8")


@pytest.mark.slow
def test_another_branching_is_a_store_and_rows_of_the_report(done: tuple[Paths, dict[str, StageResult]]) -> None:
    paths, _ = done
    stores = {p.name: NodeStore.open(p) for p in paths.output("node_embeddings").iterdir() if p.is_dir()}
    assert "f_theta_branching_2" not in stores
    assert stores["f_theta_branching_3"].branching == 3
    assert stores["f_theta"].branching == 2
    rows = pq.read_table(paths.output("answers", "one") / "answers.parquet",
                         columns=["system", "variant", "corpus_scope"]).to_pylist()
    assert {(r["system"], r["variant"]) for r in rows if r["corpus_scope"] == "unified"} == {("canopy", ""),
                                                                                             ("canopy", "B=3"),
                                                                                             ("vanilla", "")}
    assert 'id="branching"' in (paths.output("report") / "report.html").read_text("utf-8")
    assert (paths.output("report") / "tables" / "branching-unified.csv").is_file()


@pytest.mark.slow
def test_a_modality_can_have_an_adapter_and_a_rank_of_its_own(done: tuple[Paths, dict[str, StageResult]]) -> None:
    paths, _ = done
    own = json.loads(
        (paths.output("node_encoder") / "by_modality" / "text" / "adapter" / "adapter_config.json").read_text()
    )
    shared = json.loads((paths.output("node_encoder") / "adapter" / "adapter_config.json").read_text())
    assert (own["r"], shared["r"]) == (1, 2)
    stores = [NodeStore.open(paths.output("node_embeddings") / v) for v in ("f_theta", "f_theta_per_modality")]
    assert stores[0].item_ids == stores[1].item_ids and stores[0].digest != stores[1].digest
