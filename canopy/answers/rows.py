"""One answered question as a row: the official scores, what was retrieved and kept of the gold, what it cost; and the schemas of the tables."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pyarrow as pa

from canopy.answers.gold import AnswerGold, Fragment, Places
from canopy.answers.remembering import REMEMBERED
from canopy.config import Options
from canopy.encoder.words import region_text
from canopy.evaluation.metrics import answer_words, matchable
from canopy.items import Evidence, Question
from canopy.llm.roles import Shown, Trace, encodable
from canopy.pipelines.base import Result
from canopy.pipelines.compression import keep_whole
from canopy.pipelines.evidence import count_tokens, show_regions
from canopy.pipelines.tools import Tools
from canopy.scoring.metric import Support, score_answer

# Every measure that an official metric may give; null where a benchmark has none of that name.
METRICS = ("em", "f1", "accuracy", "sp_em", "sp_f1", "sp_precision", "sp_recall", "joint_em", "joint_f1", "parse_failed", "table_em", "table_f1",
           "passage_em", "passage_f1", "scale_right")
_OUTCOMES = ("refinable", "kept", "split", "pruned")
_REGION = [("item_id", pa.string()), ("lo", pa.int32()), ("hi", pa.int32()), ("score", pa.float64()), ("depth", pa.int32())]
CELL = [("reader", pa.string()), ("system", pa.string()), ("corpus_scope", pa.string()), ("variant", pa.string())]
ANSWER_SCHEMA = pa.schema([
    ("question_id", pa.string()), *CELL, ("seed", pa.int32()), ("k", pa.int32()), ("rounds_limit", pa.int32()), ("prediction", pa.string()),
    *((m, pa.float64()) for m in METRICS), ("tokens", pa.int64()), ("whole_tokens", pa.int64()),
    ("calls", pa.list_(pa.struct([("role", pa.string()), ("count", pa.int32()), ("prompt_tokens", pa.int64()), ("completion_tokens", pa.int64()),
                                  ("fallbacks", pa.int32())]))),
    ("rounds", pa.int32()), ("retrieved", pa.int32()), ("follow_up_retrieved", pa.int32()), ("duplicates", pa.int32()), ("cap_cut", pa.bool_()),
    ("gold_items_found", pa.int32()), ("gold_items", pa.int32()), ("gold_recall", pa.float64()), ("answer_in_evidence", pa.float64()),
    *((f"items_{o}", pa.int32()) for o in _OUTCOMES),
    ("outcomes", pa.list_(pa.struct([("modality", pa.string()), *((o, pa.int32()) for o in _OUTCOMES)]))),
    ("notes", pa.list_(pa.struct([("note", pa.string()), ("count", pa.int32())]))),
    ("evidence", pa.list_(pa.struct([*_REGION, ("tokens", pa.int32()), ("text", pa.string())]))),
])
ROUND_SCHEMA = pa.schema([
    ("question_id", pa.string()), *CELL, ("round", pa.int32()), ("query", pa.string()), ("retrieved", pa.list_(pa.string())), ("new", pa.list_(pa.string())),
    ("kept", pa.list_(pa.struct(_REGION))),
])


@dataclass(slots=True)
class Scorekeeper:
    """Measures the results of one benchmark's questions; safe for many threads.

    Parameters
    ----------
    metric : module
        The benchmark's official rules (`canopy.scoring.metric.official_metric`).
    facts : bool
        Whether the benchmark scores supporting facts.
    """

    metric: ModuleType
    gold: AnswerGold
    places: Places
    facts: bool = False
    _whole: dict[tuple[str, str], int] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    def measure(self, question: Question, result: Result, tools: Tools, trace: Trace) -> dict[str, Any]:
        """The row of one answer, without the columns that say which run it is of, and its ``rounds`` as rows of their own under ``steps``.

        Retrieved duplicates are items of follow-up rounds that were in evidence already. What is pruned is counted over the items' regions
        before the reader's cap, gold recall and answer over what the reader saw. A system that rewrites its evidence keeps no fragments, so that it has
        neither outcomes nor gold recall.
        """
        retrieved = [i for r in result.rounds for i in r.retrieved]
        new = list(dict.fromkeys(i for r in result.rounds for i in r.new))
        later = [r for r in result.rounds[1:]]
        kept = None if result.rewritten else self._fragments(result.evidence, tools)
        support = Support(kept, self.gold.best(question.id, kept)) if self.facts and kept is not None else None
        scores = score_answer(self.metric, question, result.answer, support)
        found, wanted = self.gold.items_found(question.id, frozenset(map(self.places.item, retrieved)))
        outcomes = [] if kept is None else _outcomes(result, tools)
        stated = question.id in self.gold.stated and "accuracy" not in scores
        return {
            "prediction": encodable(result.answer), **{m: None if scores.get(m) is None else float(scores[m]) for m in METRICS}, "tokens": int(result.tokens),
            "whole_tokens": sum(self._whole_tokens(new, tools)), "calls": _calls(trace), "rounds": len(result.rounds), "retrieved": len(retrieved),
            "follow_up_retrieved": sum(len(r.retrieved) for r in later), "duplicates": sum(len(r.retrieved) - len(r.new) for r in later),
            "cap_cut": bool(result.cap_cut), "gold_items_found": found, "gold_items": wanted,
            "gold_recall": None if kept is None else self.gold.recall(question.id, kept),
            "answer_in_evidence": float(states(question, result.shown)) if stated else None,
            **{f"items_{o}": sum(r[o] for r in outcomes) for o in _OUTCOMES}, "outcomes": outcomes,
            "notes": [{"note": encodable(n), "count": int(c)} for n, c in sorted(result.notes.items())],
            "evidence": [_region(e) | {"tokens": int(e.tokens), "text": encodable(e.text) if self._is_rewritten(e, tools) else None} for e in result.evidence],
            "steps": [{"round": n, "query": encodable(r.query), "retrieved": list(r.retrieved), "new": list(r.new), "kept": [_region(e) for e in r.kept]}
                      for n, r in enumerate(result.rounds, 1)],
        }

    def _is_rewritten(self, region: Evidence, tools: Tools) -> bool:
        if not region.text:
            return False
        leaves = tools.library.leaves(region.item_id)
        return region.text.strip() != region_text(tools.library.item(region.item_id), leaves, region.lo, region.hi).strip()

    def _fragments(self, evidence: Sequence[Evidence], tools: Tools) -> frozenset[Fragment] | None:
        """The fragments that the reader saw, as `Places` names them; None where some evidence is not made of fragments."""
        if any(self._is_rewritten(e, tools) for e in evidence):
            return None
        return frozenset().union(*(self.places.fragments(e.item_id, range(e.lo, e.hi)) for e in evidence))

    def _whole_tokens(self, items: Sequence[str], tools: Tools) -> list[int]:
        """Tokens of whole items in the reader's tokens; each is counted once a run."""
        reader = tools.roles.reader.name
        missing = [i for i in items if (reader, i) not in self._whole]
        if missing:
            counted = count_tokens(show_regions(keep_whole(missing, tools), tools, Options()), tools)
            with self._lock:
                self._whole.update({(reader, i): n for i, n in zip(missing, counted, strict=True)})
        return [self._whole[reader, i] for i in items]


def states(question: Question, shown: Sequence[Shown]) -> bool:
    """Whether some shown region's words hold an accepted answer (case, punctuation and articles aside)."""
    answers = [f" {' '.join(a)} " for a in matchable(question.answers)]
    return any(a in f" {' '.join(answer_words(s.words()))} " for s in shown for a in answers)


def _region(e: Evidence) -> dict[str, Any]:
    return {"item_id": e.item_id, "lo": int(e.lo), "hi": int(e.hi), "score": float(e.score), "depth": int(e.depth)}


def _outcomes(result: Result, tools: Tools) -> list[dict[str, Any]]:
    """By modality: refinable items (more than one fragment) that were newly retrieved, and what became of all: kept whole as one region, split into
    several that lose nothing, or pruned. An item of which nothing was kept is pruned."""
    held: dict[str, list[tuple[int, int]]] = {i: [] for r in result.rounds for i in r.new}
    for r in result.rounds:
        for e in r.kept:
            held.setdefault(e.item_id, []).append((e.lo, e.hi))
    found: dict[str, Counter[str]] = {}
    for item_id, regions in held.items():
        count = tools.library.leaves(item_id).count
        covered = len({n for lo, hi in regions for n in range(lo, hi)})
        state = "pruned" if covered < count else "split" if len(regions) > 1 else "kept"
        found.setdefault(tools.library.item(item_id).modality, Counter()).update({state: 1, "refinable": int(count > 1)})
    return [{"modality": m, **{o: c[o] for o in _OUTCOMES}} for m, c in sorted(found.items())]


def _calls(trace: Trace) -> list[dict[str, Any]]:
    """Calls by role, in the order of first use; fallbacks are replies that could not be used."""
    by: dict[str, dict[str, Any]] = {}
    for c in trace.calls:
        row = by.setdefault(c.role, {"role": c.role, "count": 0, "prompt_tokens": 0, "completion_tokens": 0, "fallbacks": 0})
        row["count"] += 1
        row["prompt_tokens"] += int(c.prompt_tokens)
        row["completion_tokens"] += int(c.completion_tokens)
        row["fallbacks"] += bool(c.fallback)
    return list(by.values())


def seconds_of(trace: Trace, total: float) -> dict[str, Any]:
    """Seconds of one answer by activity and by role: for sidecars, never for hashed outputs. What was remembered counts as it took when it was read."""
    roles: Counter[str] = Counter()
    for c in trace.calls:
        roles[c.role] += c.seconds
    activities = dict(trace.seconds)
    remembered = activities.pop(REMEMBERED, 0.0)
    if remembered:
        activities["read"] = activities.get("read", 0.0) + remembered
    return {"total": total + remembered, "activities": activities, "roles": dict(roles), "cached_calls": sum(c.cached for c in trace.calls)}


def calls_of(row: Mapping[str, Any]) -> int:
    """All calls of an answer's row."""
    return sum(c["count"] for c in row["calls"])
