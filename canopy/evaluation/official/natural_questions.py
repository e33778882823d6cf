"""Natural Questions in its open form: exact match over aliases (Lee et al. 2019; NQ-open's evaluation), and token F1 beside it."""

from __future__ import annotations

from canopy.evaluation.official.base import Support, best_over, exact_match, squad_f1
from canopy.items import Question

PRIMARY = ("em", "f1")
RULES = "EM over all annotated short answers (NQ-open: any match after lower-casing, dropping punctuation, articles and extra spaces); F1 is SQuAD's."


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em`` and ``f1``, the best over the annotated answers."""
    return {"em": best_over(exact_match, prediction, question.answers), "f1": best_over(squad_f1, prediction, question.answers)}
