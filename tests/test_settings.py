"""Unknown parameters are named with those that they may have been meant for."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from canopy.config import load_config
from canopy.errors import DataError


@pytest.mark.parametrize(("change", "message"), [
    ({"training": {"epoch": 3}}, "training.epoch: no such parameter; did you mean training.epochs?"),
    ({"epochs": 3}, "epochs: no such parameter; did you mean training.epochs?"),
    ({"encoder": {"kind": "minilm", "widnow": 3}}, "encoder.widnow: no such parameter; did you mean encoder.window?"),
    ({"corpus": {"near": 1}}, "corpus.near: no such parameter; corpus has fold_exact, near_duplicates"),
    ({"foo": 1}, "foo: no such parameter; params.yaml has benchmarks, ingest, "),
    ({"benchmarks": {"a": {"adapter": "native", "path": "x", "flod": "near"}}},
     "benchmarks.a.flod: no such parameter; did you mean benchmarks.a.fold?"),
    ({"training": {"epochs": 0}}, "training.epochs: Input should be greater than or equal to 1"),
])
def test_an_unknown_parameter_is_named_with_the_nearest(tmp_path: Path, change: dict[str, object],
                                                        message: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump({"benchmarks": {"a": {"adapter": "native", "path": "x"}}, **change}))
    with pytest.raises(DataError) as error:
        load_config(path)
    assert str(error.value).startswith(f"{path}: {message}") and "Extra inputs" not in str(error.value)
