"""Exact match and token F1 over accepted answers, as SQuAD.

For one's own questions, and MuSiQue's answer scores, which are the same.
"""

from __future__ import annotations

from canopy.items import Question
from canopy.scoring.metric import Support, best_over, exact_match, squad_f1

PRIMARY = ("em", "f1")
RULES = ("EM and token F1, the best over the accepted answers, normalised as SQuAD v2 does; "
         "MuSiQue's answer EM and F1 are the same.")


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em`` and ``f1`` of one prediction; an empty prediction scores 0 if any answer has words."""
    return {"em": best_over(exact_match, prediction, question.answers),
            "f1": best_over(squad_f1, prediction, question.answers)}
