"""The library's command, which compresses files; if the pipeline of a checkout is installed, its program takes over."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import entry_points
from pathlib import Path

from canopy import __version__
from canopy.errors import CanopyError

# The entry point of the pipeline's program, in orchestration/pyproject.toml.
PROGRAM = "canopy.program"


def main() -> None:
    """Run the pipeline's program if one is installed, otherwise the library's own command."""
    if sys.argv[1:] == ["--version"]:
        print(f"canopy {__version__}")
        return
    for program in entry_points(group=PROGRAM):
        program.load()()
        return
    raise SystemExit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the library's command; returns its exit code, 1 after an error that the user can act on."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        with one_line_errors(lambda message: print(f"error: {message}", file=sys.stderr)):
            if not options.command:
                sys.stdout.write(parser.format_help())
            else:
                compress_files(options.question, options.files, model=options.model, rule=options.rule,
                               margin=options.margin, as_json=options.json)
    except SystemExit as e:
        return int(e.code or 0)
    return 0


@contextmanager
def one_line_errors(show: Callable[[str], None]) -> Iterator[None]:
    """End the program with exit code 1 and one line if the block meets an error that the user can act on.

    That is a CanopyError, and an OSError: a file that may not be read, a full disk. Standard output is flushed at the
    end of the block: otherwise a full disk shows only when Python ends, too late for a message. A reader that is gone
    (``| head``) needs no line.

    Parameters
    ----------
    show : callable
        Prints the message.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except CanopyError as e:
        show(str(e))
        raise SystemExit(1) from None
    except OSError as e:
        _drop_output()
        if e.errno != errno.EPIPE:
            reason = e.strerror or str(e) or type(e).__name__
            show(f"{e.filename}: {reason}" if e.filename else f"the output cannot be written: {reason}")
        raise SystemExit(1) from None


def _drop_output() -> None:
    """Let what is still buffered for a standard output that takes no more go nowhere, without a second error."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def compress_files(question: str, files: Sequence[Path], *, model: Path | None = None, rule: str = "parent",
                   margin: float | None = None, branching: int | None = None, as_json: bool = False) -> None:
    """Compress files for a question and print what is kept.

    Raises
    ------
    DataError
        If a file, the question or the model cannot be used.
    """
    from canopy.compression.compressor import Compressor
    from canopy.compression.files import read_files
    from canopy.compression.printing import to_json, to_lines
    from canopy.progress import progress

    with progress("reading files"):
        items, notes = read_files(files)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    compressor = Compressor.load(model)
    with progress("compressing"):
        compression = compressor.compress(question, items, rule=rule, margin=margin, branching=branching)
    for note in compression.notes:
        print(f"note: {note}", file=sys.stderr)
    name = compressor.model.name
    sys.stdout.write("\n".join([to_json(compression, name)] if as_json else to_lines(compression, name)) + "\n")


def _parser() -> argparse.ArgumentParser:
    from canopy.config import REFINEMENT_RULES

    parser = argparse.ArgumentParser(prog="canopy", description=(
        "Keeps of documents the parts that answer a question. The pipeline (training, evaluation, serving) runs from a "
        "checkout."))
    parser.add_argument("--version", action="version", version=f"canopy {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    command = commands.add_parser("compress", help="compress files for a question", description=(
        "Prints what is kept of each file, with tokens before and after. Reads text, Markdown, HTML, PDF, DOCX, CSV, "
        "XLSX, and items in the native format (.jsonl)."))
    command.add_argument("question", metavar="QUESTION")
    command.add_argument("files", metavar="FILE", nargs="+", type=Path)
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.add_argument("--rule", default="parent", choices=REFINEMENT_RULES,
                         help="which regions are kept; parent is the paper's")
    command.add_argument("--margin", type=float, help="of the rule lookahead only")
    command.add_argument("--model", type=Path, metavar="PATH",
                         help="folder of a bundle, a registered model or an adapter; otherwise the embedded encoder")
    return parser


if __name__ == "__main__":
    main()
