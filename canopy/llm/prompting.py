"""Prompts are files (``prompts/<name>.md``) with a version and two texts.

A file has a line ``version: N``, then ``# system`` and ``# user`` with their texts, whose ``{names}`` are filled in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from canopy.digests import text_sha256

FOLDER = Path(__file__).parent / "prompts"
Part = Mapping[str, Any]
Value = str | Sequence["str | Part"]
_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. ``digest`` names its text, so that results say which wording they were made with."""

    name: str
    version: str
    system: str
    user: str
    digest: str

    @property
    def places(self) -> frozenset[str]:
        """Names to give values for."""
        return frozenset(_PLACE.findall(self.user))

    def messages(self, **values: Value) -> list[dict[str, Any]]:
        """Chat messages with every ``{name}`` replaced, once: braces inside values stay as they are.

        Parameters
        ----------
        values : str or sequence of str and parts
            What stands at each place; parts (images) are mappings in the form of the chat API.

        Returns
        -------
        list of dict
            The user message's content is one text if no part is in it, otherwise a list of texts and parts.

        Raises
        ------
        KeyError
            If the prompt has a name that no value is given for.
        ValueError
            If a value is given that the prompt has no name for.
        """
        if unknown := set(values) - self.places:
            raise ValueError(f"prompt {self.name} has no place for {', '.join(sorted(unknown))}")
        content: list[str | Part] = []
        for n, piece in enumerate(_PLACE.split(self.user)):
            value: Value = values[piece] if n % 2 else piece
            for part in [value] if isinstance(value, str) else value:
                if isinstance(part, str) and content and isinstance(content[-1], str):
                    content[-1] += part
                else:
                    content.append(part)
        only_words = len(content) == 1 and isinstance(content[0], str)
        user = content[0] if only_words else [{"type": "text", "text": c} if isinstance(c, str) else dict(c)
                                              for c in content if c != ""]
        return ([{"role": "system", "content": self.system}] if self.system
                else []) + [{"role": "user", "content": user}]


def prompt_names() -> list[str]:
    """Names of all prompts."""
    return sorted(p.stem for p in FOLDER.glob("*.md"))


@cache
def load_prompt(name: str) -> Prompt:
    """A prompt by its name; ValueError if its file is not of the form above."""
    return parse_prompt(name, (FOLDER / f"{name}.md").read_text("utf-8"))


def parse_prompt(name: str, raw: str) -> Prompt:
    """A prompt out of its file's text; ValueError if that is not of the form above."""
    header, _, rest = raw.partition("\n")
    version = re.fullmatch(r"version: (\d+)", header.strip())
    parts = dict(re.findall(r"^# (system|user)\n(.*?)(?=^# (?:system|user)\n|\Z)", rest, re.S | re.M))
    if version is None or not parts.get("user", "").strip():
        raise ValueError(f"prompt {name}: it must begin with a line 'version: N' and have a section '# user' with "
                         "words in it")
    return Prompt(name, version[1], parts.get("system", "").strip(), parts["user"].strip(), text_sha256(raw))


def prompts_digest() -> str:
    """SHA-256 over all prompts, by name."""
    return text_sha256("".join(f"{n}:{load_prompt(n).digest}" for n in prompt_names()))
