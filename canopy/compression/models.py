"""A compressor's model: the embedded encoder, or what a folder holds: a bundle, a registered model, an adapter."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from canopy.bundle.manifest import Manifest, open_encoder
from canopy.bundle.parts import MANIFEST
from canopy.config import Hierarchy
from canopy.encoder.base import NodeEncoder
from canopy.encoder.loading import load_encoder
from canopy.encoder.minilm import NAME
from canopy.encoder.pictures import Folders
from canopy.errors import DataError
from canopy.settings import parse_encoder

# Of a registered MLflow model, by the names that `orchestration.models.registry` saves its artifacts under.
REGISTERED, ARTIFACTS, SETTINGS, ADAPTER = "MLmodel", "artifacts", "settings.json", "adapter"
ADAPTER_CONFIG, TRAINING = "adapter_config.json", "training.json"


@dataclass(frozen=True, slots=True)
class Model:
    """An encoder, and the hierarchy that it is used with; ``name`` says which model it is."""

    encoder: NodeEncoder
    hierarchy: Hierarchy
    name: str


def open_model(path: Path | str | None, media: Folders | None = None) -> Model:
    """Open a model.

    Parameters
    ----------
    path : Path, str or None
        None: the frozen embedded encoder. Otherwise the folder of a served bundle, of a registered MLflow model, of the
        pipeline's stage ``node_encoder``, or of an adapter.
    media : mapping, optional
        Benchmark to the folders that its items' media paths count from.

    Raises
    ------
    DataError
        If the folder holds none of these, or a part of it is missing or broken.
    EncoderMismatch
        If the adapter does not fit the encoder.
    """
    if path is None:
        encoder: NodeEncoder = load_encoder(parse_encoder({}), media=media)
        return Model(encoder, Hierarchy(), encoder.name)
    if not isinstance(path, (str, Path)):
        raise DataError(f"path: the folder of a model is expected, not {type(path).__name__}")
    folder = Path(path).expanduser()
    if (folder / MANIFEST).is_file():
        manifest = Manifest.read(folder)
        encoder = open_encoder(folder, manifest, media)
        return Model(encoder, manifest.hierarchy_config(), f"{manifest.name} version {manifest.version}")
    if (folder / REGISTERED).is_file():
        return open_registered(folder / ARTIFACTS / SETTINGS, folder / ARTIFACTS / ADAPTER, media)
    if (folder / ADAPTER / ADAPTER_CONFIG).is_file():
        return _open_adapter(folder / ADAPTER, media)
    if (folder / ADAPTER_CONFIG).is_file():
        return _open_adapter(folder, media)
    there = f"no {MANIFEST}, {REGISTERED} or {ADAPTER_CONFIG} in it" if folder.is_dir() else "no such folder"
    raise DataError(f"{folder}: not a model ({there}); name the folder of a bundle (.canopy/serving/...), "
                    "of a registered model, or of an adapter")


def open_registered(settings: Path, adapter: Path, media: Folders | None = None) -> Model:
    """A registered model: its settings (encoder and hierarchy) as JSON, and its adapter's folder."""
    try:
        raw = json.loads(settings.read_text(encoding="utf-8"))
        encoder, hierarchy = parse_encoder(raw["encoder"], lenient=True), Hierarchy.model_validate(raw["hierarchy"])
    except OSError as e:
        raise DataError(f"{settings}: cannot be read: {e.strerror}") from None
    except (ValueError, KeyError, TypeError) as e:
        raise DataError(f"{settings}: not a registered model's settings: {_first_line(e)}") from None
    return Model(load_encoder(encoder, adapter=adapter, media=media), hierarchy, f"adapter {adapter}")


def _open_adapter(adapter: Path, media: Folders | None) -> Model:
    """An adapter on the embedded encoder, in the mode that training.json beside it says."""
    base = _read_object(adapter / ADAPTER_CONFIG).get("base_model_name_or_path")
    if base != NAME:
        raise DataError(f"{adapter}: an adapter for {base}, not for the embedded {NAME}; name the folder of a bundle "
                        "or of a registered model, which says how its encoder is opened")
    training = adapter.parent / TRAINING
    mode = _read_object(training).get("mode") if training.is_file() else None
    try:
        settings = parse_encoder({"mode": mode} if mode else {})
    except ValidationError as e:
        raise DataError(f"{training}: mode: {_first_line(e)}") from None
    return Model(load_encoder(settings, adapter=adapter, media=media), Hierarchy(), f"adapter {adapter}")


def _read_object(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise DataError(f"{path}: cannot be read: {e}") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}: a JSON object is expected")
    return value


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
