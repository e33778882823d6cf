"""The commands about release files: `canopy data list`, `check` and `fetch`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canopy.errors import DataError

if TYPE_CHECKING:
    from orchestration.data.check import Check

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Official release files: what there are, what a folder holds, and fetching them.")
Name = Annotated[str, typer.Argument(metavar="BENCHMARK", help="A benchmark by its name or its folder's: hotpotqa, tat-qa, 2wikimultihopqa.")]


@app.command("list")
def list_benchmarks() -> None:
    """The benchmarks there are adapters for, with licence and home."""
    from rich.console import Console
    from rich.table import Column, Table

    from canopy.benchmarks.registry import adapter_names, load_adapter

    table = Table("benchmark", "title", "licence", Column("home", overflow="fold"))
    for name in adapter_names():
        release = getattr(load_adapter(name), "RELEASE", None)
        if release:
            table.add_row(name, release.title, release.licence, release.home)
    Console().print(table)


@app.command()
def check(
    benchmark: Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder with the release files, unpacked in any way.")],
    read: Annotated[bool | None, typer.Option("--read/--no-read", help="Read the records and count their fates; unless said, where all files "
                                              "together are below 256 MiB.")] = None,
) -> None:
    """Say what is there, what is missing, and what will be used; nothing is written.

    Exit code 1 where something is missing that the adapter cannot do without, a file is broken, or one has changed since `canopy data fetch`.

    `canopy data check hotpotqa ~/hotpot`
    """
    from orchestration.data.check import check_data

    result = check_data(benchmark, folder.expanduser(), read)
    show_check(result, folder)
    if not result.sound:
        raise typer.Exit(1)


def show_check(result: Check, folder: Path) -> None:
    """Print what a check found."""
    from rich.console import Console
    from rich.markup import escape

    from orchestration.data.check import NOT_PUBLISHED

    console, release = Console(), result.release
    console.print(f"[bold]{escape(release.title)}[/bold], {escape(release.licence)}; {escape(release.home)}", highlight=False, soft_wrap=True)
    wide = max(len(f.file.role) for f in result.files)
    for f in result.files:  # lines, not a table: in a narrow terminal or a pipe names must stay whole
        if f.path is None:
            told = f"[yellow]missing[/yellow] {escape(f.file.patterns[0])}"
        else:
            size = f"{f.size / 2**20:,.1f} MiB" if f.path.is_file() else f"{f.size:,} files"
            records = f", {result.read_from[f.path.name]:,} records" if result.read_from.get(f.path.name) and f.path.is_file() else ""
            told = f"[green]{escape(str(f.path.relative_to(folder.expanduser())))}[/green]  {size}{records}, checksum {f.checksum}"
        console.print(f"  {f.file.role:{wide}}  {told}\n  {'':{wide}}  [dim]{escape(f.file.what)}[/dim]", highlight=False, soft_wrap=True)
    if release.layout:
        console.print(f"expected layout:\n{release.layout}", highlight=False, markup=False)
    if release.notes:
        console.print(release.notes, highlight=False, markup=False, soft_wrap=True)
    for group in result.lacking:
        by_role = {f.role: f for f in release.files}
        console.print(f"missing: {' or '.join(by_role[r].patterns[0] for r in group)}; "
                      + ("`canopy data fetch` brings it" if any(by_role[r].url for r in group) else f"it comes from {release.home}"),
                      style="red", markup=False, highlight=False, soft_wrap=True)
    if any(f.checksum == NOT_PUBLISHED for f in result.files):
        console.print("a file is not the published one, by its checksum: a slice, another version, or a damaged download", style="yellow", soft_wrap=True)
    if result.counts:
        c = result.counts
        console.print(f"{c['read']} records read = {c['mapped']} mapped + {c['fallback']} mapped with a fallback + {c['waiting']} waiting for a document "
                      f"+ {c['quarantined']} quarantined; {', '.join(f'{n} {k}' for k, n in result.found.items())}", highlight=False, soft_wrap=True)
        for kind, reason, n in result.reasons:
            console.print(f"  {n} {kind}: {reason}", markup=False, highlight=False, soft_wrap=True)
    elif result.trouble:
        console.print(result.trouble, style="red", markup=False, highlight=False, soft_wrap=True)
    elif result.usable:
        console.print("records not read; --read counts them", highlight=False)
    for note in result.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)


@app.command()
def fetch(
    benchmark: Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go; made where it is not there.")],
    only: Annotated[list[str] | None, typer.Option(metavar="ROLE", help="Only this file of the release (see `canopy data check`); may be repeated.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Go on: without it only the plan is printed and nothing is fetched.")] = False,
) -> None:
    """Download a benchmark's files from their official place. Without `--yes` this only says what would be fetched.

    A broken download is continued by the same command. Checksums are the published ones where there are any; else what came first is noted in
    SHA256SUMS and later copies are held to it. The licences are the publishers'.

    `canopy data fetch hotpotqa ~/hotpot --only dev --yes`
    """
    from rich.console import Console

    from orchestration.data.check import release_of
    from orchestration.data.fetch import downloadable, fetch_file, target_name

    _, release = release_of(benchmark)
    files = downloadable(release, tuple(only or ()))
    console = Console()
    if not files:
        raise DataError(f"{release.title} has no file that can be fetched directly; it comes from {release.home}")
    console.print(f"{release.title}, {release.licence}; {release.home}", markup=False, highlight=False, soft_wrap=True)
    for f in files:
        console.print(f"  {f.role}: {f.url} -> {folder / target_name(f)}", markup=False, highlight=False, soft_wrap=True)
    absent = [f for f in release.files if not f.url and (not only or f.role in only)]
    for f in absent:
        console.print(f"  {f.role}: no direct address; get {f.patterns[0]} from {release.home}", markup=False, highlight=False, soft_wrap=True)
    if release.notes:
        console.print(release.notes, markup=False, highlight=False, soft_wrap=True)
    if not yes:
        console.print("nothing was fetched; add --yes to go on", style="yellow")
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    folder = folder.expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    with Progress(TextColumn("  {task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
                  console=Console(stderr=True), transient=True) as bar:
        for f in files:
            task = bar.add_task(f.role, total=None)
            path, how = fetch_file(f, folder, lambda done, total, task=task: bar.update(task, completed=done, total=total or None))
            console.print(f"{how}: {path}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"next: `canopy data check {benchmark} {folder}`", markup=False, highlight=False, soft_wrap=True)


def register(program: typer.Typer) -> None:
    """Add `canopy data` to the program."""
    program.add_typer(app, name="data")
