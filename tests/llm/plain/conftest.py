"""The LLM-free roles over the real encoder, made once."""

from __future__ import annotations

import pytest

from canopy.encoder.minilm import MiniLMEncoder
from canopy.llm.plain import plain_roles
from canopy.llm.roles import Roles


@pytest.fixture(scope="session")
def roles(encoder: MiniLMEncoder) -> Roles:
    return plain_roles(encoder)
