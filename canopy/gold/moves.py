"""What the joint split did to one benchmark: counts, the questions that changed side and why, and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from canopy.digests import text_sha256
from canopy.gold.joint import Placement
from canopy.gold.sharing import Member
from canopy.items import Question

_EXAMPLES = 3  # questions that a sentence names
_ROWS = 200


def describe_split(benchmark: str, placements: Sequence[Placement], groups: Sequence[Sequence[Member]],
                   questions: Sequence[Question],
                   fitted: Mapping[str, frozenset[str]]) -> tuple[dict[str, float], dict[str, Any], list[str]]:
    """Metrics, tables and notes of the stage ``split`` for one benchmark.

    Parameters
    ----------
    groups : sequence
        Those that some of the benchmark's questions or gold items are in.
    fitted : mapping
        Role to digests of the questions that it was fitted on.
    """
    own = [m for g in groups for m in g if m.benchmark == benchmark]
    sides = Counter(p.split for p in placements)
    moved = [p for p in placements if p.split != p.alone]
    sizes = Counter(p.component for p in placements)
    roles = {q.id: [r for r in sorted(fitted) if text_sha256(q.question) in fitted[r]] for q in questions}
    teaching = [p for p in placements if roles.get(p.question_id)]
    metrics = {**{f"questions_{s}": float(sides[s]) for s in ("train", "test")},
               "components": float(len(sizes)), "largest_component": float(max(sizes.values(), default=0)),
               "duplicate_items": float(sum(m.kind == "item" for m in own)),
               "duplicate_questions": float(sum(m.kind == "question" for m in own)),
               "questions_joined": float(sum(bool(p.others) for p in placements)),
               "questions_moved": float(len(moved)), "questions_fitted": float(len(teaching))}
    shared: Counter[tuple[str, str]] = Counter()
    for group in groups:
        others = {m.benchmark for m in group} - {benchmark}
        shared.update((o, m.kind) for o in others for m in group if m.benchmark == benchmark)
    tables = {
        "moved": [{"question": p.question_id, "alone": p.alone, "here": p.split, "with": ", ".join(p.others),
                   "through": _through(p)} for p in moved[:_ROWS]],
        "shared": [{"with": o, "gold items": shared[o, "item"], "questions": shared[o, "question"],
                    "hang together": sum(o in p.others for p in placements),
                    "moved": sum(o in p.others for p in moved)}
                   for o in sorted({o for p in placements for o in p.others})]}
    return metrics, tables, [*_move_notes(benchmark, moved), *_fitted_notes(teaching, roles),
                             *_size_notes(benchmark, sides, sizes)]


def _through(p: Placement) -> str:
    return " = ".join(m.name for m in p.through)


def _move_notes(benchmark: str, moved: Sequence[Placement]) -> list[str]:
    """One sentence for each set of benchmarks that questions changed side for."""
    notes = []
    for others in sorted({p.others for p in moved}):
        of = [p for p in moved if p.others == others]
        examples = [f"{p.question_id} ({p.alone} to {p.split}" + (f", {_through(p)})" if p.through else ")")
                    for p in of[:_EXAMPLES]]
        notes.append(f"{_count(of)} of {benchmark} changed side because "
                     f"{'it shares' if len(of) == 1 else 'they share'} gold with {' and '.join(others)}: "
                     f"{'; '.join(examples)}{' ...' if len(of) > _EXAMPLES else ''}.")
    return notes


def _count(of: Sequence[Placement], kind: str = "") -> str:
    return f"{len(of)} {kind}question{'s' * (len(of) != 1)}"


def _fitted_notes(teaching: Sequence[Placement], roles: Mapping[str, Sequence[str]]) -> list[str]:
    names = ", ".join(sorted({r for p in teaching for r in roles[p.question_id]}))
    trained, tested = ([p for p in teaching if p.split == s] for s in ("train", "test"))
    notes = []
    if trained:
        notes.append(f"In train because what ships with canopy was fitted on them ({names}): {_count(trained)}.")
    if tested:
        examples = ", ".join(p.question_id for p in tested[:_EXAMPLES])
        notes.append(f"Warning: what ships with canopy ({names}) was fitted on {_count(tested, 'test ')} of an "
                     f"official split, e.g. {examples}: its figures on them are too good.")
    return notes


def _size_notes(benchmark: str, sides: Counter[str], sizes: Counter[int]) -> list[str]:
    total, largest = sum(sizes.values()), max(sizes.values(), default=0)
    if not total or (sides["train"] and sides["test"]):
        return []
    side, use = ("test", "measured") if not sides["test"] else ("train", "trained on")
    return [f"No question of {benchmark} is in {side}: nothing of it is {use}. {largest} of {total} questions hang "
            "together through shared gold."]
