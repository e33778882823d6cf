"""The tiny corpus with roles over a scripted server, made once a session."""

from __future__ import annotations

import pytest

from tests.pipelines.served import Shelf
from tests.tiny_tools import Corpus, corpus  # noqa: F401


@pytest.fixture(scope="session")
def shelf(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Shelf:  # noqa: F811
    """Systems by name; baselines' models are made when they are first asked for."""
    return Shelf(corpus, tmp_path_factory.mktemp("models"))
