"""Exports a bundle: the parts of a registered model, pinned, out of the workspace that made them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow.parquet as pq

from canopy.atomic import replace_directory
from canopy.bundle.manifest import ADAPTER, CORPUS, INDEX, STORE, Manifest
from canopy.bundle.parts import MANIFEST, ModelParts, part_sha256, read_parts
from canopy.config import Config
from canopy.corpus.folds import ITEMS, NEAR, read_folds
from canopy.corpus.packing import pack_corpus
from canopy.digests import text_sha256
from canopy.errors import DataError
from canopy.links import link_or_copy_tree


def check_same_items(root: Path) -> None:
    """Check that a workspace's corpus, node store and index are of the same items (the index without near-duplicates).

    Raises
    ------
    DataError
        If they are not, as after a run that stopped half way.
    """
    data = root / "data"
    searched = _ids(data / "corpus" / ITEMS, "id")
    near = _ids(data / "corpus" / NEAR, "id") if (data / "corpus" / NEAR).is_file() else set()
    store, index = data / "node_embeddings" / "f_theta" / "items.parquet", data / "item_index" / "ids.parquet"
    for part, expected in ((store, searched | near), (index, searched)):
        differing = len(expected ^ _ids(part, "item_id"))
        if differing:
            raise DataError(f"{part.parent}: not of the same items as the corpus ({differing} differ); "
                            "run `canopy run` first")


def _ids(path: Path, column: str) -> set[str]:
    try:
        return set(pq.read_table(path, columns=[column])[column].to_pylist())
    except (OSError, ValueError, KeyError) as e:  # Arrow's own errors are ValueErrors
        raise DataError(f"{path}: not readable ({str(e)[:120]}); run `canopy run` first") from None


def export_bundle(root: Path, config: Config, folder: Path, *, name: str, version: str, pinned: ModelParts) -> Path:
    """Pin a registered version's parts, from the workspace that still holds them.

    Parameters
    ----------
    root : Path
        The workspace.
    folder : Path
        Bundles lie in it, one folder for each content, ``<version>-<digest>``: a running service's files never change
        under it.
    pinned : ModelParts
        What the version was registered with; adapter, encoder and index must be these. The node store and the corpus
        may have grown since: the bundle states the digests it has.

    Returns
    -------
    Path
        The bundle; one that was there already stays as it is.

    Raises
    ------
    DataError
        If the workspace holds another model than the one to export, or parts of different items.
    """
    parts = read_parts(root)
    for part in ("adapter", "digest", "query_digest"):
        here, there = getattr(parts, part), getattr(pinned, part)
        if here != there:
            raise DataError(f"{root / 'data'}: holds another model ({part} {here[:12]}...) than version {version} "
                            f"({there[:12]}...); bring back its outputs with `dvc checkout` of the commit that made it")
    check_same_items(root)
    data = root / "data"
    store = json.loads((data / "node_embeddings" / "f_theta" / MANIFEST).read_text(encoding="utf-8"))
    # The store says which hierarchy it holds; params.yaml may have been edited since.
    hierarchy = {k: store.get(k, v) for k, v in config.hierarchy.model_dump(mode="json").items()}
    manifest = Manifest(name, version, parts, config.encoder.model_dump(mode="json"), hierarchy)
    target = folder / f"{version}-{text_sha256(json.dumps(asdict(manifest), sort_keys=True))[:8]}"
    if (target / MANIFEST).is_file():
        return target
    with replace_directory(target) as building:
        link_or_copy_tree(data / "node_encoder" / "adapter", building / ADAPTER)
        link_or_copy_tree(data / "node_embeddings" / "f_theta", building / STORE)
        link_or_copy_tree(data / "item_index", building / INDEX)
        near = data / "corpus" / NEAR
        pack_corpus(data / "corpus" / ITEMS, building / CORPUS, near if near.is_file() else None,
                    read_folds(data / "corpus").exact)
        replace(manifest, corpus_sha256=part_sha256(building / CORPUS)).write(building)
    return target
