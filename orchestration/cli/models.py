"""The commands about models: promote, rollback, compress, serve, build."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from canopy.errors import DataError

if TYPE_CHECKING:
    from orchestration.models.promotion import Verdict
    from serving.schemas import CompressResponse, ItemEvidence

Workspace = Annotated[Path | None, typer.Option("--workspace", envvar="CANOPY_WORKSPACE", metavar="DIR", help=(
    "Folder with dvc.yaml, params.yaml and data/; the current one unless said."))]
Alias = Annotated[str, typer.Option(help="Which registered version: champion, challenger or previous_champion.")]


def _enter(workspace: Path | None) -> Path:
    from orchestration.machine.environment import prepare_environment
    from orchestration.pipeline.workspace import select_workspace

    prepare_environment()
    return select_workspace(workspace)


def promote(
    workspace: Workspace = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge only; move nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Promote although a gate fails; needs --reason.")] = False,
    reason: Annotated[str, typer.Option(help="Why a gate is overruled; kept on the version.")] = "",
) -> None:
    """Make the challenger the champion, if it has earned it.

    `canopy run` registers each trained and evaluated model as `challenger`. This compares it, question by question, with the
    champion on the same evaluation data (with f0, the untrained encoder, where there is no champion yet), checks the data rules, pins what it is
    served from, and then moves the alias `champion`. What must be shown is in params.yaml under `promotion`.

    Exit code 1 where a gate fails. `canopy rollback` goes back.
    """
    from orchestration.models.deployment import bundle_of
    from orchestration.models.promotion import promote as judge

    root = _enter(workspace)
    verdict = judge(root, dry_run=dry_run, force=force, reason=reason, export=lambda version: bundle_of(root, version))
    show_verdict(verdict)
    if verdict.outcome == "refused":
        raise typer.Exit(1)


def show_verdict(verdict: Verdict) -> None:
    """Print the table of gates and what became of the alias."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    if verdict.outcome == "already champion":
        console.print(f"version {verdict.challenger} is the champion already; nothing to do")
        return
    table = Table("gate", "", "why", title=f"version {verdict.challenger} against {'version ' + verdict.champion if verdict.champion else 'f0'}",
                  title_justify="left")
    for gate in verdict.gates:
        table.add_row(escape(gate.name), "[green]pass[/]" if gate.passed else "[red]FAIL[/]", escape(gate.why))
    console.print(table)
    console.print({
        "promoted": f"[green]champion is now version {verdict.challenger}[/]" + (
            f"; version {verdict.champion} is previous_champion (`canopy rollback` goes back)" if verdict.champion else "")
            + "\nnext: `canopy serve`, or `canopy compress \"a question\"`",
        "would promote": "every gate passes (dry run: nothing was moved)" if verdict.passed else "would promote by force (dry run)",
        "refused": "[red]not promoted: the gates above say why[/]",
    }[verdict.outcome])


def rollback(workspace: Workspace = None) -> None:
    """Go back to the previous champion.

    Swaps the aliases `champion` and `previous_champion`; calling it twice changes nothing. A running service keeps the version that it
    was started with: start it again to serve the other one.
    """
    from orchestration.models.promotion import rollback as swap

    now, before = swap(_enter(workspace))
    typer.echo(f"champion is now version {now} (was {before}); start the service again to serve it")


def serve(
    workspace: Workspace = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 3001,
    host: Annotated[str, typer.Option(help="Address to bind; the default is reachable from this machine only.")] = "127.0.0.1",
    alias: Alias = "champion",
) -> None:
    """Serve the champion: POST /compress and /retrieve, an explorer page at /.

    Pins the version with its digest, node store and index in .canopy/serving/, then starts BentoML in the foreground (Ctrl-C stops it).
    /readyz fails where encoder, store and index do not belong together, and /status says why; /metrics is for Prometheus.
    Set CANOPY_API_KEY to ask callers for `Authorization: Bearer ...`, and do so before binding another host than the loopback.

      curl -s localhost:3001/compress -H 'content-type: application/json' -d '{"question": "...", "k": 3}'
    """
    from orchestration.models.deployment import (
        bundle_of,
        check_port,
        describe_bundle,
        resolve_version,
        serve_command,
        service_environment,
    )
    from orchestration.pipeline.workspace import code_root

    root = _enter(workspace)
    address = "127.0.0.1" if host == "localhost" else host
    check_port(address, port)
    bundle = bundle_of(root, resolve_version(root, alias))
    if host not in ("127.0.0.1", "::1", "localhost") and not os.environ.get("CANOPY_API_KEY"):
        typer.secho(f"warning: {host} may be reached from other machines and CANOPY_API_KEY is not set: anyone may call", err=True, fg="yellow")
    typer.echo(f"{describe_bundle(bundle)}\nhttp://{host}:{port}/ (explorer)  /compress  /retrieve  /readyz  /metrics", err=True)
    command, env = serve_command(address, port), service_environment(root, bundle)
    sys.stdout.flush()
    os.chdir(code_root())
    os.execve(command[0], command, env)


def build(workspace: Workspace = None, alias: Alias = "champion") -> None:
    """Build a Bento of the champion: code, model, node store, index and pinned packages in one archive.

    The Bento goes to BENTOML_HOME (unless set: .canopy/bentoml in the workspace). The command that runs it is printed; `bentoml containerize TAG`
    makes an image of it.
    """
    from orchestration.models.bento import build_bento
    from orchestration.models.deployment import bundle_of, resolve_version, run_command

    root = _enter(workspace)
    version = resolve_version(root, alias)
    tag = build_bento(root, version, bundle_of(root, version))
    typer.echo(tag)
    typer.echo(f"run it: {run_command(root, tag)}", err=True)


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
    from serving.bundle import CORPUS
    from serving.compressor import Compressor
    from serving.jobs import CompressJob, compress_response
    from serving.raw_items import parse_raw_items
    from serving.schemas import CompressRequest

    root = _enter(workspace)
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
    """Add the commands about models to the program."""
    for command in (promote, rollback, compress, serve, build):
        app.command()(command)
