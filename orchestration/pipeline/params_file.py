"""params.yaml of a workspace: values written from the command line, and keys of earlier versions; comments stay."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from canopy.atomic import write_bytes
from canopy.config import load_config
from canopy.errors import CanopyError, DataError
from canopy.settings import foreign_keys

Document: TypeAlias = Any  # ruamel.yaml's mapping, which keeps comments
_RENAMED = (("answers", "settings", "corpus_scopes"),)  # group, key of an earlier version, key of this one


def edit_params(path: Path, change: Callable[[Document], None]) -> None:
    """Change the document in a YAML file; comments and order stay, and an unchanged document leaves the file alone.

    Raises
    ------
    DataError
        If the file is not YAML, or holds no groups of parameters.
    """
    from ruamel.yaml import YAML, YAMLError

    editor = YAML()
    editor.width, editor.preserve_quotes = 4096, True
    try:
        document = editor.load(path.read_text("utf-8"))
    except (YAMLError, UnicodeDecodeError) as e:
        raise DataError(f"{path}: not valid YAML: {' '.join(str(e).split())}") from None
    if not isinstance(document, dict):
        raise DataError(f"{path}: holds no groups of parameters")
    change(document)
    stream = io.StringIO()
    editor.dump(document, stream)
    if stream.getvalue().encode() != path.read_bytes():
        write_bytes(path, stream.getvalue().encode())


def read_overlay(path: Path) -> list[str]:
    """A YAML file of parameters (``params/qwen3_vl.yaml``) as ``key=value`` pairs for `set_params`.

    Raises
    ------
    DataError
        If the file is missing or holds no groups of parameters.
    """
    try:
        overlay = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as e:
        reason = getattr(e, "strerror", None) or "not UTF-8"
        raise DataError(f"{path}: cannot be read ({reason}); --params takes a YAML file such as params/qwen3_vl.yaml"
                        ) from None
    except yaml.YAMLError as e:
        raise DataError(f"{path}: not valid YAML: {' '.join(str(e).split())}") from None
    if not isinstance(overlay, dict):
        raise DataError(f"{path}: holds no parameters; write it as params.yaml is, with only the keys that change")
    return list(_pairs("", overlay))


def _pairs(prefix: str, value: object) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _pairs(f"{prefix}.{key}" if prefix else str(key), inner)
    else:
        # As YAML reads it back: JSON's 5e-05 would be a string there.
        text = yaml.safe_dump(value, default_flow_style=True, width=math.inf)
        yield f"{prefix}={text.strip().removesuffix('...').strip()}"


def set_params(workspace: Path, assignments: Sequence[str]) -> None:
    """Write ``key=value`` pairs (``training.epochs=1``) into params.yaml.

    Raises
    ------
    DataError
        If a pair is not of that form, or the result is not a valid configuration; the file is then as it was.
    """
    if not assignments:
        return
    path = workspace / "params.yaml"
    before = path.read_bytes()
    assigned = {pair.partition("=")[0].strip() for pair in assignments}

    def change(document: Document) -> None:
        for pair in assignments:
            _assign(document, pair)
        if "encoder.kind" in assigned:
            _drop_foreign_keys(document, assigned)

    try:
        edit_params(path, change)
        load_config(path)
    except CanopyError:
        write_bytes(path, before)
        raise


def _assign(document: Document, pair: str) -> None:
    key, equals, value = pair.partition("=")
    *parents, last = key.strip().split(".")
    if not equals or not last:
        raise DataError(f"--set {pair}: write it as key=value, for example --set training.epochs=1")
    place = document
    for step in parents:
        place = place.setdefault(step, {})
        if not isinstance(place, dict):
            raise DataError(f"--set {pair}: {step} is a value, not a group of parameters")
    try:
        place[last] = yaml.safe_load(value)
    except yaml.YAMLError as e:
        raise DataError(f"--set {pair}: {value!r} is not YAML: {getattr(e, 'problem', None) or e}") from None


def _drop_foreign_keys(document: Document, assigned: Collection[str]) -> None:
    """Remove what only another kind of encoder has, as after a change of kind; keys that are assigned now stay."""
    for key in foreign_keys(document["encoder"]):
        if f"encoder.{key}" not in assigned:
            del document["encoder"][key]


def bring_up_to_date(params: Path, defaults: Path) -> None:
    """Bring the params.yaml of an earlier version to this one: keys by their present names, missing ones by default.

    DVC reads parameters from the file, so that a default in the code is not enough. A file that cannot be read is left
    to whatever reads it next.
    """
    try:
        present = yaml.safe_load(params.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return
    if not isinstance(present, dict):
        return
    default = yaml.safe_load(defaults.read_text("utf-8"))
    default.pop("benchmarks", None)
    if isinstance(encoder := present.get("encoder"), dict) and encoder.get("kind") != default["encoder"]["kind"]:
        default.pop("encoder")  # each kind of encoder has keys of its own

    def change(document: Document) -> None:
        for group, old, new in _RENAMED:
            if isinstance(document.get(group), dict) and old in document[group]:
                _rename(document[group], old, new)
        for group, values in default.items():
            if group not in document:
                document[group] = values
            elif isinstance(values, dict) and isinstance(document[group], dict):
                document[group].update({k: v for k, v in values.items() if k not in document[group]})

    edit_params(params, change)


def _rename(group: Document, old: str, new: str) -> None:
    """Give a key another name; its place and its comment stay."""
    if new in group:
        del group[old]
        return
    position = list(group).index(old)
    comment = group.ca.items.pop(old, None)
    group.insert(position, new, group.pop(old))
    if comment is not None:
        group.ca.items[new] = comment
