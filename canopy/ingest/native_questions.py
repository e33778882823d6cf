"""Questions of the native format: ``questions.jsonl``.

Fields: ``id``, ``question``, ``answers``, optional ``type``, ``split`` and ``gold``, a list of ``{"item": ID}`` with
``chars``, ``rows`` (numbers or ranges) or ``seconds``. Entries with another ``group`` are alternatives.
"""

from __future__ import annotations

from canopy.ingest.fields import number_of, shorten, text_of
from canopy.ingest.sink import Sink, Unusable, Waiting
from canopy.items import Annotation, Item, Question, Unit

UNITS: tuple[Unit, ...] = ("chars", "rows", "seconds")
UNIT_OF: dict[str, Unit] = {"text": "chars", "table": "rows", "video": "seconds"}


def parse_question(record: object, sink: Sink) -> tuple[Question, list[Annotation]]:
    """One native question and its gold.

    Raises
    ------
    Unusable
        If a field is missing or wrong, or a span lies outside its item.
    Waiting
        If a gold item waits for its media file.
    """
    if not isinstance(record, dict):
        raise Unusable(f"an object is expected, not {type(record).__name__}")
    question_id = f"{sink.benchmark}/{text_of(record.get('id'), 'id')}"
    answers = record.get("answers", [])
    if not isinstance(answers, (list, tuple)):
        raise Unusable("answers must be a list of strings")
    split = record.get("split") or ""
    if split not in ("", "train", "test"):
        raise Unusable(f"split must be train or test, not {shorten(split)}")
    question = Question(
        question_id,
        sink.benchmark,
        text_of(record.get("question"), "question"),
        tuple(text_of(a, "an answer") for a in answers),
        text_of(record.get("type") or "", "type", empty=True),
        split,
    )
    gold = record.get("gold") or []
    if not isinstance(gold, (list, tuple)):
        raise Unusable("gold must be a list of objects")
    return question, [_parse_gold(entry, question_id, sink) for entry in gold]


def _parse_gold(entry: object, question_id: str, sink: Sink) -> Annotation:
    """One gold entry, checked against its item."""
    if not isinstance(entry, dict):
        raise Unusable("a gold entry must be an object with an item")
    name = text_of(entry.get("item"), "gold item")
    item = sink.items.get(f"{sink.benchmark}/{name}")
    if item is None and any(w["record"] == name for w in sink.waiting):
        raise Waiting(f"gold item {name!r} waits for its media file")
    if item is None:
        raise Unusable(f"gold names item {name!r}, which is not in items.jsonl")
    group = entry.get("group", 0)
    if not isinstance(group, int) or isinstance(group, bool) or not 0 <= group < 2**31:
        raise Unusable(f"group must be a whole number, not {shorten(group)}")
    units = [unit for unit in UNITS if unit in entry]
    if not units:
        return Annotation(question_id, item.id, "item", (), group)
    unit = units[0]
    if len(units) > 1 or UNIT_OF.get(item.modality) != unit:
        raise Unusable(
            f"gold of {item.modality} item {name!r} must be given in {UNIT_OF.get(item.modality, 'no unit')}, "
            f"not {', '.join(units)}"
        )
    spans = entry[unit]
    if not isinstance(spans, (list, tuple)) or not spans:
        raise Unusable(f"{unit} must be a list with at least one span")
    return Annotation(question_id, item.id, unit, tuple(_parse_span(span, unit, name, item) for span in spans), group)


def _parse_span(span: object, unit: Unit, name: str, item: Item) -> tuple[float, float]:
    """Start and end of one gold span, within its item."""
    limit = {"chars": float(len(item.text)), "rows": float(len(item.rows)), "seconds": item.duration}[unit]
    if unit == "rows" and isinstance(span, int) and not isinstance(span, bool):
        span = [span, span + 1]
    if not isinstance(span, (list, tuple)) or len(span) != 2:
        raise Unusable(f"{unit}: a span is [start, end], not {shorten(span)}")
    start, end = (number_of(value, unit) for value in span)
    if not 0 <= start <= end <= limit or (unit != "seconds" and (start == end or start % 1 or end % 1)):
        raise Unusable(f"gold span [{start:g}, {end:g}] lies outside item {name!r}, whose {unit} end at {limit:g}")
    return start, end

