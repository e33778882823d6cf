"""The roles without a language model, for machines without a server: an extractive reader, an entity-coverage critic,
centroid classifier and router.

They run wherever the default encoder runs, need no server, and give the same answer every time. They are no match for a
language model, and every result made with them says so (``Roles.label``). They make no calls, so that ``Trace.calls``
stays empty; what did not go as it should is counted in ``Trace.notes`` under names that begin with ``plain``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from canopy.llm.roles import Roles

if TYPE_CHECKING:
    from canopy.encoder.base import NodeEncoder

_SHORT = {"all-MiniLM-L6-v2": "MiniLM"}


def plain_roles(encoder: NodeEncoder) -> Roles:
    """The LLM-free roles over an encoder, of which only the frozen query side (f0) and the token counts are used."""
    from canopy.llm.plain.centroids import CentroidClassifier, CentroidRouter
    from canopy.llm.plain.critic import EvidenceCritic
    from canopy.llm.plain.reader import ExtractiveReader
    from canopy.llm.plain.sentences import Likeness

    likeness = Likeness(encoder.encode_queries)
    return Roles(EvidenceCritic(likeness), CentroidClassifier(likeness), CentroidRouter(likeness),
                 ExtractiveReader(likeness, encoder.count_tokens),
                 f"LLM-free (extractive reader, {_SHORT.get(encoder.name, encoder.name)})", "plain")
