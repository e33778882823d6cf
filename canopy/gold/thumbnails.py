"""A small copy of an image inside a page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from canopy.errors import MediaError
from canopy.items import Item

_SIZE = (360, 360)  # pixels, at most
_QUALITY = 82


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """An image as a JPEG in base64, or, if there is none, why (``missing``)."""

    width: int = 0
    height: int = 0
    data: str = ""
    missing: str = ""


def make_thumbnail(item: Item, media: Sequence[Path]) -> Thumbnail:
    """A small JPEG of an item's image.

    Parameters
    ----------
    media : sequence of Path
        Folders that the image's path counts from; the first that holds the file is taken. A path that leaves its folder
        is none.
    """
    path = _find(item, media)
    if path is None:
        return Thumbnail(missing="its file is not there")
    from canopy.media.images import open_image

    try:
        image = open_image(path)
    except MediaError as e:
        return Thumbnail(missing=f"its file cannot be shown: {str(e).replace(str(path), path.name)}")
    image.thumbnail(_SIZE)
    jpeg = io.BytesIO()
    image.save(jpeg, "JPEG", quality=_QUALITY)
    return Thumbnail(image.width, image.height, base64.b64encode(jpeg.getvalue()).decode())


def _find(item: Item, media: Sequence[Path]) -> Path | None:
    for folder in media if item.media else ():
        path = folder / item.media
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return path
    return None
