"""The registered model as code (MLflow models-from-code): loads the adapter and answers (question, item) rows; nothing is pickled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd


class NodeEncoderModel(mlflow.pyfunc.PythonModel):
    """f_theta behind MLflow's interface: for each row the kept regions of one item for one question."""

    def load_context(self, context: Any) -> None:
        """Load f0 and the adapter."""
        from canopy.config import Hierarchy
        from canopy.encoder.loading import load_encoder
        from canopy.settings import parse_encoder

        settings = json.loads(Path(context.artifacts["settings"]).read_text(encoding="utf-8"))
        self._hierarchy = Hierarchy.model_validate(settings["hierarchy"])
        self._encoder = load_encoder(parse_encoder(settings["encoder"], lenient=True), adapter=Path(context.artifacts["adapter"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> list[str]:
        """Rows with ``question`` and ``item`` (an item's JSON in the native format) to the JSON of the kept regions, one string a row."""
        return [json.dumps(self._compress(str(q), json.loads(i)), ensure_ascii=False)
                for q, i in zip(model_input["question"], model_input["item"], strict=True)]

    def _compress(self, question: str, record: dict[str, Any]) -> list[dict[str, Any]]:
        import numpy as np

        from canopy.encoder.base import NodeRequest
        from canopy.encoder.words import region_text
        from canopy.hierarchy.leaves import cut_item
        from canopy.hierarchy.tree import build_tree
        from canopy.items import ITEM_SCHEMA, item_from_row
        from canopy.refinement import refine

        blank = {"duration": 0.0, "header": [], "rows": [], "cues": []}
        item = item_from_row({n: record.get(n, blank.get(n, "")) for n in ITEM_SCHEMA.names})
        leaves = cut_item(item, self._hierarchy.segment_seconds)
        tree = build_tree(leaves.count, self._hierarchy.branching)
        vectors = self._encoder.encode_nodes([NodeRequest(item, leaves, tree.lo, tree.hi)])[0]
        scores = vectors @ self._encoder.encode_queries([question])[0]
        return [{"span": leaves.span(int(tree.lo[v]), int(tree.hi[v])), "score": round(float(scores[v]), 6), "depth": int(tree.depth[v]),
                 "text": region_text(item, leaves, int(tree.lo[v]), int(tree.hi[v]))} for v in np.flatnonzero(refine(tree, scores))]


mlflow.models.set_model(NodeEncoderModel())
