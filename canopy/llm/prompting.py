"""Prompts are files: one Markdown file a prompt, with its version, a system part and a user part whose ``{names}`` are filled in."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. ``digest`` names its text, so that results say which wording they were made with."""

    name: str
    version: str
    system: str
    user: str
    digest: str

    def messages(self, **values: str) -> list[dict[str, str]]:
        """Chat messages with every ``{name}`` replaced, once: braces inside values stay as they are.

        Raises
        ------
        KeyError
            Where the prompt has a name that no value is given for.
        """
        filled = re.sub(r"\{([a-z_]+)\}", lambda m: values[m.group(1)], self.user)
        return ([{"role": "system", "content": self.system}] if self.system else []) + [{"role": "user", "content": filled}]


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt ``prompts/<name>.md``: a line ``version: N``, then ``# system`` and ``# user`` with their texts."""
    raw = (FOLDER / f"{name}.md").read_text("utf-8")
    version, _, rest = raw.partition("\n")
    parts = dict(re.findall(r"^# (system|user)\n(.*?)(?=^# (?:system|user)\n|\Z)", rest, re.S | re.M))
    return Prompt(name, version.removeprefix("version:").strip(), parts.get("system", "").strip(), parts["user"].strip(),
                  hashlib.sha256(raw.encode()).hexdigest())


def prompts_digest() -> str:
    """SHA-256 over all prompts, by name."""
    return hashlib.sha256("".join(f"{p.stem}:{load_prompt(p.stem).digest}" for p in sorted(FOLDER.glob("*.md"))).encode()).hexdigest()
