"""Self-contained pages from Jinja2 templates: everything is escaped, and equal input gives equal bytes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

# Control characters show nothing, direction characters turn a line around, and lone surrogates are no UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Text whose control and direction characters are replaced by U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", text)


def in_one_line(text: str) -> str:
    """Text in one line, with a space for each control and direction character and for each run of white space."""
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


def _finalize(value: Any) -> Any:
    """What an expression of a template puts into the page, before it is escaped."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def environment(*folders: Path) -> Environment:
    """The templates of some folders; a name is looked up in the first folder first.

    Every value is escaped unless it is ``Markup``. A name that a template does not get is an error.
    """
    return Environment(
        loader=FileSystemLoader([str(f) for f in folders], followlinks=False), autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)


def render_page(template: str, *folders: Path, **values: Any) -> str:
    """A page as text.

    Parameters
    ----------
    template : str
        A file name in one of the folders.
    values
        What the template refers to.
    """
    return environment(*folders).get_template(template).render(**values)


def plural(count: int, noun: str) -> str:
    """A noun with an s unless the count is 1."""
    return noun if count == 1 else f"{noun}s"
