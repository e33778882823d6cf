"""Figure 6: scores by level of the hierarchy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from canopy.evaluation.metrics import DEPTH_QUANTILES
from canopy.evaluation.systems import TUNED
from canopy.report.drawing import GOLD_COLOR, INK, OTHER, figure_of, file_name, svg_of
from canopy.report.model import Figure, Section, section
from canopy.report.quotations import quote
from canopy.report.results import Results

PLACES = ("Figure 6",)
TEXT = ("A node is explored when it scores at least what its parent does. Gold nodes should rise above the root and "
        "others fall below it, "
        "more so the deeper they lie. Located gold only; levels with fewer than 5 nodes are left out.")
_FEWEST = 5  # nodes of a level


def levels_section(results: Sequence[Results]) -> Section:
    """A figure a benchmark."""
    figures = [Figure(file_name("levels", r.name), r.name, "median and middle half of s(v) − s(root).", levels_plot(r))
               for r in results if len(r.levels)]
    return section("levels", "Scores by level", [TEXT], [], figures, places=PLACES, quotation=quote(*PLACES))


def levels_plot(results: Results) -> str:
    """Root-relative scores s(v) - s(root) by depth, of gold and of other nodes: median and middle half."""
    low, middle, high = (DEPTH_QUANTILES.index(q) for q in (0.25, 0.5, 0.75))
    systems = (results.better, TUNED)
    levels = results.levels
    levels = levels[(levels["modality"] == "all") & (levels["n"] >= _FEWEST) & levels["system"].isin(systems)]
    with figure_of(5.2, 3.2, nrows=1, ncols=2, sharey=True) as (figure, axes):
        for ax, system in zip(axes, systems, strict=True):
            ax.axhline(0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
            for gold, color, label, marker in ((True, GOLD_COLOR, "gold", "o"), (False, OTHER, "other", "s")):
                part = levels[(levels["system"] == system) & (levels["gold"] == gold)].sort_values("depth")
                if part.empty:
                    continue
                q = np.array(part["quantiles"].tolist())
                depth = part["depth"].to_numpy()
                ax.fill_between(depth, q[:, low], q[:, high], color=color, alpha=0.22, linewidth=0)
                ax.plot(depth, q[:, middle], marker=marker, color=color, linewidth=2, markersize=5, label=label)
            ax.set_title(system)
            ax.set_xlabel("level below the root")
            depths = sorted(set(levels["depth"].tolist()))
            ax.set_xticks(depths if len(depths) < 10 else depths[::2])
        axes[0].set_ylabel("s(v) − s(root)")
        handles = dict(zip(*reversed(axes[1].get_legend_handles_labels()), strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside upper right", ncols=2)
        return svg_of(figure, file_name("levels", results.name))
