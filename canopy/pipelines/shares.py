"""Flat selection at a given share of each item.

The compressor without a hierarchy whose size can be set, to compare at equal length.
"""

from __future__ import annotations

from collections.abc import Mapping

from canopy.config import Answers
from canopy.pipelines.base import Needs, System, SystemSpec
from canopy.pipelines.simple import Selector
from canopy.selection.shares import select_share

DEFAULT_SHARE = 0.3


def _sizes(answers: Answers) -> Mapping[str, System]:
    return {f"budget={b:g}": Selector(answers.k, select_share(b)) for b in answers.budgets}


SYSTEMS = (
    SystemSpec("flat-leaf-share",
               f"the k best items, of each the best leaves, a share of them ({DEFAULT_SHARE} by default)",
               lambda a: Selector(a.k, select_share(DEFAULT_SHARE)), Needs(scorers=("f_theta",)), "", "selection",
               _sizes),
)
