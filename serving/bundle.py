"""A pinned, self-contained folder to serve from: adapter, node store, index, corpus, and the digests they must have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from canopy.atomic import replace_directory, write_json
from canopy.bundle.parts import MANIFEST, ModelParts, part_sha256, read_parts
from canopy.config import Config, Hierarchy
from canopy.corpus.folds import ITEMS, NEAR, read_folds
from canopy.corpus.packing import pack_corpus
from canopy.digests import text_sha256
from canopy.errors import DataError
from canopy.links import link_or_copy_tree
from canopy.settings import EncoderSettings, parse_encoder
from serving.schemas import ModelInfo

FORMAT = 2
ADAPTER, STORE, INDEX, CORPUS = "adapter", "node_store", "item_index", "corpus.arrow"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle is: the registry's name and version of the model, digests of its parts, and the settings it was made with.

    ``parts.corpus`` is the digest of the workspace's corpus; ``corpus_sha256`` that of the bundle's own file.
    """

    name: str
    version: str
    parts: ModelParts
    encoder: Mapping[str, Any]
    hierarchy: Mapping[str, Any]
    corpus_sha256: str = ""
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Write manifest.json; the last file of an export."""
        write_json(folder / MANIFEST, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read manifest.json.

        Raises
        ------
        DataError
            Where it is missing, not JSON, or of another format.
        """
        path = folder / MANIFEST
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw.get("format") != FORMAT:
                raise DataError(f"{path}: format {raw.get('format')}, this program reads {FORMAT}; export it again with `canopy serve`")
            return cls(**{**raw, "parts": ModelParts(**raw["parts"])})
        except FileNotFoundError:
            raise DataError(f"{path}: no such file; `canopy serve` exports a bundle, CANOPY_BUNDLE names one") from None
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            raise DataError(f"{path}: not a bundle's manifest: {e}") from None

    def model(self) -> ModelInfo:
        """What a response says of the model that made it."""
        return ModelInfo(name=self.name, version=self.version, digest=self.parts.digest, store=self.parts.store,
                         index=self.parts.index)

    def encoder_config(self) -> EncoderSettings:
        """The encoder's settings as the pipeline had them."""
        return parse_encoder(self.encoder, lenient=True)

    def hierarchy_config(self) -> Hierarchy:
        """The hierarchy's settings as the pipeline had them."""
        return Hierarchy.model_validate(dict(self.hierarchy))


def check_same_items(root: Path) -> None:
    """Check that a workspace's corpus, node store and index are of the same items (the index without near-duplicates).

    Raises
    ------
    DataError
        Where they are not, as after a run that stopped half way.
    """
    data = root / "data"
    searched = _ids(data / "corpus" / ITEMS, "id")
    near = _ids(data / "corpus" / NEAR, "id") if (data / "corpus" / NEAR).is_file() else set()
    for part, wanted in ((data / "node_embeddings" / "f_theta" / "items.parquet", searched | near), (data / "item_index" / "ids.parquet", searched)):
        differing = len(wanted ^ _ids(part, "item_id"))
        if differing:
            raise DataError(f"{part.parent}: not of the same items as the corpus ({differing} differ); run `canopy run` first")


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
        Bundles lie in it, one folder for each content, ``<version>-<digest>``: a running service's files never change under it.
    pinned : ModelParts
        What the version was registered with; adapter, encoder and index must be these. The node store and the corpus may have
        grown since: the bundle states the digests it has.

    Returns
    -------
    Path
        The bundle; one that was there already stays as it is.

    Raises
    ------
    DataError
        Where the workspace holds another model than the one to export, or parts of different items.
    """
    found = read_parts(root)
    for part in ("adapter", "digest", "query_digest"):
        if getattr(found, part) != getattr(pinned, part):
            raise DataError(f"{root / 'data'}: holds another model ({part} {getattr(found, part)[:12]}...) than version {version} "
                            f"({getattr(pinned, part)[:12]}...); bring back its outputs with `dvc checkout` of the commit that made it")
    check_same_items(root)
    data = root / "data"
    made = json.loads((data / "node_embeddings" / "f_theta" / MANIFEST).read_text(encoding="utf-8"))
    # The store says which hierarchy it holds; params.yaml may have been edited since.
    hierarchy = {k: made.get(k, v) for k, v in config.hierarchy.model_dump(mode="json").items()}
    manifest = Manifest(name, version, found, config.encoder.model_dump(mode="json"), hierarchy)
    target = folder / f"{version}-{text_sha256(json.dumps(asdict(manifest), sort_keys=True))[:8]}"
    if (target / MANIFEST).is_file():
        return target
    with replace_directory(target) as building:
        link_or_copy_tree(data / "node_encoder" / "adapter", building / ADAPTER)
        link_or_copy_tree(data / "node_embeddings" / "f_theta", building / STORE)
        link_or_copy_tree(data / "item_index", building / INDEX)
        near = data / "corpus" / NEAR
        pack_corpus(data / "corpus" / ITEMS, building / CORPUS, near if near.is_file() else None, read_folds(data / "corpus").exact)
        replace(manifest, corpus_sha256=part_sha256(building / CORPUS)).write(building)
    return target
