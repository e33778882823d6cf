"""Fixtures of the orchestration tests."""

from __future__ import annotations

from orchestration.machine.environment import prepare_environment
from tests.orchestration.fixtures import project

__all__ = ["project"]

prepare_environment()
