"""What people see on a materialization: numbers, previews, rows and bytes of each file, figures and the report."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

if TYPE_CHECKING:
    from orchestration.pipeline.stage import Outcome

_MOST_NUMBERS, _LARGEST_FIGURE, _LARGEST_PAGE = 30, 200_000, 60_000
_MAIN_TABLES = ("items.parquet", "gold.parquet", "instances.parquet", "decisions.parquet", "answers.parquet")


def _cell(value: Any) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def table(rows: Sequence[Mapping[str, Any]], rows_shown: int = 25) -> dg.TableMetadataValue | dg.MarkdownMetadataValue:
    """A table of flat rows; cells that a table cannot hold become text."""
    columns = list(dict.fromkeys(k for row in rows for k in row))
    if not columns:
        return dg.MetadataValue.md("(no rows)")
    records = [dg.TableRecord({c: _cell(row.get(c)) for c in columns}) for row in rows[:rows_shown]]

    def kind(column: str) -> str:
        cells = [r.data[column] for r in records if r.data[column] is not None]
        return "number" if cells and all(isinstance(c, (int, float)) and not isinstance(c, bool) for c in cells) else "string"

    return dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(c, kind(c)) for c in columns]))


def files_of(folder: Path) -> list[dict[str, Any]]:
    """Every file of an output: rows (of a Parquet file) and bytes."""
    import pyarrow.parquet as pq

    return [{"file": str(f.relative_to(folder)), "rows": pq.read_metadata(f).num_rows if f.suffix == ".parquet" else None,
             "bytes": f.stat().st_size} for f in sorted(folder.rglob("*")) if f.is_file()]


def figures(folder: Path) -> str:
    """Small figures of an output as one Markdown text, the images inside it."""
    shown = []
    for f in sorted(folder.rglob("*.svg")) + sorted(folder.rglob("*.png")):
        if f.stat().st_size <= _LARGEST_FIGURE and "media" not in f.parts:
            kind = "svg+xml" if f.suffix == ".svg" else "png"
            shown.append(f"**{f.stem.replace('_', ' ')}**\n\n![{f.stem}](data:image/{kind};base64,{base64.b64encode(f.read_bytes()).decode()})")
    return "\n\n".join(shown[:8])


def describe_outcome(outcome: Outcome, folder: Path, docs: Path | None = None) -> dict[str, Any]:
    """Metadata of one materialization, the same whether the stage ran, was found unchanged, or was run by `dvc repro`.

    Parameters
    ----------
    docs : Path, optional
        The index of the stage's data docs, shown where there are any.
    """
    result, listing = outcome.result, files_of(folder) if folder.is_dir() else []
    told: dict[str, Any] = {"why": dg.MetadataValue.md("\n".join(f"- {w}" for w in outcome.why) or "unchanged since it last ran")}
    if result.notes:
        told["notes"] = dg.MetadataValue.md("\n".join(f"- {n}" for n in result.notes))
    if (folder / "report.html").exists():
        told["report page"] = dg.MetadataValue.path(str(folder / "report.html"))
    if (examples := folder / "examples.html").exists():
        told |= {"examples": dg.MetadataValue.path(str(examples)), "examples page": dg.MetadataValue.url(examples.resolve().as_uri())}
    if docs and docs.is_file():
        told |= {"data docs": dg.MetadataValue.path(str(docs)), "data docs page": dg.MetadataValue.url(docs.as_uri())}
    told |= {f"table: {name}": table(rows) for name, rows in result.tables.items()}
    if shown := figures(folder):
        told["figures"] = dg.MetadataValue.md(shown)
    if (page := folder / "report.md").exists():
        told["report"] = dg.MetadataValue.md(page.read_text("utf-8")[:_LARGEST_PAGE])
    told |= {k: float(v) for k, v in list(result.metrics.items())[:_MOST_NUMBERS]}
    if len(result.metrics) > _MOST_NUMBERS:
        told["metrics"] = table([{"metric": k, "value": float(v)} for k, v in result.metrics.items()], rows_shown=500)
    rows = {f["file"]: f["rows"] for f in listing}
    main = next((rows[name] for name in _MAIN_TABLES if rows.get(name) is not None), None)
    if main is not None:
        told["dagster/row_count"] = main
    return told | {"cache_hit": outcome.how != "ran", "seconds": round(outcome.seconds, 2), "files": table(listing),
                   "folder": dg.MetadataValue.path(str(folder)), "dvc": {p: str(h) for p, h in outcome.outs.items()}}
