"""`canopy sweep`: run the pipeline for every value of a parameter, and compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.shared import (
    Systems,
    Workspace,
    open_workspace,
    orchestrator_of,
    print_whole,
    say,
    split_names,
    stoppable,
)

if TYPE_CHECKING:
    from rich.table import Table

    from canopy.report.model import Table as Comparison


def sweep(
    context: typer.Context,
    assignments: Annotated[list[str], typer.Argument(
        metavar="KEY=V1,V2...", help="A parameter and its values; several give every combination.")],
    systems: Systems = "",
    workspace: Workspace = None,
) -> None:
    """Run the pipeline once for every value of a parameter, and lay the results side by side.

    Each value gets a workspace of its own under .canopy/sweeps, with the parameters of this one but for that value.
    They share the cache of stage outputs, so that what a value does not touch is taken over; the node store's vectors
    by content, so that only new regions are encoded; and the language model's replies. Stopped or killed, the same
    command goes on.

    `dvc exp run -S hierarchy.branching=4` does one value in place. It needs git: a checkout with `no_scm = false` in
    .dvc/config and dvc.lock committed. Workspaces without git, as `canopy run --data` makes them, have this command.

    `canopy sweep hierarchy.branching=2,3,4` — the paper's Tables 3 and 9, with a model trained for each B (for one
    model at several B, `store.branchings` in params.yaml adds Table 9 to the report)

    `canopy sweep answers.k=5,10,20 answers.rounds=1,3 --systems canopy,vanilla`
    """
    from rich.console import Console

    from canopy.config import load_config
    from canopy.pipelines.base import find_systems
    from orchestration.cli.evaluate import server_of_environment
    from orchestration.pipeline.parameter_sweep import compare, plan_points, run_points, write_comparison
    from orchestration.pipeline.params_file import set_params

    names = [n for n in split_names([systems]) if n != "all"]
    find_systems(names)
    root, console = open_workspace(workspace), Console()
    fixed = [f"answers.systems=[{', '.join(names)}]"] if systems.strip(", ") else []
    points = plan_points(root, assignments, fixed)
    set_params(root, server_of_environment(load_config(root / "params.yaml"), console))
    with stoppable():
        run_points(root, points, orchestrator_of(context), console)
    files, tables = compare(points)
    for table in tables:
        print_whole(console, side_by_side(table))
    for path in write_comparison(points, files):
        say(console, f"comparison: {path}")


def side_by_side(comparison: Comparison) -> Table:
    """The columns of a sweep's table that a terminal has room for; the page has the others."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    from canopy.answers.rows import METRICS
    from canopy.report.values import show_cell

    first = next(c.key for c in comparison.columns if c.key in METRICS)
    several_benchmarks = len({r["benchmark"] for r in comparison.rows}) > 1
    keys = ["benchmark"] if several_benchmarks else []
    keys += ["system", first, "gold_recall", "tokens", "difference", "change_tokens"]
    columns = [c for k in keys for c in comparison.columns if c.key == k]
    table = Table(*(Column(c.label, justify="left" if c.kind == "text" else "right",
                           min_width=max(map(len, c.label.split()))) for c in columns),
                  title=comparison.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for row in comparison.rows:
        table.add_row(*("\n".join(t.replace(", ", ",\u00a0") for t in show_cell(c, row) if t) for c in columns))
    return table


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(sweep)
