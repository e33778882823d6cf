"""`canopy compress`: files as the library's command does, or the corpus with a registered model as the service does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canopy.errors import DataError
from orchestration.cli.shared import Workspace, open_workspace, say_workspace

if TYPE_CHECKING:
    from rich.text import Text

    from canopy.compression.evidence import ItemEvidence
    from serving.schemas import CompressRequest, CompressResponse, ItemError


def compress(
    question: Annotated[str, typer.Argument(help="The question to compress for.")],
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help=(
        "Files to compress instead of the corpus: text, Markdown, HTML, PDF, DOCX, CSV, XLSX, or items in the native "
        "format (.jsonl)."))] = None,
    workspace: Workspace = None,
    item: Annotated[list[str] | None, typer.Option("--item", metavar="ID", help=(
        "An item of the corpus, by id; may be repeated."))] = None,
    file: Annotated[Path | None, typer.Option("--file", exists=True, dir_okay=False, help=(
        "Items of your own beside those of the corpus: JSON Lines in the native format."))] = None,
    k: Annotated[int | None, typer.Option(
        "-k", min=1, max=200, show_default="5", help="How many items to retrieve if none are named.")] = None,
    branching: Annotated[int | None, typer.Option(
        min=2, max=64, help="B, the branching of the hierarchy. Default: the model's.")] = None,
    rule: Annotated[str, typer.Option(help="Which regions are kept: parent (the paper's) or lookahead.")] = "parent",
    margin: Annotated[float | None, typer.Option(help=(
        "Of the rule lookahead: how much better a descendant must score. Default: 0.01."))] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    model: Annotated[Path | None, typer.Option(metavar="PATH", help=(
        "The model for FILEs: the folder of a bundle, a registered model or an adapter. "
        "Default: the embedded encoder."))] = None,
    alias: Annotated[str | None, typer.Option(show_default="champion", help=(
        "The registered version that compresses the corpus: champion or challenger."))] = None,
) -> None:
    """Compress files, or items of the corpus, for a question and show what is kept.

    With FILEs it is the library's command: no workspace and no model is needed. Without FILEs it does what the
    service does: it retrieves the best items (or takes those that --item and --file name), refines each from its root
    down, and prints kept text bright and dropped text dim, with tokens before and after.

      canopy compress "How long is the Nile?" nile.txt

      canopy compress "When was the Aswan High Dam finished?" -k 3
    """
    if files:
        corpus_options = {"--item": item, "--file": file, "-k": k, "--alias": alias, "--workspace": workspace}
        if of_corpus := [name for name, value in corpus_options.items() if value]:
            raise DataError(f"FILEs are compressed without the corpus: leave out {', '.join(of_corpus)}")
        from canopy.cli import compress_files

        compress_files(question, files, model=model, rule=rule, margin=margin, branching=branching, as_json=as_json)
        return
    if model:
        raise DataError("--model belongs to FILEs; --alias says which registered version compresses the corpus")
    records = _read_records(file) if file else []
    request = _checked_request(question=question, item_ids=item or None, items=records or None,
                               k=None if item or records else k or 5, branching=branching, rule=rule, margin=margin,
                               fragments=not as_json)
    from rich.console import Console

    from canopy.progress import progress

    root = open_workspace(workspace)
    say_workspace(root, Console(stderr=as_json))  # standard output is JSON alone
    with progress("compressing"):
        response = _compress_corpus(root, alias or "champion", request, file, k or 5)
    if as_json:
        typer.echo(response.model_dump_json(indent=1))
    else:
        show_evidence(response)


def _compress_corpus(root: Path, alias: str, request: CompressRequest, file: Path | None,
                     k: int) -> CompressResponse:
    """What the service would answer, from the version that an alias names."""
    from canopy.bundle.manifest import CORPUS
    from canopy.corpus.reader import Corpus
    from orchestration.models.deployment import bundle_of, resolve_version
    from serving.compressor import ServedCompressor
    from serving.jobs import CompressJob, compress_response
    from serving.raw_items import parse_raw_items

    items, errors = parse_raw_items(request.items or [])
    bundle = bundle_of(root, resolve_version(root, alias))
    unknown = Corpus.open_packed(bundle / CORPUS).unknown(request.item_ids or [])
    if unknown:
        raise DataError(f"unknown item ids: {', '.join(unknown)}; `canopy compress` without --item retrieves items and "
                        "shows their ids")
    if errors and not items and not request.item_ids:
        raise DataError(f"{file}: no line can be used; line {errors[0].index + 1}: {errors[0].reason}")
    compressor = ServedCompressor.open(bundle)
    job = CompressJob(request.question, tuple(request.item_ids or ()), tuple(items), k, request.branching,
                      request.fragments, request.rule, request.margin_used())
    outcome = compressor.run([job])[0]
    if outcome.error:
        raise DataError(outcome.error)
    return compress_response(request.question, outcome, errors, compressor.model)


def _read_records(path: Path) -> list[object]:
    records = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except ValueError as e:
                raise DataError(f"{path}: line {number} is not JSON: {str(e)[:120]}") from None
    if not records:
        raise DataError(f"{path}: no items in it; one JSON object a line, as docs/own-documents.md shows")
    return records


def _checked_request(**fields: object) -> CompressRequest:
    from pydantic import ValidationError

    from serving.schemas import CompressRequest

    try:
        return CompressRequest.model_validate(fields)
    except ValidationError as e:
        raise DataError("; ".join(x["msg"].removeprefix("Value error, ") for x in e.errors())) from None


def show_evidence(response: CompressResponse) -> None:
    """Print each item with kept fragments bright and dropped ones dim."""
    from rich.console import Console

    from canopy.compression.printing import share

    console = Console(highlight=False)
    for item in response.items:
        score = "" if item.retrieval_score is None else f"  similarity {item.retrieval_score:.3f}"
        console.print()
        console.print(f"{item.title or item.id}", style="bold", markup=False)
        tokens = share(item.tokens_after, item.tokens_before)
        console.print(f"{item.id}  {item.modality}{score}  {tokens}", style="cyan", markup=False)
        if item.head:
            console.print(item.head, style="italic", markup=False)
        console.print(_marked(item, plain=console.color_system is None))
    for error in response.errors:
        console.print(_refusal(error), style="red", markup=False)
    total, model = share(response.tokens_after, response.tokens_before), response.model
    console.print(f"\n{total} over {len(response.items)} item(s); {model.name} version {model.version}", style="bold",
                  markup=False)


def _refusal(error: ItemError) -> str:
    name = f" ({error.id})" if error.id else ""
    return f"\nitem {error.index + 1}{name} cannot be used: {error.reason}"


def _marked(item: ItemEvidence, *, plain: bool) -> Text:
    """An item's fragments; without colours, kept ones are marked by brackets or, on lines of their own, by ``>``."""
    from rich.text import Text

    text, gap = Text(), " " if item.unit == "chars" else "\n"
    for fragment in item.fragments or []:
        if gap == "\n":
            words = ("> " if fragment.kept else "  ") + fragment.text
        else:
            words = f"[{fragment.text}]" if plain and fragment.kept else fragment.text
        text.append(words, style="green" if fragment.kept else "dim")
        text.append(gap)
    text.rstrip()
    return text


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(compress)
