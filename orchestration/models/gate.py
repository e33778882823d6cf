"""What a challenger must show before it becomes the champion: current data, sound data, better quality, servable."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.config import Config
from canopy.errors import CanopyError, DataError
from canopy.gold.kinds import GoldKinds, read_kinds
from canopy.paths import Paths
from canopy.stages.registry import PER_BENCHMARK, STAGES
from orchestration.models.evaluation_data import evaluation_data_digest, measurable_benchmarks
from orchestration.models.quality import BenchmarkScores, Comparison, Difference, fewest_questions, read_scores
from orchestration.models.reevaluation import evaluate_again
from orchestration.models.registry import evaluated_benchmarks, per_question

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

Export = Callable[["ModelVersion"], Path]
SAME_DATA, SERVABLE = "same evaluation data", "servable"
_NAMED = 5  # failing checks or missing stages that a message names


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition of promotion, whether it holds, and the numbers or the fix behind that."""

    name: str
    passed: bool
    why: str


def check_gates(workspace: Path, config: Config, client: MlflowClient, challenger: ModelVersion,
                champion: ModelVersion | None) -> list[Gate]:
    """Every gate but the export, in the order in which they are printed.

    Quality is compared only if both sides were measured on the same data.

    Raises
    ------
    DataError
        If a file that a gate reads is missing or damaged, or params.yaml names an unknown metric.
    """
    current = _currency_gate(workspace, config, challenger)
    same, tables = _same_data_gate(workspace, config, client, challenger, champion, current=current.passed)
    gates = [current, same, _checks_gate(workspace, config)]
    if same.passed:
        scores, gold = {}, {}
        for b in sorted(evaluated_benchmarks(challenger)):
            table = per_question(client, challenger, b)
            kinds = read_kinds(Paths(workspace).output("gold_spans", b) / "gold.parquet")
            gold[b] = kinds.among(set(table["question_id"]))
            scores[b] = read_scores(table[~table["question_id"].isin(gold[b].left_out)], config.promotion.metric,
                                    None if champion is None else (str(champion.version), tables[b]))
        gates += _quality_gates(config, scores, "f0" if champion is None else "the champion", gold)
    return gates


def export_gate(export: Export, challenger: ModelVersion) -> Gate:
    """Pin what the challenger is served from; the gate fails if that raises a CanopyError."""
    try:
        return Gate(SERVABLE, True, f"pinned in {export(challenger)}")
    except CanopyError as e:
        return Gate(SERVABLE, False, str(e))


def _currency_gate(workspace: Path, config: Config, challenger: ModelVersion) -> Gate:
    """Whether the challenger was evaluated on the workspace's current test data."""
    evaluated = evaluated_benchmarks(challenger)
    current = {b: evaluation_data_digest(workspace, config, b) for b in measurable_benchmarks(workspace, config)}
    stale = sorted(b for b in {*evaluated, *current} if evaluated.get(b) != current.get(b))
    version = challenger.version
    if stale:
        why = (f"{', '.join(stale)}: the test data is not what version {version} was evaluated on; `canopy run` "
               "evaluates and registers it again")
    else:
        why = f"{', '.join(evaluated)}: unchanged since version {version} was evaluated"
    return Gate("evaluated on current data", not stale, why)


def _same_data_gate(workspace: Path, config: Config, client: MlflowClient, challenger: ModelVersion,
                    champion: ModelVersion | None, *, current: bool) -> tuple[Gate, dict[str, pd.DataFrame]]:
    """Whether both sides were measured on the same data; with the champion's per-question values by benchmark.

    A champion that was evaluated on other data is evaluated again on the challenger's, if that data is current.
    """
    if champion is None:
        return Gate(SAME_DATA, True, "no champion yet: compared with f0 on the challenger's own test questions"), {}
    mine, theirs = evaluated_benchmarks(challenger), evaluated_benchmarks(champion)
    differing = sorted(b for b in mine if mine[b] != theirs.get(b))
    tables = {b: per_question(client, champion, b) for b in mine if b not in differing}
    if not differing:
        return Gate(SAME_DATA, True, f"equal digests on {', '.join(sorted(mine))}"), tables
    differences = "; ".join(f"{b}: challenger {mine[b][:8]}, champion {theirs[b][:8]}" if b in theirs
                            else f"{b}: new for the champion" for b in differing)
    if not current:
        return Gate(SAME_DATA, False, f"{differences}; `canopy run`, then promote again"), {}
    try:
        tables |= {b: evaluate_again(workspace, config, client, champion, b, mine[b]) for b in differing}
    except Exception as e:  # whatever an old adapter or a lost artifact raises: the gate states it, with the way out
        return Gate(SAME_DATA, False, f"{differences}; version {champion.version} cannot be evaluated on it ({e}). "
                                      "Promote with --force --reason, or `canopy rollback` to a champion that can"), {}
    return Gate(SAME_DATA, True, f"{differences}: version {champion.version} was evaluated again on the challenger's "
                                 "data"), tables


def _checks_gate(workspace: Path, config: Config) -> Gate:
    """Blocking rules of the data, as each stage recorded them when it last ran."""
    failures, count, missing = [], 0, []
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
            count += len(checks)
            failures += [f"{name}: {c.get('rule') or c.get('name')}" for c in checks
                         if c.get("blocking", True) and not c.get("passed", True)]
    if failures:
        return Gate("data checks", False, f"{len(failures)} of {count} fail: {', '.join(failures[:_NAMED])}")
    if missing:
        return Gate("data checks", False, f"no summary of {', '.join(missing[:_NAMED])}; `canopy run` builds them")
    return Gate("data checks", True, f"{count} checks of {len(STAGES)} stages, none of the blocking ones fails")


def _count_needed(pooled: Difference, required: float, fewest: int) -> str:
    """How many test questions that takes, where more of them may decide it."""
    needed = pooled.questions_needed(required) or 0
    if pooled.questions < fewest:
        about = f", and about {needed:,} with a difference like this" if needed > fewest else ""
        return f", on at least {fewest} test questions{about}: there {'is' if pooled.questions == 1 else 'are'} " \
               f"{pooled.questions}"
    return f"; with a difference like this that takes about {needed:,} test questions" if needed else ""


def _gold_words(gold: Mapping[str, GoldKinds], benchmarks: Collection[str]) -> str:
    """How much of the gold that is compared on is pseudo."""
    words = {b: k.describe() for b, k in gold.items() if b in benchmarks and k.total}
    if not words:
        return ""
    return "; gold: " + (next(iter(words.values())) if len(words) == 1 else
                         ", ".join(f"{b} ({w})" for b, w in words.items()))


def _quality_gates(config: Config, scores: dict[str, BenchmarkScores], opponent: str,
                   gold: Mapping[str, GoldKinds]) -> list[Gate]:
    """Whether the challenger is better over all benchmarks, and worse on none of them."""
    settings, comparison = config.promotion, Comparison(config, scores)
    pooled = comparison.compare(sorted(scores))
    scale, unit = comparison.scale
    needed = f"better by more than {scale * settings.min_difference:g}{unit}"
    gates = [Gate(f"{settings.metric} against {opponent}", pooled.gain > settings.min_difference,
                  f"{pooled.description}{_gold_words(gold, scores)}; required: {needed}")]
    if settings.require_interval_above:
        fewest = fewest_questions(config.evaluation.confidence)
        passed = pooled.lowest_gain > settings.min_difference and pooled.questions >= fewest
        gates.append(Gate("interval above the required difference", passed, (
            f"{pooled.description}{_gold_words(gold, scores)}; required: the whole interval {needed} than {opponent}"
            f"{_count_needed(pooled, settings.min_difference, fewest)}")))
    for benchmark in sorted(scores) if len(scores) > 1 else []:
        single = comparison.compare([benchmark])
        gates.append(Gate(f"no loss on {benchmark}", not single.loses,
                          f"{single.description}{_gold_words(gold, [benchmark])}"))
    return gates
