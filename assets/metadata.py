"""What a materialization shows: numbers, previews, rows and bytes of each file, figures and the report."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import dagster as dg

from assets.plots import curves
from canopy.formatting import round_number, round_text

if TYPE_CHECKING:
    from orchestration.pipeline.stage import Outcome

Value: TypeAlias = dg.MetadataValue | str | float | bool | dict[str, str]
_MOST_NUMBERS, _LARGEST_FIGURE, _LARGEST_PAGE = 30, 200_000, 60_000
_MAIN_TABLES = ("items.parquet", "gold.parquet", "instances.parquet", "decisions.parquet", "answers.parquet")


def _cell(value: Any) -> str | int | float | bool | None:
    if isinstance(value, float):
        return int(value) if value.is_integer() else round_number(value)
    return value if value is None or isinstance(value, (int, bool)) else round_text(str(value))


def table(rows: Sequence[Mapping[str, Any]], rows_shown: int = 25) -> dg.TableMetadataValue | dg.MarkdownMetadataValue:
    """A table of flat rows, numbers in four significant digits; cells that a table cannot hold become text."""
    columns = list(dict.fromkeys(k for row in rows for k in row))
    if not columns:
        return dg.MetadataValue.md("(no rows)")
    records = [dg.TableRecord({c: _cell(row.get(c)) for c in columns}) for row in rows[:rows_shown]]

    def kind(column: str) -> str:
        cells = [r.data[column] for r in records if r.data[column] is not None]
        numbers = [c for c in cells if isinstance(c, (int, float)) and not isinstance(c, bool)]
        return "number" if cells and len(numbers) == len(cells) else "string"

    return dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(c, kind(c)) for c in columns]))


class FileRow(TypedDict):
    """A file of an output: its path there, its rows if it is Parquet, and its size."""

    file: str
    rows: int | None
    bytes: int


def files_of(folder: Path) -> list[FileRow]:
    """Every file of an output, sorted by path."""
    import pyarrow.parquet as pq

    files = [f for f in sorted(folder.rglob("*")) if f.is_file()]
    return [{"file": str(f.relative_to(folder)), "bytes": f.stat().st_size,
             "rows": pq.read_metadata(f).num_rows if f.suffix == ".parquet" else None} for f in files]


def figures(folder: Path) -> str:
    """Small figures of an output as one Markdown text, the images inside it."""
    images = []
    for f in sorted(folder.rglob("*.svg")) + sorted(folder.rglob("*.png")):
        if f.stat().st_size <= _LARGEST_FIGURE and "media" not in f.parts:
            kind = "svg+xml" if f.suffix == ".svg" else "png"
            content = base64.b64encode(f.read_bytes()).decode()
            images.append(f"**{f.stem.replace('_', ' ')}**\n\n![{f.stem}](data:image/{kind};base64,{content})")
    return "\n\n".join(images[:8])


def describe_outcome(outcome: Outcome, folder: Path, docs: Path | None = None) -> dict[str, Value]:
    """Metadata of one materialization, however its stage came to its output: by a run, unchanged, or by `dvc repro`.

    Parameters
    ----------
    docs : Path, optional
        The index of the stage's data docs, which is shown if it exists.
    """
    result, listing = outcome.result, files_of(folder) if folder.is_dir() else []
    why = "\n".join(f"- {w}" for w in outcome.why)
    values: dict[str, Value] = {"why": dg.MetadataValue.md(why or "unchanged since it last ran")}
    if result.notes:
        values["notes"] = dg.MetadataValue.md("\n".join(f"- {round_text(n)}" for n in result.notes))
    values |= _pages(folder, docs)
    values |= {f"table: {name}": table(rows) for name, rows in result.tables.items()}
    values |= {name: dg.MetadataValue.md(image) for name, image in curves(folder).items()}
    if images := figures(folder):
        values["figures"] = dg.MetadataValue.md(images)
    if (page := folder / "report.md").exists():
        values["report"] = dg.MetadataValue.md(page.read_text("utf-8")[:_LARGEST_PAGE])
    values |= {k: round_number(float(v)) for k, v in list(result.metrics.items())[:_MOST_NUMBERS]}
    if len(result.metrics) > _MOST_NUMBERS:
        metrics = [{"metric": k, "value": float(v)} for k, v in result.metrics.items()]
        values["metrics"] = table(metrics, rows_shown=500)
    counts = {f["file"]: f["rows"] for f in listing}
    main = next((counts[name] for name in _MAIN_TABLES if counts.get(name) is not None), None)
    if main is not None:
        values["dagster/row_count"] = main
    return values | {"cache_hit": outcome.how != "ran", "seconds": round_number(outcome.seconds),
                     "files": table(listing), "folder": dg.MetadataValue.path(str(folder)),
                     "dvc": {p: str(h) for p, h in outcome.outs.items()}}


def _pages(folder: Path, docs: Path | None) -> dict[str, Value]:
    """Pages to open: the report, the examples, the data docs."""
    pages: dict[str, Value] = {}
    if (report := folder / "report.html").exists():
        pages["report page"] = dg.MetadataValue.path(str(report))
    if (examples := folder / "examples.html").exists():
        pages["examples"] = dg.MetadataValue.path(str(examples))
        pages["examples page"] = dg.MetadataValue.url(examples.resolve().as_uri())
    if docs and docs.is_file():
        pages["data docs"] = dg.MetadataValue.path(str(docs))
        pages["data docs page"] = dg.MetadataValue.url(docs.as_uri())
    return pages
