"""One spelling of a system's name: evaluations of earlier versions are read under the names of today."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from canopy.errors import DataError
from canopy.evaluation.systems import GOLD, ONE_PASS, TUNED, WHOLE, any_level, current_name, flat_leaf, frozen
from canopy.report.results import TABLES, read_evaluation


@pytest.mark.parametrize(("earlier", "name"), [
    ("f0 one_pass", frozen("one_pass")), ("f0 separate", frozen("separate")), ("flat leaf m=2", flat_leaf(2)),
    ("any-level m=4", any_level(4)), ("whole item", WHOLE), ("gold span", GOLD), (TUNED, TUNED)])
def test_names_of_earlier_versions(earlier: str, name: str) -> None:
    assert current_name(earlier) == name == current_name(name)


def test_an_evaluation_of_an_earlier_version_still_opens(tmp_path: Path) -> None:
    for table in TABLES:
        pq.write_table(pa.table({"system": ["f0 one_pass", TUNED]}), tmp_path / f"{table}.parquet")
    assert {n for frame in read_evaluation(tmp_path).values() for n in frame["system"]} == {ONE_PASS, TUNED}
    (tmp_path / "levels.parquet").unlink()
    with pytest.raises(DataError, match="canopy run"):
        read_evaluation(tmp_path)
