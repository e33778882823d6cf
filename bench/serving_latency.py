"""Throughput, latency and refusals of the service by batch size, bound and load: how its parameters were chosen.

    python bench/serving_latency.py [--bundle DIR] [--requests 200]

Starts the service over a bundle (default: the champion's of the workspace) once for each setting, drives it on the
loopback from a bounded number of closed-loop clients, and prints a row for each setting and load. Requests are a mix:
half retrieve and compress 5 items, a quarter compress 10 known items, a quarter send 3 raw items. Each run is bounded
in requests; nothing but this machine is called.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import httpx
import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from canopy.bundle.manifest import ADAPTER, CORPUS, Manifest
from canopy.corpus.reader import Corpus
from orchestration.machine.environment import prepare_environment
from orchestration.models.deployment import bundle_of, resolve_version, serve_command, service_environment
from orchestration.pipeline.workspace import select_workspace

SETTINGS = [(2, 20_000), (8, 20_000), (16, 20_000), (64, 20_000), (16, 100)]
LOADS = (1, 8, 32)


def make_requests(corpus: Corpus, count: int) -> list[dict[str, Any]]:
    """The same mix of requests for every setting, with questions that no cache holds."""
    random = Random(13)
    ids = corpus.ids
    texts = [i for i in ids if corpus[i].modality == "text"]
    requests: list[dict[str, Any]] = []
    for n in range(count):
        question = f"{corpus[random.choice(ids)].title} number {n}: what is said about it?"
        if n % 4 in (0, 2):
            requests.append({"question": question, "k": 5})
        elif n % 4 == 1:
            requests.append({"question": question, "item_ids": random.sample(ids, min(10, len(ids)))})
        else:
            items = [corpus[i] for i in random.sample(texts, min(3, len(texts)))]
            records = [{"modality": "text", "title": i.title, "text": f"{i.text} Note {n}."} for i in items]
            requests.append({"question": question, "items": records})
    return requests


async def drive(url: str, requests: list[dict[str, Any]], clients: int) -> tuple[list[float], list[int], float]:
    """Send all requests from so many closed-loop clients; latencies and total time in seconds, and status codes."""
    queue, seconds, codes = list(reversed(requests)), [], []

    async def one(client: httpx.AsyncClient) -> None:
        while queue:
            body, started = queue.pop(), time.perf_counter()
            answer = await client.post(url + "/compress", json=body)
            seconds.append(time.perf_counter() - started)
            codes.append(answer.status_code)

    async with httpx.AsyncClient(timeout=90, limits=httpx.Limits(max_connections=clients)) as client:
        started = time.perf_counter()
        await asyncio.gather(*(one(client) for _ in range(clients)))
    return seconds, codes, time.perf_counter() - started


def wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait for the service, two minutes at most."""
    deadline = time.monotonic() + 120
    while True:
        try:
            if httpx.get(url + "/readyz", timeout=10).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("the service did not become ready")
        time.sleep(0.2)


def measure(workspace: Path, bundle: Path, requests: list[dict[str, Any]], table: Table) -> None:
    """One server for each setting, one row for each load."""
    for batch, bound in SETTINGS:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        env = {**service_environment(workspace, bundle), "CANOPY_MAX_BATCH": str(batch),
               "CANOPY_MAX_LATENCY_MS": str(bound)}
        process = subprocess.Popen(serve_command("127.0.0.1", port), env=env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        family = []
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_ready(url, process)
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            asyncio.run(drive(url, requests[:20], 2))  # BentoML fits its batching to the first requests
            for clients in LOADS:
                seconds, codes, total = asyncio.run(drive(url, requests, clients))
                refused = sum(c == 503 for c in codes)
                other = sum(c not in (200, 503) for c in codes)
                p50, p99 = np.percentile(seconds, [50, 99]) * 1000
                table.add_row(str(batch), f"{bound} ms", str(clients), f"{len(codes) / total:.1f}", f"{p50:.0f}",
                              f"{p99:.0f}", str(refused), str(other))
        finally:
            process.terminate()
            for survivor in psutil.wait_procs(family, timeout=30)[1]:
                survivor.kill()
            process.wait(30)


def compare_query_batches(bundle: Path) -> str:
    """What batching queries in the encoder would gain on this machine, and what it would change."""
    from canopy.encoder.loading import load_encoder

    encoder = load_encoder(Manifest.read(bundle).encoder_config(), adapter=bundle / ADAPTER)
    questions = [f"What is the boiling point of element number {n} in kelvin?{' Really?' * (n % 5)}" for n in range(16)]
    encoder.encode_queries(questions)

    def timed(run: Any) -> tuple[float, np.ndarray]:
        best, out = float("inf"), None
        for _ in range(5):
            started = time.perf_counter()
            out = run()
            best = min(best, time.perf_counter() - started)
        return best, out

    together, a = timed(lambda: encoder.encode_queries(questions))
    single, b = timed(lambda: np.concatenate([encoder.encode_queries([q]) for q in questions]))
    return (f"16 questions: {1000 * together:.1f} ms in one batch, {1000 * single:.1f} ms one by one "
            f"(ratio {single / together:.2f}); largest difference of a component {np.abs(a - b).max():.1e}")


def main() -> None:
    """Run all settings and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--requests", type=int, default=200)
    arguments = parser.parse_args()
    prepare_environment()
    workspace = select_workspace(None)
    bundle = arguments.bundle or bundle_of(workspace, resolve_version(workspace))
    corpus = Corpus.open_packed(bundle / CORPUS)
    console = Console(width=140)
    console.print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, {len(corpus.ids)} items, "
                  f"{arguments.requests} requests a row")
    console.print(compare_query_batches(bundle))
    table = Table("max batch", "max latency", "clients", "requests/s", "p50 ms", "p99 ms", "503", "other errors")
    measure(workspace, bundle, make_requests(corpus, arguments.requests), table)
    console.print(table)


if __name__ == "__main__":
    main()
