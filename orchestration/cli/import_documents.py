"""The command `canopy import`: a folder of documents to a folder that `canopy run --data` takes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from canopy.importing.folder import Imported


def import_documents(
    source: Annotated[Path, typer.Argument(metavar="SOURCE_DIR", help="Folder with your documents; its subfolders are looked through too.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET_DIR", help="Folder to make: a new or empty one, or that of an earlier import.")],
    questions: Annotated[Path | None, typer.Option(metavar="FILE", help=(
        "Questions to train and evaluate on: .jsonl or .json as in questions.jsonl, or a .csv, .tsv or .xlsx table with the columns `question` "
        "and `answers` (several separated by |), optionally `id`, `type`, `split`, `item`."))] = None,
    max_quarantined_share: Annotated[float, typer.Option(min=0, max=1, metavar="SHARE", help=(
        "Stop where a larger share of the files cannot be used, and those are at least five or most of them."))] = 0.2,
) -> None:
    """Make items of a folder of documents: .txt, .md, .html, .pdf, .docx, .csv, .tsv, .xlsx, images and videos.

    Running text becomes text items: the paragraphs under one heading, in parts of at most 2,000 characters, under the document's title and headings.
    Tables (HTML, Markdown, Word, ruled ones in PDF, sheets) become table items of up to 500 rows. Images are captioned by what documents say of them;
    videos take the subtitles of the same name (.vtt, .srt), wherever in the folder they are, or those inside. A PDF page without words becomes an
    image, whose words `canopy run` reads. Nothing is fetched from the network.

    Files that cannot be used are listed in TARGET_DIR/quarantine.jsonl with the reason; links that lead out of the folder and hidden files are left
    out. Running it again reads only what changed, and keeps a questions.jsonl that you wrote there.

    Questions need no evidence: where an answer occurs in few items, `canopy run` takes those as gold and marks them so (`ingest.pseudo_gold`).

    `canopy import ~/handbook ~/handbook-canopy` — then `canopy run --data ~/handbook-canopy`

    `canopy import ~/handbook ~/handbook-canopy --questions ~/faq.csv`
    """
    from canopy.importing.folder import import_folder

    _show(import_folder(source, target, questions, max_quarantined_share), target)


def _show(done: Imported, target: Path) -> None:
    """The summary: every file's fate, the items, what a person should know, and what comes next."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, markup=False)

    again = f" ({done.reused} unchanged since the last time)" if done.reused else ""
    say(f"{done.read} files read = {done.imported} imported{again} + {len(done.skipped)} skipped + {done.quarantined} quarantined", "bold")
    say("items: " + ", ".join(f"{n} {m}" for m, n in sorted(done.items.items())) + (f"; {done.questions} questions" if done.questions else ""))
    skipped = Counter(done.skipped.values()).most_common()
    for reason, count in skipped[:8]:
        names = [n for n, r in done.skipped.items() if r == reason]
        say(f"skipped {count}: {reason}: {', '.join(names[:3])}{' ...' if count > 3 else ''}", "yellow")
    if len(skipped) > 8:
        say(f"... and {sum(n for _, n in skipped[8:])} more, listed in {target / 'import.json'}", "yellow")
    for bad in done.quarantine[:5]:
        say(f"quarantined: {bad['file']}{' ' + bad['record'] if bad['record'] else ''}: {bad['reason']}", "red")
    if len(done.quarantine) > 5:
        say(f"... and {len(done.quarantine) - 5} more in {target / 'quarantine.jsonl'}", "red")
    for note in done.notes[:10]:
        say(f"note: {note}", "dim")
    if len(done.notes) > 10:
        say(f"... and {len(done.notes) - 10} more notes, by file in {target / 'import.json'}", "dim")
    if done.hidden:
        say(f"note: {done.hidden} hidden files or folders left out", "dim")
    if not done.questions:
        say("no questions: enough for a corpus (`canopy run --select +corpus`), not for training or evaluation; give some with --questions FILE, or write "
            "TARGET_DIR/questions.jsonl", "yellow")
    say(f"next:   canopy run --data {target}")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("import")(import_documents)
