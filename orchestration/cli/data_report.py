"""What `canopy data check` and `canopy data fetch` print."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.release import other_files
from canopy.formatting import tenths
from orchestration.cli.shared import say
from orchestration.data.check import NOT_PUBLISHED
from orchestration.pipeline.hints import command

if TYPE_CHECKING:
    from orchestration.data.check import Check, FileCheck


def show_check(check: Check, folder: Path, console: Console) -> None:
    """Print each file of a release, what is missing, and what the records became."""
    release = check.release
    console.print(f"[bold]{escape(release.title)}[/bold], {escape(release.licence)}; {escape(release.home)}",
                  highlight=False, soft_wrap=True)
    width = max(len(f.file.role) for f in check.files)
    for f in check.files:  # lines, not a table: in a narrow terminal or a pipe names must stay whole
        console.print(f"  {f.file.role:{width}}  {_describe(f, check, folder)}\n"
                      f"  {'':{width}}  [dim]{escape(f.file.what)}[/dim]", highlight=False, soft_wrap=True)
    if release.layout:
        console.print(f"expected layout:\n{release.layout}", highlight=False, markup=False)
    if release.notes:
        say(console, release.notes)
    for group in check.lacking:
        _show_lacking(check, group, folder, console)
    if any(f.checksum == NOT_PUBLISHED for f in check.files):
        say(console, "a file is not the published one, by its checksum: a slice, another version, or a damaged "
                     "download", "yellow")
    _show_records(check, console)
    for note in check.notes:
        say(console, note)


def _describe(f: FileCheck, check: Check, folder: Path) -> str:
    """One file's line: its path, size, records and checksum, or the name that was looked for."""
    if f.path is None:
        return f"[yellow]missing[/yellow] {escape(f.file.patterns[0])}"
    is_file = f.path.is_file()
    size = show_size(f.size) if is_file else f"{f.size:,} file{'' if f.size == 1 else 's'}"
    count = check.read_from.get(f.path.name) if is_file else None
    records = f", {count:,} records" if count else ""
    name = escape(str(f.path.relative_to(folder.expanduser())))
    return f"[green]{name}[/green]  {size}{records}, checksum {f.checksum}"


def show_size(size: int) -> str:
    """Bytes in the unit that people use for them: ``812 bytes``, ``4.2 KiB``, ``1.3 MiB``."""
    if size < 1024:
        return f"{size} byte{'' if size == 1 else 's'}"
    exponent = min(4, (size.bit_length() - 1) // 10)
    return f"{tenths(size / 1024**exponent)} {('KiB', 'MiB', 'GiB', 'TiB')[exponent - 1]}"


def _show_lacking(check: Check, group: tuple[str, ...], folder: Path, console: Console) -> None:
    release = check.release
    files = [f for f in release.files if f.role in group]
    names = " or ".join(next(f for f in files if f.role == role).patterns[0] for role in group)
    source = f"it comes from {release.home}"
    if any(f.url for f in files):
        source = f"{command('data', 'fetch', check.name, str(folder))} says where it comes from"
    say(console, f"missing: {names}{other_files(folder)}; {source}", "red")


def _show_records(check: Check, console: Console) -> None:
    """How many records were read, and what became of them."""
    if check.counts:
        c = check.counts
        totals = ", ".join(f"{n} {k}" for k, n in check.totals.items())
        say(console, f"{c['read']} records read = {c['mapped']} mapped + {c['fallback']} mapped with a fallback + "
                     f"{c['waiting']} waiting for a document + {c['quarantined']} quarantined; {totals}")
        for reason in check.reasons:
            say(console, f"  {reason.count} {reason.fate}: {reason.text}")
    elif check.trouble:
        say(console, check.trouble, "red")
    elif check.usable:
        console.print("records not read; --read counts them", highlight=False)


def show_plan(release: Benchmark, files: Collection[ReleaseFile], targets: Collection[Path], only: Collection[str],
              console: Console) -> None:
    """Print what would be fetched from where to where, and what has no direct address."""
    say(console, f"{release.title}, {release.licence}; {release.home}")
    for f, target in zip(files, targets, strict=True):
        say(console, f"  {f.role}: {f.url} -> {target}")
    for f in release.files:
        if not f.url and (not only or f.role in only):
            say(console, f"  {f.role}: no direct address; get {f.patterns[0]}: {f.what}; {release.home}")
    if release.notes:
        say(console, release.notes)
