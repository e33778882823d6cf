"""Measures one answered question: the official scores, what was retrieved and kept of the gold, and what it cost."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType

from canopy.answers.caching import REMEMBERED
from canopy.answers.gold import AnswerGold, Fragment, Places
from canopy.answers.rows import CallRow, EvidenceRow, Measures, OutcomeRow, RegionRow, Seconds, official_scores
from canopy.config import Options
from canopy.encoder.words import region_text
from canopy.evaluation.metrics import matchable
from canopy.items import Evidence, Question
from canopy.llm.roles import RegionView, Trace, encodable
from canopy.pipelines.base import Result
from canopy.pipelines.compression import keep_whole
from canopy.pipelines.evidence import count_tokens, show_regions
from canopy.pipelines.tools import Tools
from canopy.scoring.metric import Support, answer_words, score_answer


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
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def measure(self, question: Question, result: Result, tools: Tools, trace: Trace) -> Measures:
        """The row of one answer, without the columns of its run.

        Retrieved duplicates are items of follow-up rounds that were in evidence already. Pruned items are counted over
        the items' regions before the reader's cap; gold recall and answer in evidence over what the reader saw. A
        system that rewrites its evidence keeps no fragments, so it has neither outcomes nor gold recall.
        """
        retrieved = [i for r in result.rounds for i in r.retrieved]
        new = list(dict.fromkeys(i for r in result.rounds for i in r.new))
        later = result.rounds[1:]
        kept = None if result.rewritten else self._fragments(result.evidence, tools)
        support = None
        if self.facts and kept is not None:
            support = Support(kept, self.gold.best(question.id, kept))
        scores = score_answer(self.metric, question, result.answer, support)
        items = frozenset(map(self.places.item, retrieved))
        gold_found, gold_items = self.gold.items_found(question.id, items)
        outcomes = [] if kept is None else _outcomes(result, tools)
        stated = question.id in self.gold.stated and "accuracy" not in scores
        return {
            "prediction": encodable(result.answer), **official_scores(scores), "tokens": int(result.tokens),
            "whole_tokens": sum(self._whole_tokens(new, tools)), "calls": _calls(trace), "rounds": len(result.rounds),
            "retrieved": len(retrieved), "follow_up_retrieved": sum(len(r.retrieved) for r in later),
            "duplicates": sum(len(r.retrieved) - len(r.new) for r in later), "cap_cut": bool(result.cap_cut),
            "gold_items_found": gold_found, "gold_items": gold_items,
            "gold_recall": None if kept is None else self.gold.recall(question.id, kept),
            "answer_in_evidence": float(states(question, result.views)) if stated else None,
            "items_refinable": sum(r["refinable"] for r in outcomes), "items_kept": sum(r["kept"] for r in outcomes),
            "items_split": sum(r["split"] for r in outcomes), "items_pruned": sum(r["pruned"] for r in outcomes),
            "outcomes": outcomes,
            "notes": [{"note": encodable(n), "count": int(c)} for n, c in sorted(result.notes.items())],
            "evidence": [self._evidence(e, tools) for e in result.evidence],
            "steps": [{"round": n, "query": encodable(r.query), "retrieved": list(r.retrieved), "new": list(r.new),
                       "kept": [_region(e) for e in r.kept]} for n, r in enumerate(result.rounds, 1)],
        }

    def _evidence(self, region: Evidence, tools: Tools) -> EvidenceRow:
        text = encodable(region.text) if self._is_rewritten(region, tools) else None
        return {**_region(region), "tokens": int(region.tokens), "text": text}

    def _is_rewritten(self, region: Evidence, tools: Tools) -> bool:
        if not region.text:
            return False
        leaves = tools.library.leaves(region.item_id)
        words = region_text(tools.library.item(region.item_id), leaves, region.lo, region.hi)
        return region.text.strip() != words.strip()

    def _fragments(self, evidence: Sequence[Evidence], tools: Tools) -> frozenset[Fragment] | None:
        """The fragments that the reader saw, as `Places` names them; None if some evidence is not made of fragments."""
        if any(self._is_rewritten(e, tools) for e in evidence):
            return None
        return frozenset().union(*(self.places.fragments(e.item_id, range(e.lo, e.hi)) for e in evidence))

    def _whole_tokens(self, items: Sequence[str], tools: Tools) -> list[int]:
        """Tokens of whole items in the reader's tokens; each item is counted once a run."""
        reader = tools.roles.reader.name
        missing = [i for i in items if (reader, i) not in self._whole]
        if missing:
            counts = count_tokens(show_regions(keep_whole(missing, tools), tools, Options()), tools)
            with self._lock:
                self._whole.update({(reader, i): n for i, n in zip(missing, counts, strict=True)})
        return [self._whole[reader, i] for i in items]


def states(question: Question, shown_regions: Sequence[RegionView]) -> bool:
    """Whether the words of some shown region hold an accepted answer; case, punctuation and articles do not count."""
    answers = [f" {' '.join(a)} " for a in matchable(question.answers)]
    texts = (f" {' '.join(answer_words(s.words()))} " for s in shown_regions)
    return any(a in text for text in texts for a in answers)


def _region(e: Evidence) -> RegionRow:
    return {"item_id": e.item_id, "lo": int(e.lo), "hi": int(e.hi), "score": float(e.score), "depth": int(e.depth)}


def _outcomes(result: Result, tools: Tools) -> list[OutcomeRow]:
    """What became of the newly retrieved items, by modality.

    An item was kept whole as one region, split into several regions that lose nothing, or pruned. An item of which
    nothing was kept is pruned. Refinable items have more than one fragment.
    """
    regions_of: dict[str, list[tuple[int, int]]] = {i: [] for r in result.rounds for i in r.new}
    for r in result.rounds:
        for e in r.kept:
            regions_of.setdefault(e.item_id, []).append((e.lo, e.hi))
    counts: dict[str, Counter[str]] = {}
    for item_id, regions in regions_of.items():
        size = tools.library.leaves(item_id).count
        covered = len({n for lo, hi in regions for n in range(lo, hi)})
        state = "pruned" if covered < size else "split" if len(regions) > 1 else "kept"
        of_modality = counts.setdefault(tools.library.item(item_id).modality, Counter())
        of_modality.update({state: 1, "refinable": int(size > 1)})
    return [{"modality": m, "refinable": c["refinable"], "kept": c["kept"], "split": c["split"], "pruned": c["pruned"]}
            for m, c in sorted(counts.items())]


def _calls(trace: Trace) -> list[CallRow]:
    """Calls by role, in the order of first use."""
    rows: dict[str, CallRow] = {}
    for call in trace.calls:
        row = rows.setdefault(call.role, {"role": call.role, "count": 0, "prompt_tokens": 0, "completion_tokens": 0,
                                          "fallbacks": 0})
        row["count"] += 1
        row["prompt_tokens"] += int(call.prompt_tokens)
        row["completion_tokens"] += int(call.completion_tokens)
        row["fallbacks"] += bool(call.fallback)
    return list(rows.values())


def seconds_of(trace: Trace, total: float) -> Seconds:
    """Seconds of one answer by activity and by role: for sidecars, never for hashed outputs.

    A reading that was remembered counts as long as it took the first time.
    """
    roles: dict[str, float] = {}
    for call in trace.calls:
        roles[call.role] = roles.get(call.role, 0) + call.seconds
    activities = dict(trace.seconds)
    remembered = activities.pop(REMEMBERED, 0.0)
    if remembered:
        activities["read"] = activities.get("read", 0.0) + remembered
    return {"total": total + remembered, "activities": activities, "roles": roles,
            "cached_calls": sum(c.cached for c in trace.calls)}
