"""A hundred damaged releases, each through the stages that read raw data.

Run in a process of its own with bounded memory, prints one JSON line a case.
"""

from __future__ import annotations

import gzip
import json
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from canopy.config import BenchmarkEntry, Config
from canopy.errors import CanopyError
from canopy.paths import Paths
from canopy.stages import benchmark, gold_spans, split, training_instances
from canopy.stages.base import NullTracker
from canopy.validation.checker import RuleValidator

MEMORY = 4 << 30
Damage = Callable[[bytes, random.Random], bytes]


def truncated(data: bytes, rng: random.Random) -> bytes:
    return data[:rng.randrange(len(data))]


def with_nuls(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + b"\x00" * rng.choice((1, 4096)) + data[at:]


def nested(data: bytes, rng: random.Random) -> bytes:
    deep = rng.choice((b"[", b'{"a":')) * 200_000
    return deep if rng.random() < 0.5 else data[:-2] + b"," + deep


def long_string(data: bytes, rng: random.Random) -> bytes:
    """A string value of the file replaced by one of ten megabytes."""
    at = data.find(b': "', rng.randrange(len(data) // 2))
    return data if at < 0 else data[:at + 3] + rng.choice((b"x", b"word ",
                                                           "é".encode())) * (10 << 20 >> 1) + data[at + 3:]


def huge_numbers(data: bytes, rng: random.Random) -> bytes:
    big = rng.choice((b"1e999", b"-9" * 1 + b"9" * 400, b"99999999999999999999", b"NaN"))
    out, hit = bytearray(), 0
    for word in data.split(b", "):
        hit += (swap := word.isdigit() and rng.random() < 0.3)
        out += (big if swap else word) + b", "
    return bytes(out[:-2]) if hit else data.replace(b": 1", b": " + big, 3)


def swapped(data: bytes, rng: random.Random) -> bytes:
    """Two field names of the file take each other's place."""
    import re

    names = sorted(set(re.findall(rb'"([a-z_\-]+)":', data)))
    if len(names) < 2:
        return data
    a, b = (b'"%s":' % n for n in rng.sample(names, 2))
    return data.replace(a, b"\x01").replace(b, a).replace(b"\x01", b)


def other_types(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b"[", b"{", 1) if rng.random() < 0.3 else data.replace(*rng.choice((
        (b'": "', b'": ["'), (b'": [', b'": {"x": ['), (b"true", b'"true"'), (b'"answer"', b'"answer": 3, "a"'))),
                                                                               rng.choice((1, 5)))


def not_utf8(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + rng.choice((b"\xff\xfe", b"\xed\xa0\x80", b"\xc3")) + data[at:]


def garbage(data: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"", b"null", b"[]", b"{}", b"42", rng.randbytes(5000), b"<html>not found</html>",
                       b"version https://git-lfs.github.com/spec/v1\n"))


DAMAGES: tuple[Damage, ...] = (truncated, with_nuls, nested, long_string, huge_numbers, swapped, other_types, not_utf8,
                               garbage)


BOMBS = (("natural_questions", "nq-open-oracle.jsonl.gz"), ("multimodalqa", "MMQA_dev.jsonl.gz"))


def bomb(path: Path) -> None:
    """Ten gigabytes of one byte in a small .gz."""
    path.parent.mkdir(parents=True)
    block = gzip.compress(b"[" * (64 << 20), 9)
    with open(path, "wb") as f:
        for _ in range(160):
            f.write(block)


def damage(folder: Path, kind: Damage, rng: random.Random) -> None:
    """Spoil one of a release's files (a .gz inside its packing, now and then the packing itself)."""
    path = rng.choice([p for p in sorted(folder.rglob("*")) if p.is_file() and p.stat().st_size
                       and p.suffix in (".json", ".jsonl", ".gz", ".vtt", ".srt")])
    data = path.read_bytes()
    if path.suffix == ".gz" and rng.random() < 0.7:
        path.write_bytes(gzip.compress(kind(gzip.decompress(data), rng)))
    else:
        path.write_bytes(kind(data, rng))


def ingest(adapter: str, raw: Path, root: Path) -> dict[str, object]:
    """Run the raw stages; counts, or the error a user would read."""
    config = Config(benchmarks={"b": BenchmarkEntry(adapter=adapter, path=str(raw))},
                    ingest={"ocr": False, "max_quarantined_share": 1.0})
    try:
        result = benchmark.run(config, Paths(root), NullTracker(), RuleValidator(), "b")
        gold_spans.run(config, Paths(root), NullTracker(), RuleValidator(), "b")
        split.run(config, Paths(root), NullTracker(), RuleValidator(), "b")
        training_instances.run(config, Paths(root), NullTracker(), RuleValidator(), "b")
    except CanopyError as e:
        return {"error": str(e)}
    return {"counts": {k: result.metrics[k] for k in ("read", "mapped", "fallback", "waiting", "quarantined")}}


def main(releases: dict[str, str], cases: int) -> None:
    """Print an outcome a case; an exception or a kill is the test's to notice."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    adapters = sorted(releases)
    for number in range(cases):
        rng = random.Random(number)
        adapter, kind = adapters[number % len(adapters)], DAMAGES[(number // len(adapters)) % len(DAMAGES)]
        with tempfile.TemporaryDirectory() as scratch:
            raw = Path(scratch) / "raw"
            shutil.copytree(releases[adapter], raw)
            name = kind.__name__
            if number >= cases - len(BOMBS):
                adapter, place = BOMBS[cases - 1 - number]
                raw = Path(scratch) / "packed"
                bomb(raw / place)
                name = "bomb"
            else:
                damage(raw, kind, rng)
            started = time.monotonic()
            print(json.dumps({"case": number, "adapter": adapter, "damage": name,
                              **ingest(adapter, raw, Path(scratch) / "w"),
                              "seconds": round(time.monotonic() - started, 1)}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]))
