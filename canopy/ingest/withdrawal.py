"""Items taken out again after they were read (a medium that cannot be decoded), with every count and question that
depends on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from canopy.ingest.sink import Origin, Sink


def withdraw_items(sink: Sink, broken: Mapping[str, str], absent: Mapping[str, str] | None = None) -> None:
    """Take items out of a sink, so that the counts still say what became of every record.

    The record that gave an item moves to quarantine (or, if its file is only absent, to those that wait), and its
    questions go. A question of another record whose gold needs such an item goes too, and its record waits; gold with
    an alternative group that is whole keeps that. The other documents of such a record stay.

    Parameters
    ----------
    broken, absent : mapping
        Item id to the reason.
    """
    reasons = {**(absent or {}), **broken}
    moved: set[int] = set()
    for ident, reason in reasons.items():
        item, origin = sink.items.pop(ident), sink.item_origins.get(ident)
        outcome = "quarantined" if ident in broken else "waiting"
        if origin is None:  # of no record: counted as one, so that the counts still add up
            sink.counts["read"] += 1
            sink.read_from[item.media] += 1
            _move(sink, Origin(item.media, ident, ""), outcome, reason)
        else:
            _move(sink, origin, outcome, reason)
            moved.add(id(origin))
    groups: dict[tuple[str, int], str] = {}
    for a in sink.annotations:
        if a.item_id in reasons:
            groups.setdefault((a.question_id, a.group), a.item_id)
    whole: dict[str, set[int]] = defaultdict(set)
    for a in sink.annotations:
        if (a.question_id, a.group) not in groups:
            whole[a.question_id].add(a.group)
    for (question, _), ident in groups.items():
        if not whole[question] and question in sink.questions:
            origin = sink.question_origins.get(question)
            if origin is None:
                del sink.questions[question]
            elif id(origin) not in moved:
                _move(sink, origin, "waiting", f"gold item {ident!r} cannot be used: {reasons[ident]}")
                moved.add(id(origin))
    for question in [q for q in sink.questions if id(sink.question_origins.get(q)) in moved]:
        del sink.questions[question]
    sink.annotations = [
        a for a in sink.annotations if a.question_id in sink.questions and (a.question_id, a.group) not in groups
    ]


def _move(sink: Sink, origin: Origin, outcome: str, reason: str) -> None:
    """Count a record anew. One in quarantine stays there; one that waits can still go there."""
    if origin.outcome == "quarantined" or origin.outcome == outcome:
        return
    if origin.outcome:
        sink.counts[origin.outcome] -= 1
    if origin.outcome == "waiting":
        sink.waiting = [w for w in sink.waiting if (w["file"], w["record"]) != (origin.file, origin.record)]
    for fallback in origin.fallbacks:
        sink.fallbacks[fallback] -= 1
        if not sink.fallbacks[fallback]:
            del sink.fallbacks[fallback]
    sink.counts[outcome] += 1
    origin.outcome, origin.fallbacks = outcome, ()
    listed = sink.quarantine if outcome == "quarantined" else sink.waiting
    listed.append({"file": origin.file, "record": origin.record, "reason": reason})
