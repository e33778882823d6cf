"""Builds a Bento, serves it on a free local port and asks it test questions: the last part of `canopy demo`."""

from __future__ import annotations

import json
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
from orchestration.cli.shared import say
from orchestration.machine.loopback import open_local
from orchestration.machine.processes import start_group, stop_groups
from orchestration.models.bento import build_bento
from orchestration.models.deployment import bundle_of, resolve_version, service_environment
from orchestration.models.registry import CHAMPION
from orchestration.pipeline.hints import command

START_SECONDS = 180.0
_REGIONS, _CHARS = 3, 110  # regions of an item that are printed, and characters of each


def sample_questions(workspace: Path, count: int = 5) -> list[str]:
    """Questions of the test splits, evenly spaced over all of them.

    Raises
    ------
    CanopyError
        If there is no test question.
    """
    import pyarrow.parquet as pq

    texts: list[str] = []
    for benchmark in load_config(workspace / "params.yaml").benchmarks:
        splits = workspace / "data" / "split" / benchmark / "splits.parquet"
        test = set(pq.read_table(splits, filters=[("split", "=", "test")])["question_id"].to_pylist())
        questions = workspace / "data" / "benchmark" / benchmark / "questions.parquet"
        rows = pq.read_table(questions, columns=["id", "question"]).to_pylist()
        texts += [r["question"] for r in rows if r["id"] in test]
    if not texts:
        raise CanopyError(f"{workspace}: no test question to show")
    return [texts[n * len(texts) // count] for n in range(min(count, len(texts)))]


@contextmanager
def served_bento(workspace: Path, tag: str) -> Iterator[str]:
    """Run a built Bento in a process of its own on a free loopback port.

    Yields
    ------
    str
        Its address, once it is ready.

    Raises
    ------
    CanopyError
        If it does not become ready in three minutes.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = workspace / ".canopy" / "demo-service.log"
    # No PYTHONPATH: the code inside the Bento answers.
    hidden = ("PYTHONPATH", "CANOPY_BUNDLE", "CANOPY_API_KEY")
    env = {k: v for k, v in service_environment(workspace).items() if k not in hidden}
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
    """POST one question to /compress; the parsed answer.

    Raises
    ------
    CanopyError
        If the service answers with an error or not at all.
    """
    body = json.dumps({"question": question, "k": k}).encode()
    request = urllib.request.Request(f"{address}/compress", body, {"content-type": "application/json"})
    try:
        with open_local(request, timeout=120) as answer:
            return json.loads(answer.read())
    except (OSError, ValueError) as e:
        raise CanopyError(f"{address}/compress: {e}; its log is .canopy/demo-service.log in the workspace") from None


def deploy_and_ask(workspace: Path, console: Console, alias: str = CHAMPION) -> None:
    """Build the Bento of an alias, serve it, and print what `/compress` answers to a few test questions."""
    version = resolve_version(workspace, alias)
    tag = build_bento(workspace, version, bundle_of(workspace, version))
    console.print(f"built Bento [bold]{tag}[/]", highlight=False)
    with served_bento(workspace, tag) as address:
        say(console, f"POST {address}/compress, test questions, the 3 best items each:")
        answers = [ask(address, question) for question in sample_questions(workspace)]
    for answer in answers:
        console.print(f"  {answer['tokens_before']:>5} tokens retrieved, {answer['tokens_after']:>5} kept  "
                      f"[bold]{escape(answer['question'])}[/]", highlight=False, soft_wrap=True)
    _show_items(console, answers[-1])
    model = answers[0]["model"]
    say(console, f"  answered by version {model['version']} of {model['name']}")


def _show_items(console: Console, answer: dict[str, Any]) -> None:
    """One answer in full: each item, and the text of its first regions with their scores."""
    for item in answer["items"]:
        say(console, f"        {item['title'] or item['id']} ({item['modality']}): {item['tokens_before']} -> "
                     f"{item['tokens_after']} tokens")
        for region in item["regions"][:_REGIONS]:
            text = " ".join(region["text"].split())
            dots = "..." if len(text) > _CHARS else ""
            say(console, f"          {region['score']:.3f}  {text[:_CHARS]}{dots}", "dim")


def closing(workspace: Path, alias: str = CHAMPION) -> list[str]:
    """Lines on where to look next: a label and a path or a command that runs as it stands."""
    other = () if alias == CHAMPION else ("--alias", alias)
    return [f"report      {workspace / 'data' / 'report' / 'report.html'}",
            f"assets, runs and models in the browser      {command('ui', workspace=workspace)}",
            f"what is stale and why      {command('status', workspace=workspace)}",
            f"ask in the shell      {command('compress', 'your question', *other, workspace=workspace)}",
            f"serve the {alias}      {command('serve', *other, workspace=workspace)}"]
