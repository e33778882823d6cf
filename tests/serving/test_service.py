"""The Bento, live: a real process on the loopback, asked as a client would ask it."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import tiny_model
import yaml
from conftest import Server

from canopy.bundle.manifest import Manifest
from canopy.bundle.parts import encoder_digest
from orchestration.machine.environment import QUIET
from orchestration.models.bento import build_bento

pytestmark = pytest.mark.slow
ASK = "When was the Aswan High Dam finished?"


@pytest.fixture(scope="module")
def server(serve: Callable[..., Server], bundle: Path) -> Server:
    return serve(bundle)


def post(server: Server, path: str, body: Any, **more: Any) -> httpx.Response:
    return httpx.post(server.url + path, json=body, timeout=60, trust_env=False, **more)


def test_compress_by_id(server: Server, bundle: Path) -> None:
    answer = post(server, "/compress", {"question": ASK, "item_ids": ["tiny/nile", "tiny/elements"]})
    told = answer.json()
    assert answer.status_code == 200 and [i["id"] for i in told["items"]] == ["tiny/nile", "tiny/elements"]
    nile = told["items"][0]
    start, end = nile["regions"][0]["span"]
    assert nile["unit"] == "chars" and tiny_model.ITEMS[0].text[start:end] == nile["regions"][0]["text"]
    assert "1970" in nile["regions"][0]["text"]
    assert 0 < told["tokens_after"] < told["tokens_before"] and told["errors"] == []
    assert (told["encoded"], told["cached"]) == (0, 2)
    parts = Manifest.read(bundle).parts
    assert told["model"] == {
        "name": "canopy-node-encoder", "version": "7", "digest": encoder_digest(bundle / "node_store"),
        "store": parts.store, "index": parts.index}
    again = post(server, "/compress", {"question": ASK, "item_ids": ["tiny/nile", "tiny/elements"]})
    assert again.content == answer.content


def test_compress_raw_items_with_a_bad_one_among_them(server: Server) -> None:
    good = {"id": "mine", "modality": "text",
            "text": "The sky is blue today. The Aswan High Dam was finished in 1970. Cats sleep a lot."}
    table = {"modality": "table", "header": ["dam", "year"],
             "rows": [["Aswan High Dam", "1970"], ["Hoover Dam", "1936"]]}
    bad = {"id": "bad", "modality": "table", "rows": []}
    answer = post(server, "/compress", {"question": ASK, "items": [good, bad, table]})
    told = answer.json()
    assert answer.status_code == 200 and [i["id"] for i in told["items"]] == ["mine", "items[2]"]
    reason = "a table needs rows: a list of at least one list of cells"
    assert told["errors"] == [{"index": 1, "id": "bad", "reason": reason}]
    assert any("1970" in r["text"] for r in told["items"][0]["regions"])
    only_bad = post(server, "/compress", {"question": ASK, "items": [{"modality": "text"}]})
    assert only_bad.status_code == 422 and only_bad.json()["errors"][0]["index"] == 0


def test_ragged_rows_of_a_table_are_filled_and_noted(server: Server) -> None:
    table = {"id": "dams", "modality": "table", "header": ["dam", "year"],
             "rows": [["Aswan High Dam", "1970"], ["Hoover Dam"], ["Itaipu", "1984", "Brazil"], []]}
    answer = post(server, "/compress", {"question": ASK, "items": [table]}).json()
    assert answer["errors"] == [] and answer["items"][0]["count"] == 4
    assert [(n["index"], n["id"]) for n in answer["notes"]] == [(0, "dams")] * 2
    assert answer["notes"][0]["note"] == (
        "rows[1], rows[3] have fewer cells than the table's 2 columns: filled with empty cells")
    assert answer["notes"][1]["note"].startswith("rows[2] has more cells than the header's 2 columns")
    even = {**table, "rows": [["Aswan High Dam", "1970"]]}
    assert post(server, "/compress", {"question": ASK, "items": [even]}).json()["notes"] == []


def test_neighbours_in_a_batch_get_their_own_answers(server: Server) -> None:
    bodies: list[dict[str, Any]] = []
    for n in range(24):
        bodies.append([
            {"question": f"{ASK} {n}", "item_ids": ["tiny/nile"]}, {"question": ASK, "items": [{"modality": "smell"}]},
            {"question": ASK, "item_ids": ["tiny/nowhere"]}, {"question": ASK, "k": 3}][n % 4])
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda b: post(server, "/compress", b), bodies))
    assert [a.status_code for a in answers] == [200, 422, 404, 200] * 6, server.log.read_text()[-2000:]
    for body, answer in zip(bodies[::4], answers[::4], strict=True):
        assert answer.json()["question"] == body["question"]
        assert answer.content == post(server, "/compress", body).content


def test_hundreds_of_requests_from_many_clients(server: Server) -> None:
    # BentoML's default renews its connections after a hundred requests and drops those in use.
    with ThreadPoolExecutor(8) as pool:
        questions = [{"question": f"{ASK} {n}", "k": 1} for n in range(230)]
        codes = list(pool.map(lambda body: post(server, "/retrieve", body).status_code, questions))
    assert set(codes) == {200}


def test_retrieve(server: Server) -> None:
    told = post(server, "/retrieve", {"question": "boiling point of neon", "k": 2}).json()
    assert told["hits"][0]["id"] == "tiny/elements" and len(told["hits"]) == 2
    assert told["hits"][0]["modality"] == "table"
    first = post(server, "/compress", {"question": "boiling point of neon", "k": 2}).json()["items"]
    assert [i["id"] for i in first] == [h["id"] for h in told["hits"]]


@pytest.mark.parametrize(("path", "body", "status", "says"), [
    ("/compress", {"question": " "}, 400, "question"), ("/compress", {"question": ASK, "k": 0}, 400, "k: "),
    ("/compress", {"question": "x" * 4_001}, 400, "at most 4000"),
    ("/compress", {"question": ASK, "k": 2, "item_ids": ["tiny/nile"]}, 400, "not both"),
    ("/compress", {"question": ASK, "item_ids": ["tiny/x", "tiny/nile", "tiny/y"]}, 404, "tiny/x, tiny/y"),
    ("/compress", {"question": ASK, "item_ids": [f"i{n}" for n in range(201)]}, 400, "at most 200"),
    ("/compress", {"question": ASK, "item_ids": []}, 400, "empty"),
    ("/compress", {"question": ASK, "colour": "red"}, 400, "colour"),
    ("/compress", {"question": ASK, "branching": 1}, 400, "branching"),
    ("/retrieve", {"question": ASK, "k": 1_000}, 400, "k: "),
])
def test_bad_requests_say_what_is_wrong(server: Server, path: str, body: Any, status: int, says: str) -> None:
    answer = post(server, path, body)
    assert answer.status_code == status and says in answer.json()["error"], answer.text


def test_too_large_a_body_is_refused(server: Server) -> None:
    content = b'{"question": "' + b"x" * (17 << 20)
    answer = httpx.post(server.url + "/compress", content=content, timeout=60, trust_env=False)
    assert answer.status_code == 413 and "larger than" in answer.json()["error"]
    # Without a Content-Length the bound is only met while the app reads.
    chunks = iter([b'{"question": "', *[b"x" * (1 << 20)] * 17])
    chunked = httpx.post(server.url + "/compress", content=chunks, timeout=60, trust_env=False,
                         headers={"content-type": "application/json"})
    assert chunked.status_code == 413 and "larger than" in chunked.json()["error"]


def test_too_much_to_encode_is_refused(server: Server) -> None:
    long = {"modality": "text", "text": "Word. " * 25_000}
    answer = post(server, "/compress", {"question": ASK, "items": [long] * 3})
    assert answer.status_code == 413 and "450000 characters" in answer.json()["error"]


def test_readiness_status_metrics_and_page(server: Server) -> None:
    assert server.status("/readyz") == 200 and server.status("/livez") == 200
    told = httpx.get(server.url + "/status", trust_env=False).json()
    assert told["ready"] and told["items"] == len(tiny_model.ITEMS) and told["model"]["version"] == "7"
    post(server, "/compress", {"question": ASK, "item_ids": ["tiny/nile"]})
    metrics = httpx.get(server.url + "/metrics", trust_env=False).text
    samples = [line.rpartition(" ") for line in metrics.splitlines() if not line.startswith("#")]
    values = {name: float(value) for name, _, value in samples}
    assert values['canopy_items_compressed_total{modality="text"}'] >= 1
    assert values["canopy_tokens_before_total"] > values["canopy_tokens_after_total"] > 0
    assert values["canopy_node_cache_hits_total"] >= 1 and "bentoml_service_request_total" in metrics
    page = httpx.get(server.url + "/", trust_env=False)
    assert "canopy explorer" in page.text and "default-src 'none'" in page.headers["content-security-policy"]


def test_mismatched_digest_fails_readiness_and_says_why(serve: Callable[..., Server], bundle: Path,
                                                        tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bundle, tmp_path / "bundle"))
    manifest = Manifest.read(copy)
    dataclasses.replace(manifest, parts=dataclasses.replace(manifest.parts, digest="0" * 64)).write(copy)
    server = serve(copy, until=("/readyz", 503))
    deadline = time.monotonic() + 120
    status = httpx.get(server.url + "/status", timeout=60, trust_env=False)
    while "worker is starting" in status.text and time.monotonic() < deadline:
        time.sleep(0.2)
        status = httpx.get(server.url + "/status", timeout=60, trust_env=False)
    assert status.status_code == 503 and "the bundle pins 000000000000" in status.json()["reason"]
    answer = post(server, "/compress", {"question": ASK, "item_ids": ["tiny/nile"]})
    assert answer.status_code == 503 and "the bundle pins 000000000000" in answer.json()["error"]
    assert server.status("/livez") == 200 and server.status("/readyz") == 503


def test_token_is_asked_for_where_one_is_set(serve: Callable[..., Server], bundle: Path) -> None:
    server = serve(bundle, CANOPY_API_KEY="open sesame")
    body = {"question": ASK, "k": 1}
    assert post(server, "/compress", body).status_code == 401
    assert post(server, "/compress", body, headers={"Authorization": "Bearer open sesam"}).status_code == 401
    assert post(server, "/compress", body, headers={"Authorization": "Bearer open sesame"}).status_code == 200
    pages = ("/", "/readyz", "/metrics", "/status", "/docs.json")
    assert [server.status(p) for p in pages] == [200, 200, 200, 401, 401]


def test_built_bento_serves_by_itself(serve: Callable[..., Server], workspace: Path, bundle: Path) -> None:
    tag = build_bento(workspace, SimpleNamespace(run_id="run"), bundle)  # type: ignore[arg-type]
    assert tag == build_bento(workspace, SimpleNamespace(run_id="run"), bundle)  # type: ignore[arg-type]
    name, _, version = tag.partition(":")
    packed = workspace / ".canopy" / "bentoml" / "bentos" / name / version
    needs = (packed / "env" / "python" / "requirements.txt").read_text().splitlines()
    assert {"torch", "bentoml", "peft"} <= {n.partition("==")[0] for n in needs if "==" in n}
    assert (packed / "src" / "bundle" / "manifest.json").is_file()
    told = yaml.safe_load((packed / "bento.yaml").read_text())
    assert QUIET.items() <= {e["name"]: e["value"] for e in told["envs"]}.items()
    assert not list((workspace / ".canopy" / "build").iterdir())
    server = serve(None, bento=tag)
    told = post(server, "/compress", {"question": ASK, "item_ids": ["tiny/nile"]}).json()
    assert told["model"]["version"] == "7" and "1970" in told["items"][0]["regions"][0]["text"]
    assert httpx.get(server.url + "/", trust_env=False).status_code == 200
