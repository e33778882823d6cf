"""A model checkpoint on disk: where a path or hub id leads, whether it is whole, and the digest of its content."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from canopy.atomic import write_json
from canopy.digests import file_sha256
from canopy.errors import DataError, EncoderMismatch

# What decides the vectors besides the weights: configuration, tokenizer, picture processing, chat template.
_SETTINGS = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "added_tokens.json",
             "special_tokens_map.json", "preprocessor_config.json", "video_preprocessor_config.json",
             "processor_config.json", "chat_template.json", "chat_template.jinja")
_LARGE = 64 * 1024 * 1024  # digests of smaller files are not worth remembering


def find_checkpoint(model: str, revision: str = "", allow_download: bool = False) -> Path:
    """The folder of a checkpoint given as a folder or as a hub id.

    A hub id is looked up in the hub's local cache; the network is asked only with ``allow_download``, even where
    HF_HUB_OFFLINE is set.

    Raises
    ------
    DataError
        If there is no such folder and no copy in the cache.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", model):
        raise DataError(f"encoder.model: {model}: no such folder")
    from huggingface_hub import constants, snapshot_download

    # The program keeps the hub's client offline (HF_HUB_OFFLINE); being asked to fetch this one model goes before that.
    offline = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = offline and not allow_download
    try:
        return Path(snapshot_download(model, revision=revision or None, local_files_only=not allow_download,
                                      allow_patterns=["*.safetensors", "*.json", "*.txt", "*.jinja"]))
    except Exception as e:  # the hub's client raises a dozen kinds, from its own to those of the network
        if allow_download:
            reason = " ".join(str(e).split())[:160]
            raise DataError(f"encoder.model: {model}: no such folder, and the hub cannot give it "
                            f"({type(e).__name__}: {reason})") from None
        pinned = f" of revision {revision}" if revision else ""
        raise DataError(f"encoder.model: {model}: no such folder, and the hub's local cache has no copy{pinned}; "
                        "name the folder you downloaded it to, "
                        "or set encoder.allow_download=true to fetch it") from None
    finally:
        constants.HF_HUB_OFFLINE = offline


def read_settings(folder: Path, kind: str) -> dict[str, Any]:
    """A checkpoint's config.json, checked to be of the given ``model_type`` and to have all its weight files.

    Raises
    ------
    EncoderMismatch
        If it is another kind of model.
    DataError
        If a file is missing or broken.
    """
    path = folder / "config.json"
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        model_type = settings.get("model_type")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file: {folder} is no checkpoint; "
                        "encoder.model names the folder that holds config.json and *.safetensors") from None
    except (OSError, ValueError, AttributeError) as e:
        raise DataError(f"{path}: not a model's configuration ({str(e)[:100]}); download it again") from None
    if model_type != kind:
        raise EncoderMismatch(f"{path}: a model of type {model_type!r}, not {kind!r}; "
                              "encoder.model must name a Qwen3-VL checkpoint")
    weight_files(folder)
    return settings


def weight_files(folder: Path) -> list[Path]:
    """A checkpoint's safetensors files, sorted.

    Raises
    ------
    DataError
        If there are none, one of several is missing, or one is a Git LFS pointer.
    """
    files = sorted(folder.glob("*.safetensors"))
    try:
        index = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))
        listed = sorted(set(index["weight_map"].values()))
    except FileNotFoundError:
        listed = []
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise DataError(f"{folder / 'model.safetensors.index.json'}: not readable ({str(e)[:100]}); "
                        "download it again") from None
    missing = [n for n in listed if not (folder / n).is_file()]
    if missing or not files:
        pickled = not missing and any(folder.glob("*.bin"))
        raise DataError(f"{folder / (missing[0] if missing else 'model.safetensors')}: no such file; "
                        f"the download is not complete{': only safetensors are read, no pickles' if pickled else ''}")
    for path in files:
        with open(path, "rb") as f:
            if f.read(40).startswith(b"version https://git-lfs"):
                raise DataError(f"{path}: a Git LFS pointer, not the weights; fetch them with `git lfs pull`")
    return files


def checkpoint_digest(folder: Path) -> str:
    """SHA-256 over the weights and every setting that decides a vector; the folder's name and place do not count."""
    digest = hashlib.sha256()
    for name in _SETTINGS:
        if (folder / name).is_file():
            digest.update(f"{name}\x1f{file_sha256(folder / name)}\x1e".encode())
    for path in weight_files(folder):
        digest.update(f"{path.name}\x1f{_remembered_sha256(path)}\x1e".encode())
    return digest.hexdigest()


def cache_folder() -> Path:
    """The folder of what can be computed again: ``$XDG_CACHE_HOME/canopy`` or ``~/.cache/canopy``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "canopy"


_DIGESTS: dict[str, str] = {}


def _remembered_sha256(path: Path) -> str:
    """SHA-256 of a file; of a large one it is remembered by full path, size and time of change."""
    state = path.stat()
    key = f"{path.resolve()}\x1f{state.st_size}\x1f{state.st_mtime_ns}"
    if key in _DIGESTS:
        return _DIGESTS[key]
    book, large = cache_folder() / "weights.json", state.st_size >= _LARGE
    noted: dict[str, str] = {}
    if large:
        with suppress(OSError, ValueError):
            noted = dict(json.loads(book.read_text(encoding="utf-8")))
    if key not in noted:
        noted[key] = file_sha256(path)
        if large:
            with suppress(OSError):  # a read-only home costs the next run a minute, nothing else
                write_json(book, noted)
    _DIGESTS[key] = noted[key]
    return noted[key]
