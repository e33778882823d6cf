"""The whole main job in one command: pipeline, promotion, a built Bento that answers one question, and where to look next."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from canopy.config import load_config
from canopy.errors import CanopyError
from orchestration.machine.loopback import open_local
from orchestration.machine.processes import start_group, stop_groups
from orchestration.models.bento import build_bento
from orchestration.models.deployment import bundle_of, resolve_version, service_environment
from orchestration.models.registry import CHAMPION
from orchestration.pipeline.workspace import code_root

START_SECONDS = 180.0


def sample_questions(workspace: Path, count: int = 5) -> list[str]:
    """Questions of the test splits, evenly spaced over all of them; CanopyError where there is none."""
    import pyarrow.parquet as pq

    found: list[str] = []
    for benchmark in load_config(workspace / "params.yaml").benchmarks:
        data = workspace / "data"
        test = set(pq.read_table(data / "gold_spans" / benchmark / "splits.parquet", filters=[("split", "=", "test")])["question_id"].to_pylist())
        asked = pq.read_table(data / "benchmark" / benchmark / "questions.parquet", columns=["id", "question"]).to_pylist()
        found += [q["question"] for q in asked if q["id"] in test]
    if not found:
        raise CanopyError(f"{workspace}: no test question to show")
    return [found[n * len(found) // count] for n in range(min(count, len(found)))]


@contextmanager
def served_bento(workspace: Path, tag: str) -> Iterator[str]:
    """Run a built Bento in a process of its own on a free loopback port; yields its address once it is ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = workspace / ".canopy" / "demo-service.log"
    # No PYTHONPATH: what answers is the code inside the Bento.
    env = {k: v for k, v in service_environment(workspace).items() if k not in ("PYTHONPATH", "CANOPY_BUNDLE", "CANOPY_API_KEY")}
    command = [sys.executable, "-m", "bentoml", "serve", tag, "--host", "127.0.0.1", "--port", str(port)]
    with open(log, "wb") as out:
        process = start_group(command, env=env, stdout=out, cwd=workspace / ".canopy")
    try:
        address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + START_SECONDS
        while not _ready(address):
            if process.poll() is not None or time.monotonic() > deadline:
                raise CanopyError(f"the Bento {tag} did not become ready; its log: {log}")
            time.sleep(0.5)
        yield address
    finally:
        stop_groups([process])


def _ready(address: str) -> bool:
    try:
        with open_local(f"{address}/readyz", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def ask(address: str, question: str, k: int = 3) -> dict[str, Any]:
    """POST one question to /compress.

    Raises
    ------
    CanopyError
        Where the service answers with an error or not at all.
    """
    body = json.dumps({"question": question, "k": k}).encode()
    request = urllib.request.Request(f"{address}/compress", body, {"content-type": "application/json"})
    try:
        with open_local(request, timeout=120) as answer:
            return json.loads(answer.read())
    except (OSError, ValueError) as e:
        raise CanopyError(f"{address}/compress: {e}; its log is .canopy/demo-service.log in the workspace") from None


def deploy_and_ask(workspace: Path, console: Console, alias: str = CHAMPION) -> None:
    """Build the Bento of an alias, serve it, and show what `/compress` answers to a few test questions, the last one in full."""
    version = resolve_version(workspace, alias)
    tag = build_bento(workspace, version, bundle_of(workspace, version))
    console.print(f"built Bento [bold]{tag}[/]", highlight=False)
    with served_bento(workspace, tag) as address:
        console.print(f"POST {address}/compress, test questions, the 3 best items each:", highlight=False, soft_wrap=True)
        answers = [ask(address, question) for question in sample_questions(workspace)]
    for answer in answers:
        console.print(f"  {answer['tokens_before']:>5} tokens retrieved, {answer['tokens_after']:>5} kept  [bold]{escape(answer['question'])}[/]",
                      highlight=False, soft_wrap=True)
        if answer is not answers[-1]:
            continue
        for item in answer["items"]:
            console.print(f"        {escape(item['title'] or item['id'])} ({item['modality']}): {item['tokens_before']} -> {item['tokens_after']} tokens",
                          highlight=False, soft_wrap=True)
            for region in item["regions"][:3]:
                text = " ".join(region["text"].split())
                console.print(f"          {region['score']:.3f}  {escape(text[:110])}{'...' if len(text) > 110 else ''}", style="dim", highlight=False,
                              soft_wrap=True)
    console.print(f"  answered by version {answers[0]['model']['version']} of {answers[0]['model']['name']}", highlight=False)


def closing(workspace: Path) -> list[str]:
    """Where to look next."""
    option = "" if workspace == code_root() else f" --workspace {os.path.relpath(workspace)}"
    ui = "make ui" + ("" if not option else f" WORKSPACE={os.path.relpath(workspace)}")
    return [f"report      {workspace / 'data' / 'report' / 'report.html'}",
            f"assets, runs and models in the browser      {ui}",
            f"what is stale and why      .venv/bin/canopy status{option}",
            f"ask in the shell      .venv/bin/canopy compress \"your question\"{option}",
            f"serve the champion      .venv/bin/canopy serve{option}"]
