"""Curves of an output as pictures in a materialization's metadata: loss, recall against tokens, recall at k."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from canopy.errors import CanopyError

_MOST = 4  # curves of one output


def curves(folder: Path) -> dict[str, str]:
    """Markdown with a picture inside, by name, for each curve that an output holds; none if its files say nothing."""
    try:
        drawings = {**_loss(folder), **_recall_at_k(folder), **_recall_against_tokens(folder)}
    except (CanopyError, OSError, ValueError, KeyError, TypeError):
        return {}  # another version wrote the files; the numbers are in the tables all the same
    return {name: picture(name, svg) for name, svg in list(drawings.items())[:_MOST]}


def picture(name: str, svg: str) -> str:
    """An SVG as Markdown, on white."""
    from canopy.report.drawing import standalone

    content = base64.b64encode(standalone(svg).encode()).decode()
    return f"![{name}](data:image/svg+xml;base64,{content})"


def _loss(folder: Path) -> dict[str, str]:
    """The training loss of f_theta, and of each modality's adapter."""
    drawings = {}
    for path in sorted([folder / "curve.parquet", *folder.glob("by_modality/*/curve.parquet")]):
        if path.is_file():
            import pyarrow.parquet as pq

            from canopy.report.tables.training import training_plot

            name = "loss" if path.parent == folder else f"loss, {path.parent.name} alone"
            drawings[name] = training_plot(pq.read_table(path).to_pandas())
    return drawings


def _recall_at_k(folder: Path) -> dict[str, str]:
    """Recall of gold items at k, of an evaluation."""
    path = folder / "retrieval.parquet"
    if not path.is_file():
        return {}
    import pyarrow.parquet as pq

    from canopy.report.tables.retrieval import retrieval_plot
    from canopy.scoring.bootstrap import Interval

    frame = pq.read_table(path, columns=["k", "recall"]).to_pandas()
    means = [(int(k), float(m)) for k, m in frame.groupby("k")["recall"].mean().items()]
    return {"recall at k": retrieval_plot({folder.name: [(k, Interval(m, m, m)) for k, m in means]})} if means else {}


def _recall_against_tokens(folder: Path) -> dict[str, str]:
    """Gold recall of compressors against the tokens that they keep, by corpus."""
    path = folder / "compression.json"
    if not path.is_file():
        return {}
    from canopy.config import CORPUS_SCOPES
    from canopy.report.tables.compression import compression_figure

    compression = json.loads(path.read_text("utf-8"))
    scopes = [s for s in CORPUS_SCOPES if any(c["corpus_scope"] == s for c in compression["curves"])]
    return {f"gold recall against tokens, {CORPUS_SCOPES[s]}": compression_figure(folder.name, compression, s).svg
            for s in scopes}
