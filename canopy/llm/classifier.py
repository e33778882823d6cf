"""The table classifier over a language model.

Does a question need whole tables (aggregate) or rows (lookup)? Asked from the question alone.
"""

from __future__ import annotations

from typing import Literal

from canopy.llm.prompting import load_prompt
from canopy.llm.roles import Chat, Trace
from canopy.llm.structured import Strict, ask_for


class TableKind(Strict):
    """What the classifier replies."""

    kind: Literal["aggregate", "lookup"]


class LanguageClassifier:
    """See `canopy.llm.roles.TableClassifier`."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def is_aggregate(self, question: str, trace: Trace) -> bool:
        """One call, and one more for a repair.

        Lookup (tables are refined as everything else is), counted as a fallback, if no reply can be used.
        """
        reply = ask_for(TableKind, self._chat, "classifier",
                       load_prompt("classifier").messages(question=question.strip()), trace, max_tokens=32)
        return reply is not None and reply.kind == "aggregate"
