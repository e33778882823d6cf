"""Questions that something shipped with canopy was fitted on: the split keeps them in train.

``fitted.json`` holds their digests, since their texts belong to their benchmarks. ``python bench/fitted_digests.py``
writes it from release files; ``docs/fitted.md`` says what was fitted on what.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources

FILE = "fitted.json"


@lru_cache(maxsize=1)
def fitted_questions() -> dict[str, frozenset[str]]:
    """The ``canopy.digests.text_sha256`` of each question's text, by the role that was fitted on it."""
    roles = json.loads(resources.files(__package__).joinpath(FILE).read_text("utf-8"))
    return {role: frozenset(digests) for role, digests in roles.items()}
