"""HotpotQA (CC BY-SA 4.0, hotpotqa.github.io): paragraphs as text items, supporting facts as gold sentences.

The full-wiki development file is read where the distractor file is absent, since its questions are the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canopy.benchmarks.base import Sink, text_of
from canopy.benchmarks.records import distinct_files
from canopy.benchmarks.release import Release, ReleaseFile, require_files
from canopy.benchmarks.wiki_paragraphs import Reader

_AT = "http://curtis.ml.cmu.edu/datasets/hotpot"
RELEASE = Release(
    title="HotpotQA",
    licence="CC BY-SA 4.0",
    home="https://hotpotqa.github.io",
    files=(
        ReleaseFile("train", ("hotpot_train*.json", "hotpot_train*.jsonl", "hotpotqa_train*.json*", "train.json", "train.jsonl"),
                    "90,447 training questions with 10 paragraphs each", f"{_AT}/hotpot_train_v1.1.json"),
        ReleaseFile("dev", ("hotpot_dev_distractor*.json", "hotpot_dev_distractor*.jsonl", "hotpotqa_validat*.json*", "validation.json",
                            "validation.jsonl", "dev.json", "dev.jsonl"),
                    "7,405 development questions, distractor setting", f"{_AT}/hotpot_dev_distractor_v1.json"),
        ReleaseFile("dev_fullwiki", ("hotpot_dev_fullwiki*.json", "hotpot_dev_fullwiki*.jsonl"),
                    "the same questions with retrieved paragraphs; read where the distractor file is absent", f"{_AT}/hotpot_dev_fullwiki_v1.json"),
        ReleaseFile("test", ("hotpot_test*.json", "hotpot_test*.jsonl", "test.json", "test.jsonl"),
                    "7,405 test questions, answers withheld", f"{_AT}/hotpot_test_fullwiki_v1.json"),
    ),
    needs=(("train", "dev", "dev_fullwiki", "test"),),
    aliases=("hotpot_qa",),
    layout="hotpotqa/\n  hotpot_train_v1.1.json\n  hotpot_dev_distractor_v1.json",
)


def read(raw: Path, sink: Sink) -> None:
    """Read every release file under ``raw``. DataError where there is none, or a file is broken."""
    found = require_files(raw, RELEASE)
    dev = found["dev"] or found["dev_fullwiki"]
    files = [(p, split) for paths, split in ((found["train"], "train"), (dev, "dev"), (found["test"], "test")) for p in distinct_files(paths, sink)]
    Reader(sink, answers_of, stripped=False).read_files(files)


def answers_of(record: dict[str, Any]) -> tuple[str, ...]:
    """The answer, () where it is withheld."""
    answer = record.get("answer")
    return (text_of(answer, "answer"),) if answer not in (None, "") else ()
