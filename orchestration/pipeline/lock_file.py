"""dvc.lock as plain data: what each stage was last made from and what it made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import yaml

from canopy.errors import DataError
from orchestration.pipeline.lineage import Snapshot

LOCK_ERRORS = (yaml.YAMLError, UnicodeDecodeError, AttributeError, TypeError, KeyError, ValueError)


def read_lock(workspace: Path) -> dict[str, Snapshot]:
    """What dvc.lock says each stage was last made from and what it made."""
    path = workspace / "dvc.lock"
    try:
        return dict(parse_lock(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except LOCK_ERRORS as e:
        raise DataError(f"{path}: not valid: {' '.join(str(e).split())}; delete it and run `canopy run`") from None


class _LockLoader(yaml.SafeLoader):
    """Reads numbers as DVC wrote them, by YAML 1.2: to PyYAML alone, 5e-05 is a string and reads as changed."""


_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")
_LockLoader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+0123456789"))


@lru_cache(maxsize=8)
def parse_lock(text: bytes) -> Mapping[str, Snapshot]:
    """The stages in the text of dvc.lock; raises one of ``LOCK_ERRORS`` if it is none."""
    stages = yaml.load(text.decode("utf-8"), _LockLoader)["stages"]  # a SafeLoader
    return {name: Snapshot(entry["cmd"], {d["path"]: d.get("md5") for d in entry.get("deps", ())},
                           {k: v for values in entry.get("params", {}).values() for k, v in values.items()},
                           {o["path"]: o.get("md5") for o in entry.get("outs", ())})
            for name, entry in stages.items()}
