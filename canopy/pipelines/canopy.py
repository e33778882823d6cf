"""CANOPY's loop (paper, section 3).

Retrieve, compress each new item by the parent-relative rule, ask the critic, search for what is missing.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from canopy.config import Answers, Options
from canopy.items import Evidence, Question
from canopy.llm.roles import Memory, RegionView, Trace
from canopy.pipelines.base import Needs, Result, Round, Sweep, System, SystemSpec
from canopy.pipelines.compression import keep_whole, regions_of, score_items
from canopy.pipelines.evidence import answer_from, fit_rounds
from canopy.pipelines.tools import Tools
from canopy.scoring.metric import normalise_answer
from canopy.selection.rule import select_rule


@dataclass(slots=True)
class _State:
    """What one question's loop knows: the items in evidence, whether tables stay whole, and what was noted.

    ``aggregate`` is None until the role was asked whether tables stay whole.
    """

    seen: set[str] = field(default_factory=set)
    aggregate: bool | None = None
    rounds: list[Round] = field(default_factory=list)
    memory: Memory | None = None
    notes: Counter[str] = field(default_factory=Counter)


class Canopy:
    """The loop and its ablations.

    Parameters
    ----------
    k, rounds : int
        Items a round retrieves; R, the most rounds (paper: 10 and 3).
    scorer : str
        Which node scores refine: ``f_theta``, or another of the tools' scorers.
    projection : bool
        Whether items are compressed; without it they stay whole (the ablation "without projection").
    routed : bool
        Whether the router first picks the modality corpora to search (the paper's dagger).
    """

    def __init__(self, k: int, rounds: int, options: Options, *, scorer: str = "f_theta", projection: bool = True,
                 routed: bool = False) -> None:
        self.k, self.rounds, self.options = k, rounds, options
        self.scorer, self.projection, self.routed = scorer, projection, routed
        self._choose = select_rule(options)

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer one question.

        The critic is asked after every round but the last, at most R - 1 times; the table classifier at most once, when
        the first table turns up. With the question's items given (corpus scope ``gold``) there is one round.
        """
        state = _State(memory=Memory() if self.options.critic_memory else None)
        available = tools.searcher.modalities
        modalities = tools.roles.router.route(question.question, available, trace) if self.routed else None
        query = question.question
        last = 1 if tools.corpus_scope == "gold" else self.rounds
        for number in range(1, last + 1):
            self._round(question, query, modalities, state, tools, trace)
            if number == last:
                break
            if self.options.min_gain is not None and number > 1 and new_words(state.rounds,
                                                                              tools) < self.options.min_gain:
                state.notes["stopped: little new"] += 1
                break
            verdict = tools.roles.critic.judge(question.question, self._for_critic(question, state, tools, trace),
                                               state.memory, trace)
            if verdict.sufficient:
                break
            if state.memory is not None:
                state.memory.facts += [f for f in verdict.facts if f not in state.memory.facts]
                state.memory.searched.append(verdict.missing or verdict.query)
            query = verdict.query or question.question
        result = answer_from(question, tools, trace, state.rounds, self.options, state.notes)
        return self._check(question, result, tools, trace) if self.options.faithfulness else result

    def _round(self, question: Question, query: str, modalities: tuple[str, ...] | None, state: _State, tools: Tools,
               trace: Trace) -> None:
        hits = tools.find(question.id, query, self.k, trace, modalities=modalities, exclude=state.seen
                          if self.options.exclude_seen else ())
        new = {i: s for i, s in hits if i not in state.seen}
        state.seen.update(new)
        kept = self._compress(question, query, new, state, tools, trace)
        state.rounds.append(Round(query, tuple(i for i, _ in hits), tuple(new), tuple(kept)))

    def _compress(self, question: Question, query: str, new: dict[str, float], state: _State, tools: Tools,
                  trace: Trace) -> list[Evidence]:
        """The new items' kept regions, in retrieval order.

        Refined with this round's query, whole (and scored by their retrieval) if that is the rule.
        """
        if not new:
            return []
        modality = {i: tools.library.item(i).modality for i in new}
        can_be_whole = {"table"} | ({"text", "video"} if self.options.aggregate_all else set())
        if self.projection and state.aggregate is None and can_be_whole & set(modality.values()):
            state.aggregate = tools.roles.classifier.is_aggregate(question.question, trace)
        whole = {i for i in new if not self.projection or (state.aggregate and modality[i] in can_be_whole)}
        refined = [i for i in new if i not in whole]
        regions: dict[str, list[Evidence]] = {i: keep_whole([i], tools, [new[i]]) for i in new if i in whole}
        if refined:
            scored = score_items(refined, query, tools, trace, self.scorer)
            for region in regions_of(scored, self._choose(scored.layout, scored.scores)):
                regions.setdefault(region.item_id, []).append(region)
        return [r for i in new for r in regions[i]]

    def _for_critic(self, question: Question, state: _State, tools: Tools, trace: Trace) -> list[RegionView]:
        """All evidence in retrieval order, under the cap that the reader's is under; what is left out is noted."""
        pairs, _ = fit_rounds(question, tools, state.rounds, self.options)
        if left := sum(len(r.kept) for r in state.rounds) - len(pairs):
            trace.note("regions the critic had no room for", left)
        return [s for _, s in pairs]

    def _check(self, question: Question, result: Result, tools: Tools, trace: Trace) -> Result:
        """Is the answer stated in what was kept? If not, the reader gets the same items whole, once; what then is not
        stated either is noted.

        If all items were whole already, the reader is not called again.
        """
        if is_stated(result):
            return result
        best: dict[str, float] = {}
        for region in (e for r in result.rounds for e in r.kept):
            best[region.item_id] = max(region.score, best.get(region.item_id, region.score))
        if all((e.lo, e.hi) == (0, tools.library.leaves(e.item_id).count) for r in result.rounds for e in r.kept):
            result.notes["unsupported"] = 1
            return result
        whole = [Round(r.query, r.retrieved, r.new, tuple(keep_whole(r.new, tools, [best.get(i, 0.0) for i in r.new])))
                 for r in result.rounds]
        again = answer_from(question, tools, trace, whole, self.options, Counter(result.notes))
        again.notes["reread whole"] = 1
        if not is_stated(again):
            again.notes["unsupported"] = 1
        return again


def is_stated(result: Result) -> bool:
    """Whether the shown words hold the answer after normalising, or each of its parts if it is a list (``"; "``
    between them).

    Verdicts (yes, no, an option's letter) and empty answers are not looked for.
    """
    texts = [f" {normalise_answer(s.words())} " for s in result.views]
    parts = [normalise_answer(p) for p in result.answer.split(";")]
    return all(part in ("", "yes", "no") or len(part) == 1 or any(f" {part} " in words for words in texts)
               for part in parts)


def new_words(rounds: list[Round], tools: Tools) -> float:
    """Information gain of the last round: the share of all kept words that it alone keeps, 0 if it kept none.

    Not a share of the round's own words: items already in evidence are not kept again, so that nearly all of those are
    new however few they are. A region without words (a picture, a silent film) is one word of its own.
    """
    def words(kept: tuple[Evidence, ...]) -> set[str]:
        return {w for r in kept for w in re.findall(r"\w{3,}", tools.library.show(r).text.lower())
                or [f"{r.item_id}:{r.lo}-{r.hi}"]}

    now = words(rounds[-1].kept)
    before = set().union(*(words(r.kept) for r in rounds[:-1]))
    return len(now - before) / len(now | before) if now else 0.0


def _spec(name: str, says: str, paper: str = "", *, main: int | None = None, component: bool = False,
          searcher: bool = False,
          sweeps: tuple[Sweep, ...] = (), rounds: int | None = None, scorer: str = "f_theta", projection: bool = True,
          routed: bool = False, **options: Any) -> SystemSpec:
    def make(answers: Answers, scorer: str = scorer) -> System:
        changed = answers.options.model_copy(update=options)
        return Canopy(answers.k, rounds or answers.rounds, changed, scorer=scorer, projection=projection, routed=routed)

    family = "ablation" if main is None else "main"
    return SystemSpec(name, says, make, Needs(scorers=(scorer,)), paper, family, rescored=make, main=main,
                      component=component,
                      searcher=searcher, sweeps=sweeps)


_ALL_SWEEPS: tuple[Sweep, ...] = ("k", "rounds", "branching")


SYSTEMS = (
    _spec("canopy", "the paper's loop: retrieve, refine by the parent-relative rule, critic, follow-up", "CANOPY",
          main=5, component=True, sweeps=_ALL_SWEEPS),
    _spec("canopy-lookahead", "the loop with our rule that looks ahead: a child qualifies by its best descendant",
          main=6, sweeps=_ALL_SWEEPS, rule="lookahead", flat_global=False),
    _spec("canopy-routed", "a router first picks the modality corpora to search", "CANOPY routed",
          main=7, searcher=True, routed=True),
    _spec("canopy-no-projection", "the loop with whole items: no compression", "w/o projection", component=True,
          projection=False),
    _spec("canopy-no-iteration", "one round", "w/o iteration", component=True, searcher=True, rounds=1),
    _spec("canopy-f0", "refined with the frozen encoder's scores", "w/ f0", component=True, scorer="f0"),
    _spec("canopy-exclude-seen", "follow-ups leave out, inside the search, what is already in evidence", searcher=True,
          exclude_seen=True),
    _spec("canopy-min-gain", "stops when a round added less than a fifth of the evidence's words", searcher=True,
          min_gain=0.2),
    _spec("canopy-keep-margin", "an item stays whole where no region scores 0.02 above it", keep_margin=0.02),
    _spec("canopy-aggregate-all", "aggregate questions keep texts and videos whole too, not tables alone",
          aggregate_all=True),
    _spec("canopy-flat-global", "all new items' leaves as one list, each kept if it scores at least its parent",
          flat_global=True, rule="parent"),
    _spec("canopy-per-modality", "an adapter of its own for every modality", scorer="f_theta_per_modality"),
    _spec("canopy-frame-density", "kept video regions get frames by their score", frame_density=True),
    _spec("canopy-critic-memory", "the critic also reads the facts known and the gaps already searched",
          searcher=True, critic_memory=True),
    _spec("canopy-order-score", "evidence ordered by score, best first", order="score"),
    _spec("canopy-order-best-last", "evidence ordered by score, best last", order="best_last"),
    _spec("canopy-faithfulness", "an answer that the kept regions do not state is read again from the whole items",
          faithfulness=True),
)
