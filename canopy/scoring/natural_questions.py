"""Natural Questions in its open form: exact match over aliases, and token F1 beside it.

Exact match is that of NQ-open's evaluation (Lee and others, 2019).
"""

from __future__ import annotations

import unicodedata

from canopy.items import Question
from canopy.scoring.metric import Support, best_over, exact_match, squad_f1

PRIMARY = ("em", "f1")
RULES = ("EM over all annotated short answers (NQ-open: any match after Unicode NFD, lower-casing, dropping "
         "punctuation, articles and extra spaces); "
         "F1, which NQ-open does not have, is SQuAD's over the same words.")


def _decomposed(text: str) -> str:
    """As NQ-open's evaluation (google-research/language, orqa/utils/eval_utils.py) takes words.

    So that an accent written in two ways is one.
    """
    return unicodedata.normalize("NFD", text)


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em`` and ``f1``, the best over the annotated answers."""
    reply, truths = _decomposed(prediction), [_decomposed(a) for a in question.answers]
    return {"em": best_over(exact_match, reply, truths), "f1": best_over(squad_f1, reply, truths)}
