"""Which systems can run here, and for those that cannot what is missing and how to get it.

Nothing is ever run in another's place.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from canopy import pipelines
from canopy.digests import file_sha256
from canopy.discovery import modules_of
from canopy.pipelines.base import SystemSpec

SERVER = ("a language model server: set language.base_url and language.model in params.yaml, or CANOPY_LLM_BASE_URL "
          "and CANOPY_LLM_MODEL "
          "(any OpenAI-compatible one; docs/language-model.md says how to start `vllm serve`)")
_SCORES = {"f_theta_per_modality": "; set training.per_modality=true, and `canopy run` makes it"}
SMALL = 32 * 2 ** 20  # bytes of a model's file that is read to tell it from another
# if the package's name is not the module's
_PIP = {"faiss": "faiss-cpu", "cv2": "opencv-python-headless", "PIL": "pillow"}


@dataclass(frozen=True, slots=True)
class Situation:
    """What there is to run systems with.

    Parameters
    ----------
    llm : bool
        Whether a language model server is configured.
    models : mapping
        Keys of ``answers.models`` whose folder was found, with the folder.
    named : mapping
        All of ``answers.models``, as configured.
    scorers : frozenset of str
        Node scores that the workspace has, or makes before it answers.
    gold : bool
        Whether any of the questions has annotated evidence.
    """

    llm: bool = False
    models: Mapping[str, Path] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    scorers: frozenset[str] = frozenset()
    gold: bool = True


def find_models(named: Mapping[str, str], root: Path) -> dict[str, Path]:
    """The folders of the configured models that are on this machine; nothing is downloaded.

    Parameters
    ----------
    named : mapping
        Key to a folder (relative ones count from ``root``, the workspace) or to a hub id, which is looked up in the
        hub's local cache.
    """
    folders = {}
    for key, value in named.items():
        try:
            folder = root / Path(value.strip()).expanduser()
        except RuntimeError:  # "~name" of a user that does not exist
            continue
        if value.strip() and folder.is_dir():
            folders[key] = folder.resolve()
        elif value.strip() and (cached := _cached(value.strip())):
            folders[key] = cached
    return folders


def folder_mark(folder: Path) -> str:
    """SHA-256 over the files of a model's folder: their names, sizes, and contents, of large ones (weights) the time of
    their last change.

    Hidden files and folders (``.git``) are passed over. A lone file is a folder of one.
    """
    files = sorted(f for f in folder.rglob("*") if f.is_file()
                   and not any(p.startswith(".") for p in f.relative_to(folder).parts)) if folder.is_dir() else [folder]
    seen = hashlib.sha256()
    for file in files:
        try:
            status = file.stat()
            content = file_sha256(file) if status.st_size <= SMALL else str(status.st_mtime_ns)
        except OSError:
            continue  # whoever needs it says what is wrong with it
        seen.update(
            f"{file.name if file == folder else file.relative_to(folder)}\x1f{status.st_size}\x1f{content}\x1e".encode(
                "utf-8", "surrogatepass"
            )
        )
    return seen.hexdigest()


def _cached(hub_id: str) -> Path | None:
    """The folder of a hub id's snapshot in the local cache."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        path = try_to_load_from_cache(hub_id, "config.json")
    except HFValidationError:
        return None
    return Path(path).parent if isinstance(path, str) else None


def model_hints() -> dict[str, str]:
    """What each key of ``answers.models`` stands for and where to get it.

    The ``MODELS`` of the modules of this package.
    """
    hints: dict[str, str] = {}
    for module in modules_of(pipelines):
        hints |= getattr(module, "MODELS", {})
    return hints


def find_obstacles(spec: SystemSpec, here: Situation) -> list[str]:
    """What keeps a system from running here, each with what to do about it; empty if it can run."""
    needs, obstacles = spec.needs, []
    if needs.llm and not here.llm:
        obstacles.append(f"needs {SERVER}")
    for package in needs.packages:
        if importlib.util.find_spec(package) is None:
            obstacles.append(f"needs the package {package}: pip install {_PIP.get(package, package)}")
    hints = model_hints() if set(needs.models) - set(here.models) else {}
    for key in needs.models:
        if key not in here.models:
            name = here.named.get(key, "").strip()
            what = (
                f"answers.models.{key} names {name!r}, which is neither a folder here nor in the hub's local cache"
                if name
                else f"answers.models.{key} is not set"
            )
            obstacles.append(f"needs a model: {what}; {hints.get(key, 'download it and name its folder there')}")
    for scorer in needs.scorers:
        if scorer not in here.scorers:
            obstacles.append(f"needs the node scores {scorer}: there is no "
                        f"data/node_embeddings/{scorer}{_SCORES.get(scorer, '')}")
    if needs.gold and not here.gold:
        obstacles.append("needs gold evidence, and no test question here has any")
    return obstacles


def describe_needs(spec: SystemSpec) -> str:
    """What a system needs, in a few words; empty if it needs nothing but an index."""
    needs = spec.needs
    return ", ".join([*(["language model server"] if needs.llm else []), *(["gold evidence"] if needs.gold else []),
                      *(f"model {m}" for m in needs.models), *(f"package {p}" for p in needs.packages),
                      *(f"{s} scores" for s in needs.scorers)])
