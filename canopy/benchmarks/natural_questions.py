"""Natural Questions (CC BY-SA 3.0, ai.google.com/research/NaturalQuestions) in its four published forms.

Pages, simplified or in full: every top-level long-answer candidate is an item; gold is what the short answer's tokens
overlap, otherwise the long answer. Oracle passages (lost-in-the-middle, MIT): the passage is an item; gold is where it
holds the annotated short answers, every such place, since that release gives them as text only. NQ-open: question and
answers, no evidence.

One question can stand in several of these files. The richest form is kept, in the order above; of the others only the
further answers are added (and passages that are not gold), and their records count as mapped with a fallback that says
so. Annotators who disagree are alternatives, any of whom suffices. Those with a short answer are taken before those
with a long one alone; all their short answers are accepted. Yes or no is the answer only if nobody gave a short one;
the majority decides.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path
from typing import Any

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.nq_pages import Page, Passage, candidates, passages, read_page, span_of
from canopy.benchmarks.reading.records import (
    BLIND,
    HELD_OUT,
    Record,
    distinct_files,
    given_id,
    list_of,
    object_of,
    strings_of,
)
from canopy.benchmarks.reading.release import require_files
from canopy.gold.expected import Expected
from canopy.ingest.fields import item_id, occurrences, text_of
from canopy.ingest.files import iterate_jsonl
from canopy.ingest.sink import Draft, Sink, Unusable
from canopy.items import Annotation, Item, Question

_GOOGLE, _OPEN = (
    "https://storage.googleapis.com/natural_questions",
    "https://raw.githubusercontent.com/google-research-datasets/natural-questions/master/nq_open",
)
_MIDDLE = "https://raw.githubusercontent.com/nelson-liu/lost-in-the-middle/main/qa_data"
BENCHMARK = Benchmark(
    title="Natural Questions",
    licence="CC BY-SA 3.0 (oracle passages: MIT)",
    home="https://ai.google.com/research/NaturalQuestions",
    files=(
        ReleaseFile("simplified", ("*simplified-nq-*.jsonl*", "v1.0-simplified*.jsonl*"),
                    "pages as text with HTML tokens (train; made from dev with the publisher's script)",
                    f"{_GOOGLE}/v1.0-simplified/simplified-nq-train.jsonl.gz"),
        ReleaseFile("dev", ("*nq-dev-*.jsonl*",), "7,830 development pages with five annotations each, in full",
                    f"{_GOOGLE}/v1.0-simplified/nq-dev-all.jsonl.gz"),
        ReleaseFile("train", ("*nq-train-*.jsonl*",),
                    "307,373 training pages in full, in 50 parts (42 GB; the address is the first one's)",
                    f"{_GOOGLE}/v1.0/train/nq-train-00.jsonl.gz"),
        ReleaseFile("sample", ("v1.0[-_]sample*.jsonl*",), "a sample of either"),
        ReleaseFile("oracle", ("nq-open-oracle*.jsonl*",), "2,655 NQ-open questions with the gold passage",
                    f"{_MIDDLE}/nq-open-oracle.jsonl.gz"),
        ReleaseFile("documents", ("nq-open-*_total_documents*.jsonl*",), "the same with 9 to 29 further passages each"),
        ReleaseFile("open_dev", ("NQ-open.dev*.jsonl*",), "3,610 questions with answers, no evidence",
                    f"{_OPEN}/NQ-open.dev.jsonl"),
        ReleaseFile("open_train", ("NQ-open.train*.jsonl*",), "87,925 questions with answers, no evidence",
                    f"{_OPEN}/NQ-open.train.jsonl"),
        ReleaseFile("efficientqa_dev", ("NQ-open.efficientqa.dev*.jsonl*",), "1,800 questions of EfficientQA",
                    f"{_OPEN}/NQ-open.efficientqa.dev.1.1.jsonl"),
        ReleaseFile("efficientqa_test", ("NQ-open.efficientqa.test*.jsonl*",), "1,800 test questions of EfficientQA",
                    f"{_OPEN}/NQ-open.efficientqa.test.1.1.jsonl"),
    ),
    needs=(("oracle", "simplified", "dev", "train", "sample", "documents", "open_dev", "open_train", "efficientqa_dev",
            "efficientqa_test"),),
    aliases=("nq", "nq_open", "naturalquestions"),
    layout="natural-questions/\n  simplified-nq-train.jsonl.gz, nq-dev-*.jsonl.gz (pages)\n  "
           "qa_data/nq-open-oracle.jsonl.gz (passages)\n"
           "  nq_open/NQ-open.dev.jsonl (questions alone)\nAny one of them is enough.",
    metric="natural_questions",
    paper_name="NQ",
    expected=(
        Expected("dev questions", 7_830, "the release", split="dev"),
        Expected("dev questions whose gold is located", 3_563, "the paper", "located questions", "dev"),
    ),
    fold="redirects",
)
PAGES, PASSAGES = ("simplified", "dev", "train", "sample"), ("oracle", "documents")
OPEN = ("open_train", "open_dev", "efficientqa_dev", "efficientqa_test")


@dataclasses.dataclass(frozen=True, slots=True)
class EarlierQuestion:
    """A question that was kept: its id, the file it came from, and whether it has gold."""

    id: str
    file: str
    gold: bool


def read(raw: Path, sink: Sink) -> None:
    """Read every form under ``raw``, the richest first. DataError if there is none, or a file is broken."""
    files = require_files(raw, BENCHMARK)
    known: dict[str, EarlierQuestion] = {}  # by the question's words and by its id
    for roles, mapper in ((PAGES, map_page), (PASSAGES, map_passages), (OPEN, map_open)):
        for path in distinct_files((p for role in roles for p in files[role]), sink):
            for place, record in iterate_jsonl(path, sink):
                name = given_id(record, "example_id", "id") or place
                with sink.record(path, name) as draft:
                    mapper(object_of(record), name, split_of(path.name), sink, known, draft)
                remember(known, path.name, sink, draft)


def remember(known: dict[str, EarlierQuestion], file: str, sink: Sink, draft: Draft) -> None:
    """Note what a record that was kept says of its question: that it is there, or that it has gold now."""
    for q in draft.questions:
        if sink.questions.get(q.id) is q:
            new = known[q.id] = EarlierQuestion(q.id, file, bool(draft.annotations))
            if new.gold or same(q.question) not in known:
                known[same(q.question)] = new
    if draft.annotations and not draft.questions and sink.annotations[-1:] == draft.annotations[-1:]:
        qid = draft.annotations[0].question_id
        known[qid] = known[same(sink.questions[qid].question)] = EarlierQuestion(qid, file, True)


def split_of(name: str) -> str:
    """The split that a file's name says; NQ-open's oracle passages are questions of the development set."""
    return next((s for s in ("train", "dev", "test") if re.search(rf"(?<![a-z]){s}(?![a-z])", name.lower())), "dev"
                if "open-" in name else "")


def same(question: str) -> str:
    """What one question has in common in all files: its words, ignoring case and everything between them."""
    return " ".join(re.findall(r"\w+", question.casefold())) or question


def fold(earlier: EarlierQuestion, answers: tuple[str, ...], sink: Sink, draft: Draft) -> None:
    """Note that a record's question was read already, and accept its further answers there."""
    outcome = (
        ": its evidence is used"
        if earlier.gold
        else ", which has no evidence: this one's is used"
        if draft.annotations
        else ""
    )
    draft.fallbacks.append(f"same question as in {earlier.file}{outcome}")
    question = sink.questions[earlier.id]
    sink.questions[earlier.id] = dataclasses.replace(question, answers=tuple(dict.fromkeys((*question.answers,
                                                                                            *answers))),
                                                  type="short answer" if draft.annotations else question.type)


def ask(qid: str, question: str, answers: tuple[str, ...], kind: str, split: str, gold: list[Annotation],
        benchmark: str, draft: Draft) -> None:
    """Add a question with its gold; a test question has a split of its own."""
    if split == "test":
        split = HELD_OUT if answers or gold else BLIND
    draft.questions.append(Question(qid, benchmark, question, answers, kind, split))
    draft.annotations.extend(gold)


def map_page(record: Record, name: str, split: str, sink: Sink, known: dict[str, EarlierQuestion],
             draft: Draft) -> None:
    """A page with its annotations, in either form."""
    question = text_of(record["question_text"], "question_text").strip()
    own_id = given_id(record, "example_id", "id")
    qid = f"{sink.benchmark}/{text_of(own_id, 'example_id')}" if own_id else item_id(sink.benchmark, question,
                                                                                     str(record.get("document_url")))
    earlier = known.get(qid)
    if earlier and same(sink.questions[qid].question) == same(question):
        return fold(earlier, (), sink, draft)
    page = read_page(record)
    spans, outside = candidates(record, page)
    parts = passages(page, spans, sink.benchmark, name)
    if outside:
        draft.fallbacks.append("a long-answer candidate outside the page left out")
    answers, kind, gold = read_annotations(list_of(record.get("annotations"), "annotations"), page, parts, qid,
                                           sink.benchmark, name, draft)
    draft.items.extend({p.item.id: p.item for p in parts}.values())
    ask(qid, question, answers, kind, split, gold, sink.benchmark, draft)


def read_annotations(annotations: list[Any], page: Page, parts: list[Passage], qid: str, benchmark: str, source: str,
                     draft: Draft) -> tuple[tuple[str, ...], str, list[Annotation]]:
    """Answers, kind of answer and gold of all annotators; a long answer that no passage holds is added to ``parts``."""
    opinions, wrong = [], []
    for a in annotations:
        try:
            opinions.append(opinion(a, len(page.words)))
        except Unusable as e:
            wrong.append(str(e))
    if wrong and not opinions:
        raise Unusable(wrong[0])
    if wrong:
        draft.fallbacks.append("an annotation outside the page left out")
    longs = [(long, shorts) for long, shorts, _ in opinions if long]
    if not longs:
        draft.fallbacks.append("no long answer: question without gold" if opinions
                               else "no annotations: question without gold")
        return (), "no answer" if opinions else "", []
    answers = tuple(dict.fromkeys(t for _, shorts in longs for s in shorts if (t := page.text(*s))))
    votes = Counter(v for _, _, v in opinions if v)
    kind = "short answer" if answers else "yes/no" if votes else "long answer"
    groups: list[list[Annotation]] = []
    for long, shorts in longs:
        if not answers or any(page.text(*s) for s in shorts):
            evidence = locate(long, shorts if answers else [], len(groups), page, parts, qid, benchmark, source, draft)
            if [dataclasses.replace(e, group=0) for e in evidence] not in [[dataclasses.replace(e, group=0) for e in g]
                                                                           for g in groups]:
                groups.append(evidence)
    return answers or tuple(v for v, _ in votes.most_common(1)), kind, [a for g in groups for a in g]


def opinion(annotation: Any, length: int) -> tuple[tuple[int, int] | None, list[tuple[int, int]], str]:
    """One annotator's long answer, short answers, and "yes", "no" or ""."""
    annotation = object_of(annotation, "an annotation")
    long = span_of(annotation["long_answer"], length, "a long answer")
    shorts = [span_of(s, length, "a short answer") for s in list_of(annotation.get("short_answers"), "short_answers")]
    vote = text_of(annotation.get("yes_no_answer") or "NONE", "yes_no_answer").lower()
    return long, [s for s in shorts if s], vote if vote in ("yes", "no") else ""


def locate(long: tuple[int, int], shorts: list[tuple[int, int]], group: int, page: Page, pieces: list[Passage],
           qid: str, benchmark: str,
           source: str, draft: Draft) -> list[Annotation]:
    """One annotator's gold.

    What the short answers overlap, otherwise the long answer, as part of its item or the item whole.
    """
    evidence = [a for p in pieces if shorts and (a := p.gold(qid, shorts, group))]
    if evidence:
        return evidence
    if shorts:
        draft.fallbacks.append("no passage or row holds the short answer: the long answer is gold")
    holding = [p for p in pieces if p.start < long[1] and long[0] < p.end]
    if not holding:
        holding = passages(page, [long], benchmark, source)
        pieces += holding
        if not holding:
            raise Unusable("the long answer has no words")
        draft.fallbacks.append("the long answer lies in no top-level candidate: made a passage of its own")
    parts = [a for p in holding if not long[0] <= p.start < p.end <= long[1] and (a := p.gold(qid, [long], group))]
    if parts:
        return parts
    if not shorts:
        draft.fallbacks.append("no short answer: the long answer is gold whole")
    return [Annotation(qid, p.item.id, "item", (), group) for p in holding]


def map_passages(record: Record, name: str, split: str, sink: Sink, known: dict[str, EarlierQuestion],
                 draft: Draft) -> None:
    """A question with passages, the gold one marked: where it holds the short answers is gold, otherwise the whole of
    it.

    Passages can begin or end in the middle of a sentence and differ from ``long_answer`` in spacing; ``short_answers``
    and ``answers`` differ in order and number, and neither is always in the passage.
    """
    question = text_of(record["question"], "question").strip()
    answers = strings_of(record.get("answers"), "answers")
    shorts = strings_of(object_of(record.get("nq_annotated_gold") or {}, "nq_annotated_gold").get("short_answers"),
                        "short_answers")
    earlier, gold = known.get(same(question)), []
    qid = earlier.id if earlier else item_id(sink.benchmark, question)
    for context in list_of(record.get("ctxs"), "ctxs"):
        text, title = text_of(object_of(context, "a passage")["text"], "a passage",
                              empty=True), text_of(context.get("title") or "", "title", empty=True).strip()
        is_gold = context.get("isgold") is True
        if text.strip() and not (is_gold and earlier and earlier.gold):
            item = Item(item_id(sink.benchmark, title, text), sink.benchmark, "text", title=title, text=text,
                        source=name)
            draft.items.append(item)
            gold += [item] if is_gold else []
    located = [in_passage(qid, item, shorts, answers, group, draft) for group,
               item in enumerate({i.id: i for i in gold}.values())]
    if earlier:
        draft.annotations.extend(located)
        return fold(earlier, answers, sink, draft)
    if not located:
        draft.fallbacks.append("no passage is marked as gold: question without gold")
    ask(qid, question, answers or shorts, "short answer" if answers or shorts else "", split, located, sink.benchmark,
        draft)


def in_passage(qid: str, item: Item, shorts: tuple[str, ...], answers: tuple[str, ...], group: int,
               draft: Draft) -> Annotation:
    """Where a gold passage holds the short answers; the accepted answers are tried if it holds none of them."""
    places = [occurrences(a, item.text) for a in shorts]
    spans = [s for group_spans in places for s in group_spans]
    if spans and not all(places):
        draft.fallbacks.append("the passage does not hold all short answers: those it holds are gold")
    if not spans:
        spans = [s for a in answers for s in occurrences(a, item.text)]
        draft.fallbacks.append("the passage does not hold the short answer: "
                               + ("another accepted answer is gold" if spans else "gold whole"))
    if not spans:
        return Annotation(qid, item.id, "item", (), group)
    return Annotation(qid, item.id, "chars", tuple((float(a), float(b)) for a, b in dict.fromkeys(spans)), group)


def map_open(record: Record, name: str, split: str, sink: Sink, known: dict[str, EarlierQuestion],
             draft: Draft) -> None:
    """A question of NQ-open with its answers; there is no evidence for it."""
    question = text_of(record["question"], "question").strip()
    answers = strings_of(record.get("answer"), "answer")
    earlier = known.get(same(question))
    if earlier:
        return fold(earlier, answers, sink, draft)
    draft.fallbacks.append("no evidence in this file: question without gold")
    ask(item_id(sink.benchmark, question), question, answers, "", split, [], sink.benchmark, draft)
