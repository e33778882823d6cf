"""Images through Pillow, whatever their format: one upright RGB picture of bounded size, or a clear reason why not."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.errors import MediaError

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 64_000_000
# Formats that decode inside Pillow alone; those that start other programs (EPS, PDF) or open other files stay out.
# A phone's MPO is a JPEG to Pillow.
FORMATS = ("JPEG", "PNG", "GIF", "TIFF", "WEBP", "BMP", "DIB", "PPM", "AVIF", "JPEG2000", "ICO", "TGA")
_NAMED = ", ".join(FORMATS[:6])
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    OverflowError,
    MemoryError,
    AttributeError,
    ZeroDivisionError,
    RuntimeError,
    struct.error,
    zlib.error,
)


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What an image file says of itself.

    Pixels as shown (EXIF-upright), number of frames (1 if it is not animated), format.
    """

    width: int
    height: int
    frames: int
    format: str


def open_image(path: Path, max_pixels: int = MAX_PIXELS) -> Image:
    """The picture as a person sees it.

    RGB, upright by its EXIF orientation; transparent pixels over white; 16 bit scaled to 8 by their full range (65,535
    is white), whole numbers of 32 bit and floating point stretched from their least to their greatest value; CMYK
    converted; of an animated image the first frame.

    Raises
    ------
    MediaError
        If the file is absent, no image, damaged or cut short, of a format outside `FORMATS` (an SVG drawing), or of
        more than ``max_pixels`` pixels (checked before any pixel is decoded).
    """
    with _opened(path, max_pixels) as image:
        image.load()
        return _upright(_rgb(image))


def probe_image(path: Path, max_pixels: int = MAX_PIXELS) -> ImageFacts:
    """Size, frames and format from the header.

    Raises MediaError as `open_image` does, though damage further in goes unseen.
    """
    with _opened(path, max_pixels) as image:
        width, height = image.size
        if _orientation(image) >= 5:
            width, height = height, width
        return ImageFacts(width, height, int(getattr(image, "n_frames", 1)), image.format or "")


@contextmanager
def _opened(path: Path, max_pixels: int) -> Iterator[Image]:
    """The image with its header read; whatever goes wrong inside becomes a MediaError with the file and the reason."""
    from PIL import Image, UnidentifiedImageError

    Image.init()
    known = [f for f in FORMATS if f in Image.OPEN]  # some builds of Pillow lack AVIF or JPEG 2000
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata, and of sizes that are checked here
            with Image.open(path, formats=known) as image:
                width, height = image.size
                if width * height > max_pixels:
                    raise MediaError(
                        f"{path}: {width} x {height} pixels, more than the {max_pixels:,} allowed: scale the image down"
                    )
                yield image
    except FileNotFoundError:
        raise MediaError(f"{path}: no such file") from None
    except UnidentifiedImageError:
        raise MediaError(
            f"{path}: {describe_other(path) or f'not an image of a format that is read ({_NAMED} and the like)'}"
        ) from None
    except Image.DecompressionBombError:
        raise MediaError(f"{path}: more pixels than the {max_pixels:,} allowed: scale the image down") from None
    except _BROKEN as e:
        raise MediaError(f"{path}: the image cannot be decoded: {_reason(e)}; is the file complete?") from None


def _reason(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:160]


def describe_other(path: Path) -> str:
    """What a file is that is no medium of the expected kind, so that the reason helps.

    Empty if that is unknown.
    """
    with open(path, "rb") as f:
        head = f.read(2048)
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not head:
        return "the file is empty; download it again"
    if b"<svg" in text or (head[:2] == b"\x1f\x8b" and path.suffix.lower() == ".svgz"):
        return "an SVG drawing, which has no pixels: export it as PNG"
    if text.startswith((b"<!doctype html", b"<html")):
        return "a web page; download it again"
    if text.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer, not the file itself; fetch it with `git lfs pull`"
    return ""


def _orientation(image: Image) -> int:
    """The EXIF orientation, 1 (upright) to 8; 1 if there is none or the metadata is damaged."""
    try:
        value = image.getexif().get(0x0112, 1)
    except _BROKEN:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _upright(image: Image) -> Image:
    from PIL.Image import Transpose as T

    turn = {
        2: T.FLIP_LEFT_RIGHT,
        3: T.ROTATE_180,
        4: T.FLIP_TOP_BOTTOM,
        5: T.TRANSPOSE,
        6: T.ROTATE_270,
        7: T.TRANSVERSE,
        8: T.ROTATE_90,
    }.get(_orientation(image))
    return image if turn is None else image.transpose(turn)


def _rgb(image: Image) -> Image:
    """RGB of any mode; keeps the EXIF data, since the orientation is read after it."""
    from PIL import Image

    if image.mode.startswith("I") or image.mode == "F":
        picture = _grey(image).convert("RGB")
    elif image.has_transparency_data:
        over = image.convert("RGBA")
        picture = Image.new("RGBA", over.size, "white")
        picture.alpha_composite(over)
        picture = picture.convert("RGB")
    else:
        picture = image.convert("RGB")
    picture.info = {k: v for k, v in image.info.items() if k == "exif"}
    return picture


def _grey(image: Image) -> Image:
    """Deep grey values to 8 bit."""
    import numpy as np
    from PIL import Image

    values = np.asarray(image).astype(np.float32)
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        low, high = 0.0, 65535.0
    else:
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    scaled = np.nan_to_num((values - low) / max(high - low, 1e-12), nan=0.0, posinf=1.0, neginf=0.0)
    return Image.fromarray((scaled.clip(0, 1) * 255 + 0.5).astype(np.uint8))
