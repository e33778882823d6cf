"""`canopy compress`: the champion compresses items for a question, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from canopy.errors import DataError
from orchestration.cli.shared import Alias, Workspace

if TYPE_CHECKING:
    from serving.schemas import CompressResponse, ItemEvidence


def compress(
    question: Annotated[str, typer.Argument(help="The question to compress for.")],
    workspace: Workspace = None,
    item: Annotated[list[str] | None, typer.Option("--item", metavar="ID", help="An item of the corpus, by id; may be repeated.")] = None,
    file: Annotated[Path | None, typer.Option("--file", exists=True, dir_okay=False, help="Items of your own: JSON Lines in the native format.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=200, help="How many items to retrieve, where none are named.")] = 5,
    branching: Annotated[int | None, typer.Option(min=2, max=64, help="Another B for the hierarchy than the store's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the service would answer.")] = False,
    alias: Alias = "champion",
) -> None:
    """Compress items for a question and show what is kept.

    Runs what the service runs, in this process: retrieves the best items (or takes those that --item and --file name), refines each from its root
    down, and prints kept text bright and dropped text dim, with tokens before and after.

      canopy compress "When was the Aswan High Dam finished?" -k 3
    """
    from canopy.corpus.reader import Corpus
    from orchestration.models.deployment import bundle_of, resolve_version
    from orchestration.pipeline.workspace import select_workspace
    from serving.bundle import CORPUS
    from serving.compressor import Compressor
    from serving.jobs import CompressJob, compress_response
    from serving.raw_items import parse_raw_items
    from serving.schemas import CompressRequest

    root = select_workspace(workspace)
    records = _read_records(file) if file else []
    request = _checked(CompressRequest, question=question, item_ids=item or None, items=records or None, k=None if item or records else k,
                       branching=branching, fragments=not as_json)
    items, errors = parse_raw_items(records)
    bundle = bundle_of(root, resolve_version(root, alias))
    unknown = Corpus.open_packed(bundle / CORPUS).unknown(request.item_ids or [])
    if unknown:
        raise DataError(f"unknown item ids: {', '.join(unknown)}; `canopy compress` without --item retrieves items and shows their ids")
    if errors and not items and not request.item_ids:
        raise DataError(f"{file}: no line can be used; line {errors[0].index + 1}: {errors[0].reason}")
    compressor = Compressor.open(bundle)
    outcome = compressor.run([CompressJob(question, tuple(request.item_ids or ()), tuple(items), k, branching, request.fragments)])[0]
    if outcome.error:
        raise DataError(outcome.error)
    response = compress_response(question, outcome, errors, compressor.model)
    if as_json:
        typer.echo(response.model_dump_json(indent=1))
    else:
        show_evidence(response)


def _read_records(path: Path) -> list[Any]:
    records = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except ValueError as e:
                raise DataError(f"{path}: line {number} is not JSON: {str(e)[:120]}") from None
    if not records:
        raise DataError(f"{path}: no items in it; one JSON object a line, as in the README")
    return records


def _checked(model: Any, **values: Any) -> Any:
    from pydantic import ValidationError

    try:
        return model(**values)
    except ValidationError as e:
        raise DataError("; ".join(x["msg"].removeprefix("Value error, ") for x in e.errors())) from None


def show_evidence(response: CompressResponse) -> None:
    """Print each item with kept fragments bright and dropped ones dim."""
    from rich.console import Console

    console = Console(highlight=False)
    for item in response.items:
        score = "" if item.retrieval_score is None else f"  similarity {item.retrieval_score:.3f}"
        console.print()
        console.print(f"{item.title or item.id}", style="bold", markup=False)
        console.print(f"{item.id}  {item.modality}{score}  {_share(item.tokens_after, item.tokens_before)}", style="cyan", markup=False)
        if item.head:
            console.print(item.head, style="italic", markup=False)
        console.print(_marked(item, plain=console.color_system is None))
    for error in response.errors:
        console.print(f"\nitem {error.index + 1}{f' ({error.id})' if error.id else ''} cannot be used: {error.reason}", style="red", markup=False)
    console.print(f"\n{_share(response.tokens_after, response.tokens_before)} over {len(response.items)} item(s); {response.model.name} version "
                  f"{response.model.version}", style="bold", markup=False)


def _marked(item: ItemEvidence, *, plain: bool) -> Any:
    from rich.text import Text

    text, gap = Text(), " " if item.unit == "chars" else "\n"
    for fragment in item.fragments or []:
        if gap == "\n":
            shown = ("> " if fragment.kept else "  ") + fragment.text
        else:
            shown = f"[{fragment.text}]" if plain and fragment.kept else fragment.text  # where there is no colour to tell by
        text.append(shown, style="green" if fragment.kept else "dim")
        text.append(gap)
    text.rstrip()
    return text


def _share(after: int, before: int) -> str:
    return f"{after} of {before} tokens ({after / before:.0%})" if before else "no tokens"


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(compress)
