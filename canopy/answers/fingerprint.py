"""Names what finished answers depend on, so that they are made again if any of it changes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from canopy.benchmarks.declaration import read_declaration
from canopy.config import Config
from canopy.digests import file_sha256
from canopy.embeddings.store import BRANCHING
from canopy.paths import Paths
from canopy.pipelines.availability import find_models, folder_mark

# What is asked for. It adds answers and changes none.
_SELECTION = {"systems", "corpus_scopes", "seeds", "questions", "budgets", "sweep_k", "sweep_rounds", "readers"}


def fingerprint(config: Config, paths: Paths, benchmark: str, code_root: Path, code: Sequence[str]) -> str:
    """A digest over code, data, encoder, baselines' models and parameters.

    Systems, corpus scopes, seeds, samples and sizes do not count. Language models do not count either: each answer's
    own key names them, so that another reader leaves finished answers as they are.

    Parameters
    ----------
    code_root : Path
        The folder that the names of code files count from.
    code : sequence of str
        The files of code that an answer depends on.
    """
    answers = config.answers.model_dump(mode="json", exclude=_SELECTION)
    declaration = read_declaration(paths.output("benchmark", benchmark))
    parameters = [answers, config.hierarchy.model_dump(mode="json"), config.encoder.model_dump(mode="json"),
                  declaration.metric,
                  declaration.supporting_facts, declaration.evidence_cap]
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    for key, folder in sorted(find_models(config.answers.models, paths.root).items()):
        digest.update(f"\x1f{key}\x1f{folder_mark(folder)}".encode())
    files = [(code_root / name, Path(name)) for name in code]
    files += [(f, f.relative_to(paths.root)) for f in _data_files(paths, benchmark)]
    for file, name in files:
        digest.update(f"\x1f{name}\x1f".encode())
        digest.update(bytes.fromhex(file_sha256(file)))
    return digest.hexdigest()[:16]


def _data_files(paths: Paths, benchmark: str) -> list[Path]:
    """The files of earlier stages that an answer depends on.

    Another B's nodes are the same encoder's over the same items: they add answers and change none.
    """
    files = [paths.output("benchmark", benchmark) / n for n in ("items.parquet", "questions.parquet")]
    files.append(paths.output("gold_spans", benchmark) / "gold.parquet")
    files.append(paths.output("split", benchmark) / "splits.parquet")
    outputs = [f for stage in ("corpus", "item_index") for f in paths.output(stage).glob("*")]
    files += sorted(f for f in outputs if f.suffix in (".parquet", ".json"))
    manifests = paths.output("node_embeddings").glob("*/manifest.json")
    return files + sorted(f for f in manifests if not f.parent.name.startswith(BRANCHING))


def remove_other_journals(current: Path, benchmark: str) -> None:
    """Remove a benchmark's journals of other fingerprints: no later run can use their answers."""
    for other in current.parent.glob("*.jsonl"):
        if other != current and re.fullmatch(re.escape(benchmark) + r"-[0-9a-f]{16}", other.stem):
            other.unlink()
