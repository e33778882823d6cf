"""HotpotQA (CC BY-SA 4.0, hotpotqa.github.io): paragraphs as text items, supporting facts as gold sentences.

The full-wiki development file is read if the distractor file is absent, since its questions are the same.
"""

from __future__ import annotations

from pathlib import Path

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.records import Record, distinct_files, strings_of
from canopy.benchmarks.reading.release import require_files
from canopy.benchmarks.reading.wiki_paragraphs import Reader
from canopy.gold.expected import Expected
from canopy.ingest.fields import text_of
from canopy.ingest.sink import Sink


def _names(*stems: str) -> tuple[str, ...]:
    """The published name and those of mirrors, in every container that is read."""
    return tuple(f"{stem}.{ending}" for stem in stems for ending in ("json", "jsonl", "jsonl.gz", "parquet"))


# The publisher states no checksums; these are the ones by which ParlAI holds its downloads of the same addresses.
_AT = "http://curtis.ml.cmu.edu/datasets/hotpot"
BENCHMARK = Benchmark(
    title="HotpotQA",
    licence="CC BY-SA 4.0",
    home="https://hotpotqa.github.io",
    files=(
        ReleaseFile("train", _names("hotpot_train*", "hotpot*train*", "train-*", "train"),
                    "90,447 training questions with 10 paragraphs each",
                    f"{_AT}/hotpot_train_v1.1.json",
                    "26650cf50234ef5fb2e664ed70bbecdfd87815e6bffc257e068efea5cf7cd316"),
        ReleaseFile("dev", _names("hotpot_dev_distractor*", "hotpot*validat*", "validation-*", "validation", "dev"),
                    "7,405 development questions, distractor setting", f"{_AT}/hotpot_dev_distractor_v1.json",
                    "4e9ecb5c8d3b719f624d66b60f8d56bf227f03914f5f0753d6fa1b359d7104ea"),
        ReleaseFile("dev_fullwiki", _names("hotpot_dev_fullwiki*"),
                    "the same questions with retrieved paragraphs; read if the distractor file is absent",
                    f"{_AT}/hotpot_dev_fullwiki_v1.json",
                    "2f1f3e594a3066a3084cc57950ca2713c24712adaad03af6ccce18d1846d5618"),
        ReleaseFile("test", _names("hotpot_test*", "hotpot*test*", "test-*", "test"),
                    "7,405 test questions, answers withheld",
                    f"{_AT}/hotpot_test_fullwiki_v1.json"),
    ),
    needs=(("train", "dev", "dev_fullwiki", "test"),),
    aliases=("hotpot_qa",),
    layout="hotpotqa/\n  hotpot_train_v1.1.json\n  hotpot_dev_distractor_v1.json",
    metric="hotpotqa",
    supporting_facts=True,
    paper_name="HotpotQA",
    expected=(
        Expected("train questions", 90_447, "the release", split="train"),
        Expected("dev questions", 7_405, "the release", split="dev"),
    ),
    fold="redirects",
)


def read(raw: Path, sink: Sink) -> None:
    """Read every release file under ``raw``. DataError if there is none, or a file is broken."""
    by_role = require_files(raw, BENCHMARK)
    dev = by_role["dev"] or by_role["dev_fullwiki"]
    files = [(p, split) for paths, split in ((by_role["train"], "train"), (dev, "dev"), (by_role["test"], "test"))
             for p in distinct_files(paths, sink)]
    Reader(sink, answers_of, stripped=False).read_files(files)


def answers_of(record: Record) -> tuple[str, ...]:
    """The answer, () if it is withheld; of a mirror's record all of its golden answers."""
    answer = record.get("answer")
    if answer in (None, ""):
        return ()
    return tuple(dict.fromkeys((text_of(answer, "answer"), *strings_of(record.get("answer_aliases"), "answers"))))
