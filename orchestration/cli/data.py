"""The commands about release files: `canopy data list`, `check` and `fetch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canopy.errors import DataError
from orchestration.cli.shared import print_whole, say

_MEBI = 1 << 20
group = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help=(
    "Official release files: what there are, what a folder holds, and fetching them."))
Name = Annotated[str, typer.Argument(metavar="BENCHMARK", help=(
    "A benchmark by its name or its folder's: hotpotqa, tat-qa, 2wikimultihopqa."))]


@group.command("list")
def list_benchmarks() -> None:
    """List the benchmarks that canopy reads, with licence and home."""
    from rich.console import Console
    from rich.table import Column, Table

    from canopy.benchmarks.registry import adapter_names, load_benchmark_adapter

    table = Table(Column("benchmark", no_wrap=True), "title", "licence", Column("home", overflow="fold"))
    for name in adapter_names():
        release = load_benchmark_adapter(name).BENCHMARK
        if release.files:
            table.add_row(name, release.title, release.licence, release.home)
    print_whole(Console(), table)


@group.command()
def check(
    benchmark: Name,
    folder: Annotated[Path, typer.Argument(
        metavar="DIR", help="The folder with the release files, unpacked in any way.")],
    read: Annotated[bool | None, typer.Option("--read/--no-read", help=(
        "Read the records and count their fates. Default: only if all files together are below 256 MiB."))] = None,
) -> None:
    """Say what is there, what is missing, and what will be used; nothing is written.

    Exit code 1 if something is missing that the adapter cannot do without, a file is broken, or one has changed since
    `canopy data fetch`.

    `canopy data check hotpotqa ~/hotpot`
    """
    from rich.console import Console

    from canopy.progress import progress
    from orchestration.cli.data_report import show_check
    from orchestration.data.check import check_data

    with progress("looking at the files"):
        result = check_data(benchmark, folder.expanduser(), read)
    show_check(result, folder, Console())
    if not result.sound:
        raise typer.Exit(1)


@group.command()
def fetch(
    benchmark: Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go; made if it does not exist.")],
    only: Annotated[list[str] | None, typer.Option(metavar="ROLE", help=(
        "Only this file of the release (see `canopy data check`); may be repeated."))] = None,
    yes: Annotated[bool, typer.Option("--yes", help=(
        "Go on: without it only the plan is printed and nothing is fetched."))] = False,
) -> None:
    """Download a benchmark's files from their official place. Without `--yes` this only says what would be fetched.

    A broken download is continued by the same command. Checksums are the published ones if there are any; otherwise the
    first download's is noted in SHA256SUMS and later copies are compared with it. The licences are the publishers'.

    `canopy data fetch hotpotqa ~/hotpot --only dev --yes`
    """
    from rich.console import Console

    from canopy.progress import Step, progress
    from orchestration.cli.data_report import show_plan
    from orchestration.data.check import release_of
    from orchestration.data.fetch import downloadable, fetch_file, target_name
    from orchestration.pipeline.hints import command

    _, release = release_of(benchmark)
    files = downloadable(release, tuple(only or ()))
    console = Console()
    if not files:
        raise DataError(f"{release.title} has no file that can be fetched directly; it comes from {release.home}")
    show_plan(release, files, [folder / target_name(f) for f in files], only or (), console)
    if not yes:
        console.print("nothing was fetched; add --yes to go on", style="yellow")
        return
    folder = folder.expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    for f in files:
        with progress(f"fetching {f.role}", unit="MiB") as step:

            def advance(count: int, total: int, step: Step = step) -> None:
                step.update(count // _MEBI, -(-total // _MEBI) if total else None)

            path, how = fetch_file(f, folder, advance)
        say(console, f"{how}: {path}")
    say(console, f"next: {command('data', 'check', benchmark, str(folder))}")


def register(app: typer.Typer) -> None:
    """Add `canopy data` to the program."""
    app.add_typer(group, name="data")
