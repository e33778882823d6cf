"""`canopy import`: a folder of documents to a folder that `canopy run --data` takes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.shared import say

if TYPE_CHECKING:
    from canopy.importing.writing import Imported

_REASONS, _FILES, _NOTES, _NAMES = 8, 5, 10, 3  # how many are printed of each; files hold the others


def import_documents(
    source: Annotated[Path, typer.Argument(
        metavar="SOURCE_DIR", help="Folder with your documents; its subfolders are looked through too.")],
    target: Annotated[Path, typer.Argument(
        metavar="TARGET_DIR", help="Folder to make: a new or empty one, or that of an earlier import.")],
    questions: Annotated[Path | None, typer.Option(metavar="FILE", help=(
        "Questions to train and evaluate on: .jsonl or .json as in questions.jsonl, or a .csv, .tsv or .xlsx table "
        "with the columns `question` and `answers` (several separated by |), optionally `id`, `type`, `split`, "
        "`item`."))] = None,
    max_quarantined_share: Annotated[float, typer.Option(min=0, max=1, metavar="SHARE", help=(
        "Stop if a larger share of the files cannot be used, and those are at least five or most of them."))] = 0.2,
) -> None:
    """Make items of a folder of documents: .txt, .md, .html, .pdf, .docx, .csv, .tsv, .xlsx, images and videos.

    Running text becomes text items: the paragraphs under one heading, in parts of at most 2,000 characters, under the
    document's title and headings. Tables (HTML, Markdown, Word, ruled ones in PDF, sheets) become table items of up to
    500 rows. Images are captioned by what documents say of them; videos take the subtitles of the same name (.vtt,
    .srt), wherever in the folder they are, or those inside. A PDF page without words becomes an image, whose words
    `canopy run` reads. Nothing is fetched from the network.

    Files that cannot be used are listed in TARGET_DIR/quarantine.jsonl with the reason; links that lead out of the
    folder and hidden files are left out. Running it again reads only what changed, and keeps a questions.jsonl that you
    wrote there.

    Questions need no evidence: if an answer occurs in few items, `canopy run` takes those as gold and marks them so
    (`ingest.pseudo_gold`).

    `canopy import ~/handbook ~/handbook-canopy` — then `canopy run --data ~/handbook-canopy`

    `canopy import ~/handbook ~/handbook-canopy --questions ~/faq.csv`
    """
    from canopy.importing.folder import import_folder

    _show(import_folder(source, target, questions, max_quarantined_share), target)


def _show(result: Imported, target: Path) -> None:
    """Print every file's fate, the items, what a person should know, and what comes next."""
    from rich.console import Console

    from orchestration.pipeline.hints import command

    console = Console()
    again = f" ({result.reused} unchanged since the last time)" if result.reused else ""
    say(console, f"{result.read} files read = {result.imported} imported{again} + {len(result.skipped)} skipped + "
                 f"{result.quarantined} quarantined", "bold")
    items = ", ".join(f"{n} {m}" for m, n in sorted(result.items.items()))
    say(console, f"items: {items}" + (f"; {result.questions} questions" if result.questions else ""))
    reasons = Counter(result.skipped.values()).most_common()
    for reason, count in reasons[:_REASONS]:
        names = [n for n, r in result.skipped.items() if r == reason]
        dots = " ..." if count > _NAMES else ""
        say(console, f"skipped {count}: {reason}: {', '.join(names[:_NAMES])}{dots}", "yellow")
    if len(reasons) > _REASONS:
        rest = sum(n for _, n in reasons[_REASONS:])
        say(console, f"... and {rest} more, listed in {target / 'import.json'}", "yellow")
    for entry in result.quarantine[:_FILES]:
        record = f" {entry['record']}" if entry["record"] else ""
        say(console, f"quarantined: {entry['file']}{record}: {entry['reason']}", "red")
    if len(result.quarantine) > _FILES:
        say(console, f"... and {len(result.quarantine) - _FILES} more in {target / 'quarantine.jsonl'}", "red")
    for note in result.notes[:_NOTES]:
        say(console, f"note: {note}", "dim")
    if len(result.notes) > _NOTES:
        rest = len(result.notes) - _NOTES
        say(console, f"... and {rest} more notes, by file in {target / 'import.json'}", "dim")
    if result.hidden:
        say(console, f"note: {result.hidden} hidden files or folders left out", "dim")
    if not result.questions:
        corpus = command("run", "--data", str(target), "--select", "+corpus")
        say(console, f"no questions: enough for a corpus ({corpus}), not for training or evaluation; give some with "
                     f"--questions FILE, or write {target / 'questions.jsonl'}", "yellow")
    say(console, f"next:   {command('run', '--data', str(target))}")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("import")(import_documents)
