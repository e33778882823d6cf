"""OTT-QA's and HybridQA's rules (evaluate_script.py of both).

EM and F1 without a yes/no rule, split by where the answer stands.
"""

from __future__ import annotations

from canopy.items import Question
from canopy.scoring.metric import Support, exact_match, squad_f1

PRIMARY = ("em", "f1", "table_f1", "passage_f1")
RULES = ("EM and SQuAD v2's F1 against the one annotated answer, no yes/no rule; also apart for answers in a table's "
         "cell and in a linked passage. As in "
         "HybridQA's dev_reference.json, a question whose traced nodes are of both kinds is one of the table's.")


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em``, ``f1``, and the same under ``table_*`` or ``passage_*`` (neither if its answer has no traced node
    of these kinds)."""
    truth = question.answers[0] if question.answers else ""
    both = {"em": exact_match(prediction, truth), "f1": squad_f1(prediction, truth)}
    kind = next((k for k in ("table", "passage") if k in question.type.split("+")), "")
    return both | ({f"{kind}_{k}": v for k, v in both.items()} if kind else {})
