"""2WikiMultiHopQA's rules (2wikimultihop_evaluate_v1.1.py): HotpotQA's, the answer's best over the entity's aliases."""

from __future__ import annotations

from canopy.evaluation.official.base import Support
from canopy.evaluation.official.hotpotqa import scores_against
from canopy.items import Question

PRIMARY = ("em", "f1", "sp_f1", "joint_f1")
RULES = "As HotpotQA, the answer's scores the best over the answer and the aliases of its entity (id_aliases.json)."


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em``, ``f1``, ``sp_*`` and ``joint_*`` over all accepted answers."""
    return scores_against(question.answers, prediction, support)
