"""Items that are sent in: records of the native format, bounded, each judged on its own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from canopy.ingest.native import parse_item
from canopy.ingest.sink import Unusable, Waiting
from canopy.items import Item
from serving.schemas import ItemError, ItemNote

MAX_CHARS = 200_000
MAX_ROWS = 5_000
MAX_CELLS = 200_000
MAX_CUES = 10_000
MAX_SECONDS = 24 * 3600.0
FIELDS = frozenset((
    "id", "modality", "title", "section", "caption", "text", "header", "rows", "media", "duration", "cues", "words",
    "source"))


def parse_raw_items(
    records: Sequence[object], notes: list[ItemNote] | None = None
) -> tuple[list[Item], list[ItemError]]:
    """Split raw records into items and errors, so that a bad one does not take the good ones with it.

    What is filled in an item (a table's short rows) is added to ``notes``.

    An item without an ``id`` is named by its place, ``items[0]``. ``MAX_CELLS`` holds for all tables together.
    """
    items: list[Item] = []
    errors: list[ItemError] = []
    cells = 0
    for index, record in enumerate(records):
        remarks: list[str] = []
        try:
            item = parse_raw_item(record, f"items[{index}]", cells, remarks)
        except (Unusable, Waiting) as e:
            errors.append(ItemError(index=index, id=_name(record), reason=str(e)))
            continue
        items.append(item)
        if notes is not None:
            notes += [ItemNote(index=index, id=_name(record), note=remark) for remark in remarks]
        cells += len(item.rows) * len(item.header)
    return items, errors


def _name(record: object) -> str:
    name = record.get("id", "") if isinstance(record, Mapping) else ""
    return name[:500] if isinstance(name, str) else ""


def parse_raw_item(record: object, name: str, cells: int = 0, notes: list[str] | None = None) -> Item:
    """One native record as an item.

    Parameters
    ----------
    record : object
        Any JSON value.
    name : str
        The item's id if the record gives none.
    cells : int
        Cells that the request's other tables have already.
    notes : list of str, optional
        What is filled in it is added.

    Raises
    ------
    Unusable
        If it cannot be used, with the reason.
    """
    if not isinstance(record, dict):
        raise Unusable(f"an object is expected, not {type(record).__name__}")
    if "subtitles" in record:
        raise Unusable("the service reads no files: send `cues`, a list of [start, end, text], instead of `subtitles`")
    unknown = sorted(map(str, set(record) - FIELDS))
    if unknown:
        raise Unusable(f"unknown fields: {', '.join(unknown)[:200]}; there are {', '.join(sorted(FIELDS))}")
    check_table(record, cells)
    item = parse_item({**record, "id": record.get("id") or name}, None, "", notes)
    if item.modality == "video" and record.get("words"):
        raise Unusable("`words` are an image's; send what is said in a video as `cues`")
    check_size(item)
    if not any(words.strip() for words in _words(item)):
        field = "words" if item.modality == "image" else "cues"
        raise Unusable(f"nothing to read: a {item.modality} needs title, caption or {field}")
    return dataclasses.replace(item, source="request")


def _words(item: Item) -> list[str]:
    """Everything of an item that can be read, its section and column names aside."""
    cells = [cell for row in item.rows for cell in row]
    return [item.text, item.title, item.caption, item.words, *(c.text for c in item.cues), *cells]


def check_table(record: Mapping[str, object], cells: int) -> None:
    """Check a table's size before it is parsed, which fills ragged rows up to the widest.

    Raises
    ------
    Unusable
        If it is larger than one request may be.
    """
    header, rows = record.get("header"), record.get("rows")
    if not isinstance(rows, list):
        return
    if len(rows) > MAX_ROWS:
        raise Unusable(f"{len(rows)} rows; at most {MAX_ROWS} a table: split it")
    width = max((len(r) for r in [header, *rows] if isinstance(r, list)), default=0)
    if cells + len(rows) * width > MAX_CELLS:
        others = f" and {cells} cells in the tables before it" if cells else ""
        raise Unusable(f"{len(rows)} rows x {width} columns{others}; at most {MAX_CELLS} cells a request: "
                       "send fewer or smaller tables")


def check_size(item: Item) -> None:
    """Check an item's size.

    Raises
    ------
    Unusable
        If it is larger than one request may be.
    """
    chars = sum(map(len, (item.section, *item.header, *_words(item))))
    if chars > MAX_CHARS:
        raise Unusable(f"{chars} characters; at most {MAX_CHARS} an item: split it")
    if len(item.cues) > MAX_CUES:
        raise Unusable(f"{len(item.cues)} cues; at most {MAX_CUES} a video: cut it")
    if item.modality == "video" and not (math.isfinite(item.duration) and item.duration <= MAX_SECONDS):
        raise Unusable(f"{item.duration:g} seconds; at most {MAX_SECONDS:g} a video: cut it")
