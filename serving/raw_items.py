"""Items that are sent in: records of the native format, bounded, each judged on its own."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from canopy.ingest.native import parse_item
from canopy.ingest.sink import Unusable, Waiting
from canopy.items import Item
from serving.schemas import ItemError

MAX_CHARS = 200_000
MAX_ROWS = 5_000
MAX_CELLS = 200_000
MAX_CUES = 10_000
MAX_SECONDS = 24 * 3600.0
FIELDS = frozenset(("id", "modality", "title", "section", "caption", "text", "header", "rows", "media", "duration", "cues", "words", "source"))


def parse_raw_items(records: list[Any]) -> tuple[list[Item], list[ItemError]]:
    """Split raw records into items and errors, so that a bad one does not take the good ones with it.

    An item without an ``id`` is named by its place, ``items[0]``. ``MAX_CELLS`` holds for all tables together.
    """
    items: list[Item] = []
    errors: list[ItemError] = []
    cells = 0
    for index, record in enumerate(records):
        try:
            item = parse_raw_item(record, f"items[{index}]", cells)
            items.append(item)
            cells += len(item.rows) * len(item.header)
        except (Unusable, Waiting) as e:
            errors.append(ItemError(index=index, id=_name(record), reason=str(e)))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, OverflowError) as e:
            errors.append(ItemError(index=index, id=_name(record), reason=f"not in the native format: {type(e).__name__}: {str(e)[:200]}"))
    return items, errors


def _name(record: Any) -> str:
    name = record.get("id", "") if isinstance(record, dict) else ""
    return name[:500] if isinstance(name, str) else ""


def parse_raw_item(record: Any, name: str, cells: int = 0) -> Item:
    """One native record as an item; Unusable with the reason where it cannot be used.

    ``cells`` are those that the request's other tables have already.
    """
    if not isinstance(record, dict):
        raise Unusable(f"an object is expected, not {type(record).__name__}")
    if "subtitles" in record:
        raise Unusable("the service reads no files: send `cues`, a list of [start, end, text], instead of `subtitles`")
    unknown = sorted(map(str, set(record) - FIELDS))
    if unknown:
        raise Unusable(f"unknown fields: {', '.join(unknown)[:200]}; there are {', '.join(sorted(FIELDS))}")
    check_table(record, cells)
    item = parse_item({**record, "id": record.get("id") or name}, None, "")
    if item.modality == "video" and record.get("words"):
        raise Unusable("`words` are an image's; send what is said in a video as `cues`")
    check_size(item)
    if not any(w.strip() for w in (item.text, item.title, item.caption, item.words, *(c.text for c in item.cues), *(c for r in item.rows for c in r))):
        raise Unusable(f"nothing to read: a {item.modality} needs title, caption or {'words' if item.modality == 'image' else 'cues'}")
    return dataclasses.replace(item, source="request")


def check_table(record: dict[str, Any], cells: int) -> None:
    """Unusable where a table is larger than one request may be; before parsing, which fills ragged rows up to the widest."""
    header, rows = record.get("header"), record.get("rows")
    if not isinstance(rows, list):
        return
    if len(rows) > MAX_ROWS:
        raise Unusable(f"{len(rows)} rows; at most {MAX_ROWS} a table: split it")
    width = max((len(r) for r in [header, *rows] if isinstance(r, list)), default=0)
    if cells + len(rows) * width > MAX_CELLS:
        others = f" and {cells} cells in the tables before it" if cells else ""
        raise Unusable(f"{len(rows)} rows x {width} columns{others}; at most {MAX_CELLS} cells a request: send fewer or smaller tables")


def check_size(item: Item) -> None:
    """Unusable where an item is larger than one request may be."""
    chars = sum(map(len, (item.text, item.title, item.section, item.caption, item.words, *(c.text for c in item.cues),
                          *item.header, *(c for r in item.rows for c in r))))
    if chars > MAX_CHARS:
        raise Unusable(f"{chars} characters; at most {MAX_CHARS} an item: split it")
    if len(item.cues) > MAX_CUES:
        raise Unusable(f"{len(item.cues)} cues; at most {MAX_CUES} a video: cut it")
    if item.modality == "video" and not (math.isfinite(item.duration) and item.duration <= MAX_SECONDS):
        raise Unusable(f"{item.duration:g} seconds; at most {MAX_SECONDS:g} a video: cut it")
