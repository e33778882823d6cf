"""Records of mirrors brought into their publisher's shape: FlashRAG's, and lists that stand as JSON in strings."""

from __future__ import annotations

import json
from typing import Any

from canopy.ingest.sink import Unusable

# Fields that official files hold as lists or objects, and some mirrors (Hugging Face's 2WikiMultiHopQA) as strings.
_NESTED = frozenset({"answer_aliases", "context", "contexts", "evidences", "metadata", "paragraphs",
                     "question_decomposition", "supporting_facts"})
FLASHRAG = "a FlashRAG record (id, question, golden_answers, metadata)"


def publishers_shape(record: Any) -> Any:
    """A record as its publisher writes it; anything else as it is.

    A string of JSON becomes the list or object that it holds. Of a FlashRAG record the metadata's fields become the
    record's own, and the first golden answer the answer, with the others as ``answer_aliases``.
    """
    if not isinstance(record, dict):
        return record
    plain = {k: _parsed(v) if k in _NESTED and isinstance(v, str) else v for k, v in record.items()}
    golden = plain.get("golden_answers")
    if not isinstance(golden, list):
        return plain
    details = plain.get("metadata")
    inner = {k: _parsed(v) if k in _NESTED and isinstance(v, str) else v
             for k, v in (details.items() if isinstance(details, dict) else ())}
    answers = [a for a in golden if isinstance(a, str) and a.strip()]
    aliases = inner.get("answer_aliases")
    return {**inner, **plain, "answer": answers[0] if answers else inner.get("answer", ""),
            "answer_aliases": list(dict.fromkeys([*answers[1:], *(aliases if isinstance(aliases, list) else ())]))}


def field_of(record: dict[str, Any], name: str) -> Any:
    """A field that a record needs; Unusable, in words that name the format, if it is missing."""
    if name in record:
        return record[name]
    if isinstance(record.get("golden_answers"), list):
        raise Unusable(f"{FLASHRAG} without {name}: it has a question and its answers, no documents; take the "
                       f"publisher's release, or a file whose metadata holds {name}")
    raise Unusable(f"{name} is missing; the record has {', '.join(map(str, list(record)[:12])) or 'no field'}")


def _parsed(text: str) -> Any:
    """The list or object that a string holds as JSON; the string if it holds none."""
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (list, dict)) else text
