"""What a selector is: a function from a layout and its node scores to the nodes that are kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from canopy.selection.layout import Layout

Select = Callable[[Layout, np.ndarray], np.ndarray]
