"""Questions that something shipped with canopy was fitted on: the split keeps them in train."""

from __future__ import annotations


def fitted_questions() -> dict[str, frozenset[str]]:
    """The ``canopy.digests.text_sha256`` of each question's text, by the role that was fitted on it."""
    return {}
