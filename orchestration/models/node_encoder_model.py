"""The registered model as code (MLflow models-from-code): it answers (question, item) rows; nothing is pickled."""

from __future__ import annotations

import dataclasses
import json
import warnings
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd


class NodeEncoderModel(mlflow.pyfunc.PythonModel):
    """f_theta behind MLflow's interface: for each row the kept regions of one item for one question."""

    def load_context(self, context: Any) -> None:
        """Load f0 and the adapter."""
        from canopy.compression.compressor import Compressor
        from canopy.compression.models import open_registered

        artifacts = {name: Path(path) for name, path in context.artifacts.items()}
        self._compressor = Compressor(open_registered(artifacts["settings"], artifacts["adapter"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> list[str]:
        """The kept regions of each row's item, one JSON string a row.

        Parameters
        ----------
        model_input : DataFrame
            Columns ``question`` and ``item``; an item is the JSON of a record in the native format.

        Returns
        -------
        list of str
            A list of regions: ``fragments``, ``span`` in ``unit``, ``score``, ``depth``, ``tokens``, ``text``, and
            ``head``, the words that come once with whatever is kept of the item.

        Raises
        ------
        DataError
            If a row cannot be used; the message names the row.
        """
        rows = zip(model_input["question"], model_input["item"], strict=True)
        return [self._compress(number, str(question), item) for number, (question, item) in enumerate(rows)]

    def _compress(self, number: int, question: str, item: str) -> str:
        from canopy.errors import DataError

        try:
            compression = self._compressor.compress(question, [json.loads(item)])
        except (DataError, ValueError) as e:
            raise DataError(f"row {number}: {e}") from None
        for note in compression.notes:  # the answer's shape is MLflow's signature, which has no place for it
            warnings.warn(f"row {number}: {note}", stacklevel=2)
        evidence = compression.items[0]
        regions = [{**dataclasses.asdict(r), "unit": evidence.unit, "head": evidence.head} for r in evidence.regions]
        return json.dumps(regions, ensure_ascii=False)


mlflow.models.set_model(NodeEncoderModel())
