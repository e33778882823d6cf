"""Models that baselines load themselves.

From a folder, once a process, whatever number of systems and threads use them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from canopy.errors import DataError

T = TypeVar("T")
_lock = threading.Lock()
_loaded: dict[tuple[Path, Callable[..., Any]], Any] = {}


def hold_model(key: str, models: Mapping[str, Any], load: Callable[[Path], T]) -> T:
    """A model, loaded when it is first asked for.

    Parameters
    ----------
    key : str
        Of ``answers.models`` in params.yaml.
    models : mapping
        Keys to folders that are there (`canopy.pipelines.tools.Tools.models`).
    load : callable
        Makes the model of its folder; the same folder and callable give the same model.

    Raises
    ------
    DataError
        If there is no such folder, or what is in it cannot be loaded.
    """
    folder = models.get(key)
    if folder is None:
        raise DataError(f"params.yaml: answers.models.{key} names no model that is here; `canopy evaluate --list` says "
                        "what to download")
    folder = Path(folder)
    with _lock:
        if (folder, load) not in _loaded:
            try:
                _loaded[folder, load] = load(folder)
            # what a damaged folder raises is of many libraries' kinds (safetensors, pickle, huggingface_hub), some of
            # them bare Exceptions
            except Exception as e:
                raise DataError(f"answers.models.{key}: {folder}: cannot be loaded ({type(e).__name__}: "
                                f"{' '.join(str(e).split())[:200]}); it must be the "
                                "folder of a checkpoint: config.json, the weights, and the tokenizer's files") from None
        return _loaded[folder, load]


def load_pretrained(kind: str, folder: Path) -> tuple[Any, Any]:
    """Tokenizer and model of a checkpoint, as transformers' ``kind`` (``AutoModel``), ready to use: no training, on the
    GPU if there is one (in the checkpoint's own precision; else in float32).

    Nothing is fetched, and no code that a folder brings along is run. ValueError if weights are missing, or all of
    the tokenizer's files: transformers then makes an empty tokenizer, to which every word is unknown.
    """
    from canopy.encoder.vision_imports import prepare_torchvision

    prepare_torchvision()
    import torch
    import transformers
    from transformers.utils import logging

    bar, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        model, report = getattr(transformers, kind).from_pretrained(folder, local_files_only=True,
                                                                   trust_remote_code=False,
                                                                   dtype="auto" if device == "cuda" else torch.float32,
                                                                   output_loading_info=True)
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()
    if not any((folder / name).is_file() for name in {"tokenizer.json", *tokenizer.vocab_files_names.values()}):
        raise ValueError("none of the tokenizer's files is in it")
    # What a checkpoint lacks is filled with random numbers: only a pooler may be, which nothing here uses.
    if lacking := sorted(k for k in report["missing_keys"] if "pooler" not in k):
        raise ValueError(f"{len(lacking)} of the weights that {type(model).__name__} needs are not in it, such as "
                         f"{lacking[0]}")
    return tokenizer, model.eval().to(device)
