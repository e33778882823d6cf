"""How much of the gold could be located: per modality of its items, and per question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from canopy.gold.selection import located_questions
from canopy.items import MODALITIES

# ``of`` (a modality, or questions), and counts: ``located``, ``whole item``, ``none``, ``pseudo``.
CoverageRow = dict[str, str | int]


def coverage_table(rows: Iterable[Mapping[str, Any]], questions: Sequence[str]) -> list[CoverageRow]:
    """One row a modality of gold items, then one of questions.

    Gold rows are ``located`` inside their item or gold as a ``whole item``, ``pseudo`` ones among them; a question is
    located if all gold of one of its alternatives is, and ``none`` counts questions without any gold.
    """
    rows = list(rows)
    counts = Counter((r["modality"], r["coverage"]) for r in rows)
    pseudo = Counter(r["modality"] for r in rows if r.get("pseudo"))
    table: list[CoverageRow] = [{"of": m, "located": counts[m, "located"], "whole item": counts[m, "whole"], "none": 0,
                                 "pseudo": pseudo[m]}
            for m in MODALITIES if counts[m, "located"] + counts[m, "whole"]]
    located = located_questions(rows)
    sure = sum(located.values())
    table.append({"of": "questions", "located": sure, "whole item": len(located) - sure,
                  "none": len(questions) - len(located),
                 "pseudo": len({r["question_id"] for r in rows if r.get("pseudo")})})
    return table


def coverage_metrics(table: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The table's numbers under flat names.

    ``located_text``, ``whole_table``, ``located_questions``, ``questions_without_gold``.
    """
    metrics: dict[str, float] = {}
    for row in table:
        metrics |= {f"located_{row['of']}": float(row["located"]), f"whole_{row['of']}": float(row["whole item"])}
        if row["of"] == "questions":
            metrics["questions_without_gold"] = float(row["none"])
    return metrics
