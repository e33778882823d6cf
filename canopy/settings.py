"""What all settings share, and the encoder's: each kind has its own fields (modules of ``canopy.encoder.kinds``)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

from canopy.discovery import modules_of

NodeMode = Literal["one_pass", "separate"]
DEFAULT_KIND = "minilm"


class Frozen(BaseModel):
    """Settings that never change once they are read; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class EncoderSettings(Frozen):
    """What the settings of every kind of encoder have.

    ``mode``: encode nodes one by one (``separate``) or an item once (``one_pass``). ``overlap``: tokens that two
    windows of a long input share; nothing is ever truncated. ``batch_tokens``: padded tokens of one forward pass.
    ``packages``: what the kind needs installed besides the packages of every encoder. ``light``: small enough that
    each worker process loads its own.
    """

    packages: ClassVar[tuple[str, ...]] = ()
    light: ClassVar[bool] = False

    kind: str
    mode: NodeMode = "separate"
    overlap: int = Field(default=64, ge=0)
    batch_tokens: int = Field(default=4096, ge=256)

    @property
    def modes(self) -> tuple[NodeMode, ...]:
        """The modes this kind of encoder has, the configured one first."""
        return (self.mode,)

    @property
    @abstractmethod
    def window_tokens(self) -> int:
        """Tokens of one window; a longer input is encoded in several."""


def encoder_kinds() -> dict[str, ModuleType]:
    """The modules that declare a kind of encoder, by the kind's name, which is the module's."""
    # Loaded by name: settings stand below the encoders that they describe.
    package = import_module("canopy.encoder.kinds")
    return {m.__name__.rpartition(".")[2]: m for m in modules_of(package)}


def foreign_keys(raw: Mapping[str, object]) -> dict[str, str]:
    """Keys of an encoder's settings that its kind does not have and another kind has, each with that kind."""
    kinds = encoder_kinds()
    own = kinds.get(str(raw.get("kind", DEFAULT_KIND)))
    if own is None:
        return {}
    return {key: kind for kind, module in kinds.items() for key in raw
            if key in module.Settings.model_fields and key not in own.Settings.model_fields}


def parse_encoder(raw: Mapping[str, Any], *, lenient: bool = False) -> EncoderSettings:
    """Read an encoder's settings by their kind.

    Parameters
    ----------
    lenient : bool
        Pass over keys of other kinds. Earlier versions wrote the keys of all kinds into bundles and models.

    Raises
    ------
    ValidationError
        If the kind is unknown, a value is out of bounds, or a key belongs to another kind and is not at its default
        there.
    """
    kinds = encoder_kinds()
    kind = str(raw.get("kind", DEFAULT_KIND))
    if kind not in kinds:
        raise _error("kind", kind, f"{kind!r} is none of {', '.join(kinds)}")
    foreign = foreign_keys(raw)
    for key, other in foreign.items():
        if not lenient and raw[key] != kinds[other].Settings.model_fields[key].default:
            raise _error(key, raw[key],
                         f"a setting of kind {other}, and kind is {kind}: remove it, or set encoder.kind={other}")
    settings: EncoderSettings = kinds[kind].Settings.model_validate({k: v for k, v in raw.items() if k not in foreign})
    return settings


def _error(key: str, value: object, message: str) -> ValidationError:
    return ValidationError.from_exception_data("encoder", [
        {"type": PydanticCustomError("encoder", "{message}", {"message": message}), "loc": (key,), "input": value}])


def _validate(value: Any, inner: Any) -> Any:
    return parse_encoder(value) if isinstance(value, Mapping) else inner(value)


# A field of this type takes the settings of any kind and keeps all of that kind's fields.
AnyEncoder = Annotated[SerializeAsAny[EncoderSettings], WrapValidator(_validate)]


def describe_errors(error: ValidationError, model: type[BaseModel]) -> str:
    """What is wrong with settings, one clause a key; an unknown key with those that it may have been meant for."""
    clauses = []
    for fault in error.errors():
        steps = [str(step) for step in fault["loc"]]
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            message = f"no such parameter; {_suggestion(steps, list(_keys(model)))}"
        clauses.append(f"{'.'.join(steps) or 'file'}: {message}")
    return "; ".join(clauses)


def _suggestion(steps: list[str], keys: list[str]) -> str:
    """The keys nearest to an unknown one: in its group, then by their last step anywhere; otherwise its group's."""
    group = ".".join(steps[:-1])
    if steps[0] == "benchmarks" and len(steps) > 2:
        keys = [k.replace("<name>", steps[1]) for k in keys]
    siblings = [k.rpartition(".")[2] for k in keys if k.rpartition(".")[0] == group]
    near = [f"{group}.{k}".strip(".") for k in get_close_matches(steps[-1], siblings, n=3)]
    last: dict[str, list[str]] = {}
    for key in keys:
        last.setdefault(key.rpartition(".")[2], []).append(key)
    near += [k for word in get_close_matches(steps[-1], last, n=3, cutoff=0.75) for k in last[word]]
    if near:
        return f"did you mean {' or '.join(dict.fromkeys(near))}?"
    return f"{group or 'params.yaml'} has {', '.join(siblings)}" if siblings else f"{group} has no such parameters"


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every key of a model of settings, with those of the models in it, by its path: ``training.epochs``."""
    for name, field in model.model_fields.items():
        yield prefix + name
        annotation = field.annotation
        if name == "encoder":
            yield from dict.fromkeys(k for m in encoder_kinds().values() for k in _keys(m.Settings, f"{name}."))
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _keys(annotation, f"{prefix}{name}.")
        elif name == "benchmarks":
            entry = get_args(annotation)[1]
            yield from _keys(entry, f"{name}.<name>.")
