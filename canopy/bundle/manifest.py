"""A bundle's manifest: which model the folder holds, the digests of its parts, and the settings it was made with.

A bundle is a pinned, self-contained folder to serve from: adapter, node store, item index and corpus.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from canopy.atomic import write_json
from canopy.bundle.parts import MANIFEST, ModelParts, part_sha256
from canopy.config import Hierarchy
from canopy.encoder.base import TrainableEncoder
from canopy.encoder.loading import load_encoder
from canopy.encoder.pictures import Folders
from canopy.errors import DataError, EncoderMismatch
from canopy.settings import EncoderSettings, parse_encoder

FORMAT = 2
ADAPTER, STORE, INDEX, CORPUS = "adapter", "node_store", "item_index", "corpus.arrow"
AGAIN = "export it again with `canopy serve`"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle is.

    Attributes
    ----------
    name, version : str
        The model's, in the registry.
    parts : ModelParts
        Digests of its parts; ``parts.corpus`` is that of the workspace's corpus.
    encoder, hierarchy : mapping
        The settings as the pipeline had them.
    corpus_sha256 : str
        Digest of the bundle's own corpus file.
    """

    name: str
    version: str
    parts: ModelParts
    encoder: Mapping[str, object]
    hierarchy: Mapping[str, object]
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
            If it is missing, not JSON, or of another format.
        """
        path = folder / MANIFEST
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw.get("format") != FORMAT:
                raise DataError(f"{path}: format {raw.get('format')}, this program reads {FORMAT}; {AGAIN}")
            return cls(**{**raw, "parts": ModelParts(**raw["parts"])})
        except FileNotFoundError:
            raise DataError(f"{path}: no such file; `canopy serve` exports a bundle, CANOPY_BUNDLE names one") from None
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            raise DataError(f"{path}: not a bundle's manifest: {e}") from None

    def encoder_config(self) -> EncoderSettings:
        """The encoder's settings as the pipeline had them."""
        return parse_encoder(self.encoder, lenient=True)

    def hierarchy_config(self) -> Hierarchy:
        """The hierarchy's settings as the pipeline had them."""
        return Hierarchy.model_validate(dict(self.hierarchy))


def check_parts(folder: Path, manifest: Manifest) -> None:
    """Check that a bundle's store, index and corpus are those that its manifest pins.

    Raises
    ------
    EncoderMismatch
        If the store or the index is another one.
    DataError
        If a part is missing, or the corpus is another one.
    """
    for part, pinned in ((STORE, manifest.parts.store), (INDEX, manifest.parts.index)):
        digest = part_sha256(folder / part / MANIFEST)
        if digest != pinned:
            raise EncoderMismatch(f"{folder / part}: its manifest is {digest[:12]}..., "
                                  f"the bundle pins {pinned[:12]}...; {AGAIN}")
    digest = part_sha256(folder / CORPUS)
    if digest != manifest.corpus_sha256:
        raise DataError(f"{folder / CORPUS}: this file is {digest[:12]}..., "
                        f"the bundle pins {manifest.corpus_sha256[:12]}...; {AGAIN}")


def open_encoder(folder: Path, manifest: Manifest, media: Folders | None = None) -> TrainableEncoder:
    """The bundle's node encoder f_theta.

    Parameters
    ----------
    media : mapping, optional
        Benchmark to the folders that its items' media paths count from.

    Raises
    ------
    EncoderMismatch
        If the bundle's adapter does not give the encoder that its manifest pins.
    """
    encoder = load_encoder(manifest.encoder_config(), adapter=folder / ADAPTER, media=media)
    if encoder.digest != manifest.parts.digest:
        raise EncoderMismatch(f"{folder / ADAPTER}: this adapter's encoder is {encoder.digest[:12]}..., "
                              f"the bundle pins {manifest.parts.digest[:12]}...; {AGAIN}")
    return encoder
