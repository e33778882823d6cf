"""HotpotQA's rules (hotpot_evaluate_v1.py): answer, supporting facts, and both jointly."""

from __future__ import annotations

from collections.abc import Iterable

from canopy.items import Question
from canopy.scoring.metric import Support, exact_match, normalise_answer, precision_recall_f1

PRIMARY = ("em", "f1", "sp_f1", "joint_f1")
RULES = ("EM and F1 with HotpotQA's rule that yes, no and noanswer earn F1 only by matching; supporting facts and "
         "joint scores as in hotpot_evaluate_v1.py. "
         "A supporting fact is one of our fragments that an annotated sentence touches.")
_VERDICTS = ("yes", "no", "noanswer")


def answer_scores(prediction: str, truth: str) -> tuple[float, float, float, float]:
    """EM, precision, recall and F1 of one answer."""
    a, b = normalise_answer(prediction), normalise_answer(truth)
    if a != b and (a in _VERDICTS or b in _VERDICTS):
        return 0.0, 0.0, 0.0, 0.0
    return (exact_match(prediction, truth), *precision_recall_f1(a.split(), b.split()))


def support_scores(support: Support) -> tuple[float, float, float, float]:
    """EM, precision, recall and F1 of the supporting facts."""
    hit = len(support.predicted & support.gold)
    p = hit / len(support.predicted) if support.predicted else 0.0
    r = hit / len(support.gold) if support.gold else 0.0
    return float(support.predicted == support.gold), p, r, 2 * p * r / (p + r) if p + r else 0.0


def scores_against(truths: Iterable[str], prediction: str, support: Support | None) -> dict[str, float]:
    """All measures; over several truths the best of each on its own (2WikiMultiHopQA's aliases: ``update_answer``)."""
    em, p, r, f1 = (max(m) for m in zip(*((0.0,) * 4, *(answer_scores(prediction, t) for t in truths)), strict=True))
    out = {"em": em, "f1": f1}
    if support is not None and support.gold:
        s_em, s_p, s_r, s_f1 = support_scores(support)
        joint_p, joint_r = p * s_p, r * s_r
        out |= {"sp_em": s_em, "sp_precision": s_p, "sp_recall": s_r, "sp_f1": s_f1, "joint_em": em * s_em,
                "joint_f1": 2 * joint_p * joint_r / (joint_p + joint_r) if joint_p + joint_r else 0.0}
    return out


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em``, ``f1``, and, if the question has annotated facts, ``sp_*`` and ``joint_*``."""
    return scores_against(question.answers[:1], prediction, support)
