"""What the report says in sentences: how things are measured, and how far the figures carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canopy.gold.kinds import ENOUGH_ANNOTATED
from canopy.report.groups import View
from canopy.report.results import Results, Settings

_SMALL = 200  # test questions below which intervals say more than points
DEFINITIONS = (
    ("decision accuracy",
     "share of decisions (a question and an inner node that touches the gold) whose every preference holds: at an "
     "all-gold node the node "
     "beats each child; elsewhere each child with gold scores at least as much as the node, and the node beats every "
     "other child. Pooled "
     "over decisions, as in the paper. On a tie a child is explored, in the measure as in the rule."),
    ("gold recall",
     "share of a question's gold fragments that are kept, mean over questions. Of alternative gold the best "
     "one counts. An item "
     "whose gold could not be located is gold whole. Of answers: over what the reader saw, gold items that were not "
     "retrieved included; a "
     "system that rewrites its evidence keeps no fragments and has none."),
    ("pruned", "share of the items with more than one fragment that lost at least one."),
    ("kept tokens",
     "tokens of the evidence, counted with the encoder's tokenizer, as a share of the whole gold items' and per "
     "question. A table's title "
     "and a video's caption count once an item."),
    ("tokens a question", "of answers: the evidence that the reader saw, in the reader's own tokens, after its cap."),
    ("answer in evidence",
     "of the questions whose gold items state an accepted answer word for word, the share whose kept evidence still "
     "does; yes/no questions "
     "are left out."),
    ("recall at k",
     "share of a question's gold items among the first k retrieved by f0 from the items of all configured benchmarks."),
    ("pseudo-gold",
     "items in which the answer was located, for questions that come without evidence; nobody annotated it. "
     f"Headline figures are of questions with annotated gold alone if there are at least {ENOUGH_ANNOTATED} of them in "
     "the test; tables and figures say which gold is theirs."),
    ("duplicates in follow-ups",
     "of the items that follow-up rounds retrieved, the share that was in evidence already."),
    ("corpora",
     "unified: the items of all configured benchmarks; own: one benchmark's items; gold items given: the gold items "
     "of the question, "
     "nothing searched."),
)
_UNREAD = ("No answer was read: no reader, critic or router took part, hence no EM or F1. Whether an answer is stated "
           "in the evidence says "
           "that a reader could find it, not that it would.")
_LLM_FREE = (
    "Where the LLM-free roles read, EM and F1 say how well an extractive reader finds the answer in what was kept, "
    "and no more; gold "
    "recall, answer in evidence and tokens need no reader and are the figures to go by. Its critic judges coverage of "
    "the question's "
    "words, not understanding.")
_LIMITS = (
    "Of the encoder: no question was classified as aggregate there, so that every table was refined as for a lookup "
    "question, which costs "
    "recall where an answer needs the whole table; and selection was measured on the gold items alone. On items "
    "without gold every kept "
    "token is waste, which only the answers' tables count.",
    "Intervals resample questions. They do not cover another training seed or another split, and the many rows are "
    "not corrected for "
    "looking often.",
    "f0 is the better of its two modes on the very test it is compared on, which favours f0 slightly.",
    "Tokens hide what it costs to encode nodes and to search; the page of seconds, the stage runs in the tracker and "
    ".canopy/timings hold those times.",
)
_ALTERNATIVES = ("Where a benchmark's labels are alternatives, a decision that holds under any one of them counts; "
                 "that lifts f0 and f_theta "
                 "alike.")


def what_it_sees(training: Mapping[str, object]) -> tuple[str, str]:
    """What the encoder is, and the limit of what it sees."""
    if training.get("pooling") == "last token":
        return (f"{training.get('base', 'Qwen3-VL')}, a vision-language encoder of the paper's kind",
                "The encoder sees an image's pixels and a video's frames, one every ten seconds and at most 32 a "
                "region, and reads "
                "subtitles; it hears nothing.")
    return ("a small text model (MiniLM), not the paper's 2-billion-parameter vision-language encoder",
            "The encoder is a small sentence encoder. It sees images and videos only through their words: titles, "
            "captions, subtitles and "
            "text read off the picture.")


def limits_of(results: Sequence[Results], settings: Settings, training: Mapping[str, object],
              views: Sequence[View]) -> list[str]:
    """How far the figures carry."""
    limits = []
    if not views:
        limits.append(_UNREAD)
    elif any(v.kind != "llm" for v in views):
        limits.append(_LLM_FREE)
    limits += [what_it_sees(training)[1], *_LIMITS]
    if any((r.decisions["alternatives"] > 1).any() for r in results if len(r.decisions)):
        limits.append(_ALTERNATIVES)
    small = [f"{r.name} ({r.questions})" for r in results if r.questions < _SMALL]
    if small:
        limits.append(f"Fewer than {_SMALL} test questions in {', '.join(small)}: read the intervals, not the points.")
    return limits
