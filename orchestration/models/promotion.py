"""The gate between a challenger and production: what it must show, the move of the aliases, and the way back."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from canopy.config import Config, load_config
from canopy.errors import CanopyError, DataError
from canopy.evaluation.measures import MEASURES, TUNED, Measure, frozen, measured
from canopy.paths import Paths
from canopy.scoring.bootstrap import Interval, paired_ratio_bootstrap
from canopy.stages.registry import PER_BENCHMARK, STAGES
from orchestration.models.reevaluation import evaluate_again
from orchestration.models.registry import (
    CHALLENGER,
    CHAMPION,
    MODEL,
    PREVIOUS,
    evaluated_benchmarks,
    evaluation_data_digest,
    measurable_benchmarks,
    per_question,
    registry_lock,
    version_by_alias,
)
from orchestration.models.tracking import open_client

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

    Table = Any  # a pandas table of systems.parquet

Export = Callable[["ModelVersion"], Path]


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition of promotion, whether it holds, and the numbers or the fix behind that."""

    name: str
    passed: bool
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What ``promote`` decided: ``moved`` says whether ``champion`` now names the challenger."""

    challenger: str
    champion: str | None
    gates: tuple[Gate, ...]
    outcome: Literal["promoted", "refused", "would promote", "already champion"]

    @property
    def passed(self) -> bool:
        """Whether every gate holds."""
        return all(g.passed for g in self.gates)


class PromotionError(CanopyError):
    """There is nothing to promote or to go back to."""


def promote(workspace: Path, *, dry_run: bool = False, force: bool = False, reason: str = "", export: Export | None = None) -> Verdict:
    """Move ``champion`` to the challenger where every gate holds.

    Parameters
    ----------
    dry_run : bool
        Judge only; no alias moves and nothing is exported.
    force, reason : bool, str
        Move it although a gate fails; the reason is kept on the version.
    export : callable
        Pins what the version is served from and returns the folder; that it succeeds is a gate, so that no champion is unservable.

    Raises
    ------
    PromotionError
        Where there is no challenger, or ``force`` comes without a reason.
    """
    if force and not reason.strip():
        raise PromotionError("--force needs --reason: it is kept on the version")
    config = load_config(workspace / "params.yaml")
    client = open_client(workspace)
    with registry_lock(workspace):
        challenger, champion = version_by_alias(client, CHALLENGER), version_by_alias(client, CHAMPION)
        if challenger is None:
            raise PromotionError("no challenger is registered; `canopy run` trains, evaluates and registers one")
        if champion is not None and champion.version == challenger.version:
            return Verdict(str(challenger.version), str(champion.version), (), "already champion")
        gates, tables = _data_gates(workspace, config, client, challenger, champion)
        comparable = all(g.passed for g in gates if g.name == "same evaluation data")
        gates.append(_check_gate(workspace, config))
        if comparable:
            gates += _quality_gates(client, config, challenger, champion, tables)
        if export is not None and not dry_run and (force or all(g.passed for g in gates)):
            gates.append(_export_gate(export, challenger))
        passed = all(g.passed for g in gates)
        servable = all(g.passed for g in gates if g.name == "servable")
        if dry_run:
            outcome: Any = "would promote" if passed or force else "refused"
        elif passed or (force and servable):
            _move(client, challenger, champion, gates, reason if not passed else "")
            outcome = "promoted"
        else:
            outcome = "refused"
    return Verdict(str(challenger.version), str(champion.version) if champion else None, tuple(gates), outcome)


def rollback(workspace: Path) -> tuple[str, str]:
    """Make the previous champion the champion again; a second call goes back once more.

    Returns
    -------
    tuple of str
        The version that is champion now, and the one that was.
    """
    client = open_client(workspace)
    with registry_lock(workspace):
        champion, previous = version_by_alias(client, CHAMPION), version_by_alias(client, PREVIOUS)
        if previous is None:
            raise PromotionError("no previous champion to go back to: `canopy promote` has moved the alias at most once")
        client.set_registered_model_alias(MODEL, CHAMPION, previous.version)
        if champion is not None:
            client.set_registered_model_alias(MODEL, PREVIOUS, champion.version)
            client.set_model_version_tag(MODEL, champion.version, "rolled_back_at", _now())
    return str(previous.version), str(champion.version) if champion is not None else "none"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _move(client: MlflowClient, challenger: ModelVersion, champion: ModelVersion | None, gates: list[Gate], reason: str) -> None:
    client.set_model_version_tag(MODEL, challenger.version, "promoted_at", _now())
    client.set_model_version_tag(MODEL, challenger.version, "promotion_gates", json.dumps([asdict(g) for g in gates])[:4900])
    if reason:
        client.set_model_version_tag(MODEL, challenger.version, "promotion_forced", reason[:4900])
    # The way back first: should this process die between the two, the champion still is what it was.
    if champion is not None:
        client.set_registered_model_alias(MODEL, PREVIOUS, champion.version)
    client.set_registered_model_alias(MODEL, CHAMPION, challenger.version)


def _data_gates(workspace: Path, config: Config, client: MlflowClient, challenger: ModelVersion,
                champion: ModelVersion | None) -> tuple[list[Gate], dict[str, Table]]:
    """Whether both sides were measured on the same, current data; with the champion's per-question values by benchmark."""
    mine, now = evaluated_benchmarks(challenger), {b: evaluation_data_digest(workspace, config, b) for b in measurable_benchmarks(workspace, config)}
    stale = sorted(b for b in {*mine, *now} if mine.get(b) != now.get(b))
    current = Gate("evaluated on current data", not stale, f"{', '.join(mine)}: unchanged since version {challenger.version} was evaluated"
                   if not stale else f"{', '.join(stale)}: the test data is not what version {challenger.version} was evaluated on; `canopy run` "
                   "evaluates and registers it again")
    if champion is None:
        return [current, Gate("same evaluation data", True, "no champion yet: compared with f0 on the challenger's own test questions")], {}
    theirs = evaluated_benchmarks(champion)
    differing = sorted(b for b in mine if mine[b] != theirs.get(b))
    tables = {b: per_question(client, champion, b) for b in mine if b not in differing}
    if not differing:
        return [current, Gate("same evaluation data", True, f"equal digests on {', '.join(sorted(mine))}")], tables
    told = "; ".join(f"{b}: " + (f"challenger {mine[b][:8]}, champion {theirs[b][:8]}" if b in theirs else "new for the champion") for b in differing)
    if stale:
        return [current, Gate("same evaluation data", False, f"{told}; `canopy run`, then promote again")], {}
    try:
        tables |= {b: evaluate_again(workspace, config, client, champion, b, mine[b]) for b in differing}
    except Exception as e:
        return [current, Gate("same evaluation data", False, f"{told}; version {champion.version} cannot be evaluated on it ({e}). Promote with "
                              "--force --reason, or `canopy rollback` to a champion that can")], {}
    return [current, Gate("same evaluation data", True, f"{told}: version {champion.version} was evaluated again on the challenger's data")], tables


def _check_gate(workspace: Path, config: Config) -> Gate:
    """Blocking rules of the data, as each stage found them when it last ran."""
    failed, seen, missing = [], 0, []
    for stage in STAGES:
        for benchmark in sorted(config.benchmarks) if stage in PER_BENCHMARK else [None]:
            path = Paths(workspace).output(stage, benchmark) / "summary.json"
            name = f"{stage}@{benchmark}" if benchmark else stage
            try:
                checks = json.loads(path.read_text(encoding="utf-8")).get("checks", [])
            except FileNotFoundError:
                missing.append(name)
                continue
            except ValueError as e:
                raise DataError(f"{path}: not JSON: {e}; run `canopy run` again") from None
            seen += len(checks)
            failed += [f"{name}: {c.get('rule') or c.get('name')}" for c in checks if c.get("blocking", True) and not c.get("passed", True)]
    if failed:
        return Gate("data checks", False, f"{len(failed)} of {seen} fail: {', '.join(failed[:5])}")
    if missing:
        return Gate("data checks", False, f"no summary of {', '.join(missing[:5])}; `canopy run` builds them")
    return Gate("data checks", True, f"{seen} checks of {len(STAGES)} stages, none of the blocking ones fails")


def _export_gate(export: Export, challenger: ModelVersion) -> Gate:
    try:
        return Gate("servable", True, f"pinned in {export(challenger)}")
    except CanopyError as e:
        return Gate("servable", False, str(e))


def _columns(table: Table, system: str, questions: list[str]) -> dict[str, np.ndarray]:
    rows = table[table["system"] == system].set_index("question_id").reindex(questions)
    return {c: rows[c].to_numpy(dtype=np.float64) for c in rows.columns if c != "system"}


def _pair(table: Table, system: str, questions: list[str], measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    return measured(_columns(table, system, questions), measure)


def _quality_gates(client: MlflowClient, config: Config, challenger: ModelVersion, champion: ModelVersion | None,
                   tables: dict[str, Table]) -> list[Gate]:
    settings = config.promotion
    measure = MEASURES.get(settings.metric)
    if measure is None:
        raise DataError(f"params.yaml: promotion.metric: {settings.metric!r} is not measured; there are {', '.join(MEASURES)}")
    sides: dict[str, tuple[tuple[np.ndarray, np.ndarray], dict[str, tuple[np.ndarray, np.ndarray]]]] = {}
    for benchmark in sorted(evaluated_benchmarks(challenger)):
        table = per_question(client, challenger, benchmark)
        questions = sorted(set(table[table["system"] == TUNED]["question_id"]))
        if champion is None:
            others = {s: _pair(table, s, questions, measure) for s in map(frozen, ("one_pass", "separate")) if (table["system"] == s).any()}
        else:
            others = {f"version {champion.version}": _pair(tables[benchmark], TUNED, questions, measure)}
        sides[benchmark] = (_pair(table, TUNED, questions, measure), others)
    against = _best({k for _, o in sides.values() for k in o}, sides, measure)
    sign = 1 if measure.higher_is_better else -1

    def compare(benchmarks: list[str]) -> tuple[Interval, str]:
        mine = tuple(np.concatenate([sides[b][0][i] for b in benchmarks]) for i in (0, 1))
        theirs = tuple(np.concatenate([sides[b][1][against][i] for b in benchmarks]) for i in (0, 1))
        e = config.evaluation
        d = paired_ratio_bootstrap(mine, theirs, e.resamples, e.seed, e.confidence)
        scale, unit = (100, " points") if measure.percent else (1, "")
        before, after = ((100 if measure.percent else 1) * float(np.divide(n.sum(), m.sum())) if m.sum() else float("nan") for n, m in (theirs, mine))
        return d, (f"{measure.label} {before:.1f} ({against}) -> {after:.1f}: {scale * d.estimate:+.1f}{unit}, "
                   f"{e.confidence:.0%} interval {scale * d.low:+.1f} to {scale * d.high:+.1f}, {len(mine[0])} questions")

    pooled, told = compare(sorted(sides))
    gained = sign * pooled.estimate
    lowest = pooled.low if sign > 0 else -pooled.high
    opponent, needed = "the champion" if champion else "f0", f"better by more than {(100 if measure.percent else 1) * settings.min_difference:g}"
    needed += " points" if measure.percent else ""
    gates = [Gate(f"{settings.metric} against {opponent}", bool(gained > settings.min_difference), f"{told}; required: {needed}")]
    if settings.require_interval_above:
        gates.append(Gate("interval above the required difference", bool(lowest > settings.min_difference),
                          f"{told}; required: the whole interval {needed} than {opponent}"))
    for benchmark in sorted(sides) if len(sides) > 1 else []:
        d, told = compare([benchmark])
        # A benchmark may not be lost for the others: it fails where its whole interval lies below zero.
        best_case = d.high if sign > 0 else -d.low
        gates.append(Gate(f"no loss on {benchmark}", bool(not np.isfinite(best_case) or best_case >= 0), told))
    return gates


def _best(names: set[str], sides: dict[str, Any], measure: Measure) -> str:
    """The strongest opponent over all benchmarks: the champion, or the better of the two ways to encode with f0."""
    names = {n for n in names if all(n in o for _, o in sides.values())}
    if not names:
        raise DataError("the evaluation holds no system to compare with (f0 one_pass, f0 separate); run `canopy run` to evaluate again")

    def value(name: str) -> float:
        top, low = (sum(float(o[name][i].sum()) for _, o in sides.values()) for i in (0, 1))
        return (top / low if low else 0.0) * (1 if measure.higher_is_better else -1)

    return max(sorted(names), key=value)
