"""The one parser of native records.

Any JSON value becomes an item, or Unusable or Waiting with a reason that names the field.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.ingest.native import parse_item
from canopy.ingest.sink import Unusable, Waiting
from canopy.items import MODALITIES, Cue, Item

VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["a.mp4", "a.txt", "../a", "x" * 5000, "\ud800", "a\x00b"])
)
JSON = st.recursive(
    VALUES, lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=4), x, max_size=3), max_leaves=12
)
FIELDS = ("title", "section", "caption", "text", "header", "rows", "media", "duration", "cues", "subtitles", "words")
RECORDS = st.fixed_dictionaries(
    {"id": st.just("x") | JSON, "modality": st.sampled_from(MODALITIES) | JSON},
    optional={field: JSON for field in FIELDS}
    | {
        "duration": st.floats(1, 100) | JSON,
        "rows": st.lists(st.lists(JSON, max_size=3), max_size=3) | JSON,
        "cues": st.lists(
            st.tuples(st.floats(0, 9), st.floats(0, 99), st.text(max_size=5)).map(list) | JSON, max_size=3
        ),
    },
)


@pytest.mark.parametrize("files", [True, False])
def test_any_json_value_is_an_item_or_has_a_reason(tmp_path: Path, files: bool) -> None:
    (tmp_path / "a.txt").write_text("no video")
    (tmp_path / "a.mp4").write_bytes(b"no video either")

    @settings(deadline=None, max_examples=400)
    @given(JSON | RECORDS)
    def check(record: Any) -> None:
        try:
            item = parse_item(record, tmp_path if files else None, "b")
        except (Unusable, Waiting) as e:
            assert str(e) and len(str(e)) < 500
        else:
            assert isinstance(item, Item) and item.id == f"b/{record['id']}"
            item.content_digest()

    check()


def test_a_video_with_cues() -> None:
    record = {
        "id": "v",
        "modality": "video",
        "duration": 60,
        "cues": [[10, 70, "Later."], [0, 5.5, "First."], [61, 62, "After the end."]],
    }
    item = parse_item(record, None, "")
    assert [c.text for c in item.cues] == ["First.", "Later.", "After the end."] and item.duration == 60
    assert item.cues[0] == Cue(0, 5.5, "First.") and item.cues[2].start < 60


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"cues": 5}, "cues must be a list"),
        ({"cues": {"a": 1}}, "cues must be a list"),
        ({"cues": ["abc"]}, "cues: a cue is"),
        ({"cues": [5]}, "cues: a cue is"),
        ({"cues": [[1, 2]]}, "cues: a cue is"),
        ({"cues": [[1, 2, None]]}, "a cue's text must be a string"),
        ({"cues": [[None, 2, "a"]]}, "a cue's start must be a number"),
        ({"duration": 10**400}, "duration must be"),
        ({"duration": [[]]}, "duration must be a number of seconds, not list"),
        ({"title": 3}, "title must be a string"),
        ({"modality": []}, "modality must be one of"),
        ({"caption": {"a": 1}}, "caption must be a string"),
    ],
)
def test_the_reason_names_the_field(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        parse_item({"id": "v", "modality": "video", "duration": 9, **fields}, None, "")


def test_files_that_cannot_be_looked_up(tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to("b.png")
    (tmp_path / "b.png").symlink_to("a.png")
    with pytest.raises((Unusable, Waiting)):
        parse_item({"id": "i", "modality": "image", "media": "a.png"}, tmp_path, "")
    with pytest.raises(Unusable, match=r"media .* cannot be looked up"):
        parse_item({"id": "i", "modality": "image", "media": "x" * 5000}, tmp_path, "")


def test_numbers_of_thousands_of_digits() -> None:
    with pytest.raises(Unusable, match="thousands of digits"):
        parse_item({"id": "t", "modality": "table", "rows": [[10**5000]]}, None, "")
    with pytest.raises(Unusable, match="duration must be a number of seconds of at most 10,000,000, not int"):
        parse_item({"id": "v", "modality": "video", "duration": 10**5000}, None, "")
