"""2WikiMultiHopQA's rules (2wikimultihop_evaluate_v1.1.py): HotpotQA's, the answer's best over the entity's aliases."""

from __future__ import annotations

from canopy.items import Question
from canopy.scoring.hotpotqa import scores_against
from canopy.scoring.metric import Support

PRIMARY = ("em", "f1", "sp_f1")
RULES = ("As HotpotQA, each of the answer's scores the best over the answer and the aliases of its entity "
         "(id_aliases.json). No joint scores: the official ones "
         "also multiply in predicted evidence triples, which no system here writes.")


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em`` and ``f1`` over all accepted answers, and, if the question has annotated facts, ``sp_*``."""
    return {k: v for k, v in scores_against(question.answers, prediction, support).items() if not k.startswith("joint")}
