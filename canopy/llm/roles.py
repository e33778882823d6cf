"""What a language model does here, as interfaces: critic, table-question classifier, modality router and reader; and
their account.

Each role has two implementations: over an OpenAI-compatible server (``canopy.llm``) and without any language model
(``canopy.llm.plain``). Pipelines know only these interfaces, so that every system runs with either; ``Roles.label``
names what ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from canopy.items import Question


def encodable(text: str) -> str:
    """Text that UTF-8, and so a file or a tokenizer, can hold.

    A model may write half a surrogate pair, which becomes a question mark.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class RegionView:
    """One kept region as a role sees it.

    Parameters
    ----------
    item_id, modality, title : of the item
    lo, hi : int
        Fragments ``[lo, hi)`` of the item's hierarchy.
    text : str
        The region's words (`canopy.encoder.words.region_text`), or what a compressor made of them.
    score : float
        s(q, v) if a pipeline scored it, otherwise 0.
    media : str
        Absolute path of the image or video file, empty if there is none.
    span : tuple of float
        What the region covers in the item's own unit (characters, rows, seconds).
    times : tuple of float
        Seconds of the frames to show of a video region.
    """

    item_id: str
    modality: str
    title: str
    lo: int
    hi: int
    text: str
    score: float = 0.0
    media: str = ""
    span: tuple[float, float] = (0.0, 0.0)
    times: tuple[float, ...] = ()

    def words(self) -> str:
        """The region as a reader is given it: its item's title, unless its text begins with it, then the text."""
        title = self.title.strip()
        return (
            self.text if not title or self.text.startswith(title) else f"{title}: {self.text}" if self.text else title
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a role. ``cached``: answered from the response cache; ``fallback``: why its reply could not be used,
    empty if it could.

    ``seconds``: of the server's reply, retries included, waiting for a free place not; a cached reply's are those it
    took when it was asked for, so that a resumed run's latencies, and those of systems that ask the same, stay
    comparable. A repair of a critic's reply is a call of the role ``critic_repair``.
    """

    role: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cached: bool = False
    fallback: str = ""


@dataclass(slots=True)
class Trace:
    """What answering one question took: every call of a language model, and seconds by activity (kept out of hashed
    outputs).

    ``notes`` counts what roles met that was not as it should be (a picture that could not be shown, evidence the critic
    had no room for).
    """

    calls: list[Call] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)

    def count(self, role: str = "") -> int:
        """Calls of one role, or of all; cached ones count, since the protocol made them."""
        return sum(not role or c.role == role for c in self.calls)

    def spend(self, activity: str, seconds: float) -> None:
        """Add time to an activity: ``search``, ``encode``, ``refine``, ``llm``."""
        self.seconds[activity] = self.seconds.get(activity, 0.0) + seconds

    def note(self, what: str, times: int = 1) -> None:
        """Count something that was not as it should be."""
        self.notes[what] = self.notes.get(what, 0) + times

    def fall_back(self, why: str) -> None:
        """The last call's reply could not be used: say why."""
        self.calls[-1] = replace(self.calls[-1], fallback=why)


@dataclass(slots=True)
class Memory:
    """What the critic carries from round to round if that option is on.

    Facts known so far and gaps already searched for.
    """

    facts: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The critic's judgement: enough evidence, or what is missing and the query that should find it."""

    sufficient: bool
    missing: str = ""
    query: str = ""
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The reader's answer; ``raw`` is what the model wrote."""

    text: str
    raw: str = ""


class Critic(Protocol):
    """Judges whether the evidence answers the original question; called between rounds, never after the last."""

    def judge(self, question: str, evidence: Sequence[RegionView], memory: Memory | None, trace: Trace) -> Verdict:
        """A verdict on the evidence.

        If no judgement can be had, sufficient (the reader then answers), counted as a fallback.
        """
        ...


class TableClassifier(Protocol):
    """Tells aggregate table questions (tables stay whole) from lookups, from the question alone."""

    def is_aggregate(self, question: str, trace: Trace) -> bool:
        """Whether the question needs whole tables."""
        ...


class Router(Protocol):
    """Picks the modality corpora to search."""

    def route(self, question: str, available: Sequence[str], trace: Trace) -> tuple[str, ...]:
        """One or more of ``available``; all of them if no choice can be had, counted as a fallback."""
        ...


class Reader(Protocol):
    """Answers from evidence. ``sees_media``: images and frames reach it as image parts."""

    name: str
    sees_media: bool

    def read(self, question: Question, evidence: Sequence[RegionView], trace: Trace) -> Reply:
        """A short answer, or an option's letter if the question has options (`Question.details`)."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Length of each text in the reader's own tokens."""
        ...


class Chat(Protocol):
    """A chat model for whatever a system's own protocol asks (a reasoning sentence, a summary, a judgement)."""

    model: str

    def complete(self, role: str, messages: Sequence[Mapping[str, Any]], trace: Trace, *, max_tokens: int = 256,
                 stop: Sequence[str] = (),
                 schema: Mapping[str, Any] | None = None) -> str:
        """The reply's text, recorded in the trace under ``role``.

        Raises
        ------
        canopy.errors.ServerError
            If the server cannot be reached or refuses after all retries.
        """
        ...


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of one run. ``label`` is printed with every result; ``chat`` is None without a server."""

    critic: Critic
    classifier: TableClassifier
    router: Router
    reader: Reader
    label: str
    kind: Literal["llm", "plain"] = "plain"
    chat: Chat | None = None
