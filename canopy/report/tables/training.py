"""The training curve of f_theta."""

from __future__ import annotations

import numpy as np
import pandas as pd

from canopy.report.drawing import F0, F_THETA, figure_of, svg_of
from canopy.report.model import Figure, Section, section


def training_section(curve: pd.DataFrame | None) -> Section:
    """The curve, or that there is none."""
    if curve is None or not len(curve):
        return section("training", "Training", ["No training curve was written."])
    caption = "Preference loss of f_theta's training."
    return section("training", "Training", [], [], [Figure("training", "", caption, training_plot(curve))])


def training_plot(curve: pd.DataFrame) -> str:
    """The preference loss at each step, and its running mean."""
    with figure_of(5.2, 2.9) as (figure, ax):
        step, loss = curve["step"].to_numpy(), curve["loss"].to_numpy(dtype=np.float64)
        window = max(1, len(loss) // 20)
        total = np.concatenate([[0.0], np.cumsum(loss)])
        end = np.arange(1, len(loss) + 1)
        start = np.maximum(0, end - window)
        ax.plot(step, loss, color=F0, linewidth=0.8, alpha=0.55, label="batch")
        ax.plot(step, (total[end] - total[start]) / (end - start), color=F_THETA, linewidth=2.2,
                label=f"mean of the last {window}")
        ax.set_ylim(bottom=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("step")
        ax.set_ylabel("preference loss")
        figure.legend(loc="outside upper right", ncols=2)
        return svg_of(figure, "training")
