"""Where the champion is chosen: the move of the alias to a challenger that passes every gate, and the way back."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from canopy.config import load_config
from canopy.errors import CanopyError
from orchestration.models.gate import SERVABLE, Export, Gate, check_gates, export_gate
from orchestration.models.quality import fewest_questions
from orchestration.models.registry import CHALLENGER, CHAMPION, MODEL, PREVIOUS, registry_lock, version_by_alias
from orchestration.models.tracking import open_client

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

Outcome = Literal["promoted", "refused", "would promote", "already champion"]
_LONGEST_TAG = 4900  # characters; MLflow takes 5000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What ``promote`` decided about a challenger, and the gates behind the decision."""

    challenger: str
    champion: str | None
    gates: tuple[Gate, ...]
    outcome: Outcome

    @property
    def passed(self) -> bool:
        """Whether every gate holds."""
        return all(g.passed for g in self.gates)


class PromotionError(CanopyError):
    """There is nothing to promote or to go back to."""


def promote(workspace: Path, *, dry_run: bool = False, force: bool = False, reason: str = "",
            export: Export | None = None) -> Verdict:
    """Move the alias ``champion`` to the challenger if every gate holds.

    Parameters
    ----------
    dry_run : bool
        Judge only: no alias moves and nothing is exported.
    force, reason : bool, str
        Move the alias although a gate fails. The reason is kept on the version.
    export : callable
        Pins what the version is served from and returns the folder. Its success is a gate, even with ``force``: every
        champion can be served.

    Raises
    ------
    PromotionError
        If there is no challenger, or ``force`` comes without a reason.
    """
    if force and not reason.strip():
        raise PromotionError("--force needs --reason: it is kept on the version")
    config = load_config(workspace / "params.yaml")
    client = open_client(workspace)
    with registry_lock(workspace):
        challenger, champion = version_by_alias(client, CHALLENGER), version_by_alias(client, CHAMPION)
        if challenger is None:
            raise PromotionError("no challenger is registered; `canopy run` trains, evaluates and registers one. That "
                                 "takes questions with gold on both sides of the split, and promotion at least "
                                 f"{fewest_questions(config.evaluation.confidence)} on the test side")
        if champion is not None and champion.version == challenger.version:
            return Verdict(str(challenger.version), str(champion.version), (), "already champion")
        gates = check_gates(workspace, config, client, challenger, champion)
        if export is not None and not dry_run and (force or all(g.passed for g in gates)):
            gates.append(export_gate(export, challenger))
        outcome = _decide(gates, dry_run=dry_run, force=force)
        if outcome == "promoted":
            forced = "" if all(g.passed for g in gates) else reason
            _move(client, challenger, champion, gates, forced)
    return Verdict(str(challenger.version), str(champion.version) if champion else None, tuple(gates), outcome)


def rollback(workspace: Path) -> tuple[str, str]:
    """Make the previous champion the champion again; a second call undoes the first.

    Returns
    -------
    tuple of str
        The version that is champion now, and the one that was champion before.

    Raises
    ------
    PromotionError
        If there is no previous champion.
    """
    client = open_client(workspace)
    with registry_lock(workspace):
        champion, previous = version_by_alias(client, CHAMPION), version_by_alias(client, PREVIOUS)
        if previous is None:
            raise PromotionError(
                "no previous champion to go back to: `canopy promote` has moved the alias at most once")
        client.set_registered_model_alias(MODEL, CHAMPION, previous.version)
        if champion is not None:
            client.set_registered_model_alias(MODEL, PREVIOUS, champion.version)
            client.set_model_version_tag(MODEL, champion.version, "rolled_back_at", _now())
    return str(previous.version), str(champion.version) if champion is not None else "none"


def _decide(gates: Sequence[Gate], *, dry_run: bool, force: bool) -> Outcome:
    passed = all(g.passed for g in gates)
    servable = all(g.passed for g in gates if g.name == SERVABLE)
    if dry_run:
        return "would promote" if passed or force else "refused"
    return "promoted" if passed or (force and servable) else "refused"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _move(client: MlflowClient, challenger: ModelVersion, champion: ModelVersion | None, gates: Sequence[Gate],
          reason: str) -> None:
    """Move the aliases, and keep the gates (and the reason of a forced move) on the version."""
    tags = {"promoted_at": _now(), "promotion_gates": json.dumps([asdict(g) for g in gates])}
    if reason:
        tags["promotion_forced"] = reason
    for name, value in tags.items():
        client.set_model_version_tag(MODEL, challenger.version, name, value[:_LONGEST_TAG])
    # The previous champion first: if this process dies between the two moves, the champion is still what it was.
    if champion is not None:
        client.set_registered_model_alias(MODEL, PREVIOUS, champion.version)
    client.set_registered_model_alias(MODEL, CHAMPION, challenger.version)
