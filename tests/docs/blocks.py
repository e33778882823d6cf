"""The code blocks of the documents: what stands in them, and the mark above a block that cannot run here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# A block may stay unrun for these reasons alone.
REASONS = ("needs a GPU", "needs a server", ".ci/run runs it")
_BLOCK = re.compile(r"(?:^<!-- not run here: (?P<reason>.*?) -->\n)?^```(?P<language>[\w-]*)\n(?P<code>.*?)^```$",
                    re.M | re.S)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page; ``reason`` says why it cannot run here, empty if it can."""

    page: str
    line: int
    language: str
    code: str
    reason: str

    @property
    def name(self) -> str:
        """Page and line."""
        return f"{self.page}:{self.line}"


def read_blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    name = str(page.relative_to(ROOT))
    return [Block(name, text.count("\n", 0, m.start("code")), m["language"], m["code"], m["reason"] or "")
            for m in _BLOCK.finditer(text)]


BLOCKS = [b for page in PAGES for b in read_blocks(page)]
