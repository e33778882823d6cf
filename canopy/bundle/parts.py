"""Which exact parts a servable model consists of: digests of a workspace's adapter, node store, index and corpus."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from canopy.digests import file_sha256, text_sha256
from canopy.errors import DataError

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class ModelParts:
    """Digests that belong together.

    ``digest`` names the node encoder f_theta that made the store, ``query_digest`` the encoder f0 that made the
    index. The others are SHA-256 of the adapter, of the store's and the index's manifests, and of the corpus's files.
    """

    digest: str
    query_digest: str
    adapter: str
    store: str
    index: str
    corpus: str


def part_sha256(path: Path) -> str:
    """SHA-256 of a file that a run writes.

    Raises
    ------
    DataError
        If there is no such file.
    """
    try:
        return file_sha256(path)
    except OSError:
        raise DataError(f"{path}: no such file; run `canopy run` first") from None


def corpus_sha256(folder: Path) -> str:
    """SHA-256 of a corpus: of its items' file or, if items are folded, of the digests of all its files together."""
    from canopy.corpus.folds import FOLDED, ITEMS, NEAR

    names = [name for name in (ITEMS, NEAR, FOLDED) if name == ITEMS or (folder / name).is_file()]
    digests = [part_sha256(folder / name) for name in names]
    return digests[0] if len(digests) == 1 else text_sha256("".join(digests))


def encoder_digest(folder: Path) -> str:
    """The encoder digest that a store's or an index's manifest states."""
    path = folder / MANIFEST
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["digest"])
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run `canopy run` first") from None
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: states no encoder digest; `canopy run` builds it again") from None


def read_parts(root: Path) -> ModelParts:
    """The parts that a workspace holds now."""
    from canopy.encoder.adapter import adapter_digest

    data = root / "data"
    adapter, store, index = data / "node_encoder" / "adapter", data / "node_embeddings" / "f_theta", data / "item_index"
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        if not (adapter / name).is_file():
            raise DataError(f"{adapter / name}: no such file; run `canopy run` first")
    return ModelParts(digest=encoder_digest(store), query_digest=encoder_digest(index), adapter=adapter_digest(adapter),
                      store=part_sha256(store / MANIFEST), index=part_sha256(index / MANIFEST),
                      corpus=corpus_sha256(data / "corpus"))
