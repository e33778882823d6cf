"""Images of every kind come out upright, in RGB, over white, or with a reason."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from canopy.errors import MediaError
from canopy.media.images import open_image, probe_image

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def quarters() -> Image.Image:
    """40 x 20: red, green above; blue, white below."""
    image = Image.new("RGB", (40, 20))
    for i, colour in enumerate((RED, GREEN, BLUE, WHITE)):
        image.paste(colour, (i % 2 * 20, i // 2 * 10, i % 2 * 20 + 20, i // 2 * 10 + 10))
    return image


def corners(image: Image.Image) -> list[tuple[int, int, int]]:
    """The four corners' colours, rounded to full or none, row by row."""
    w, h = image.size
    return [tuple(255 * (c > 127) for c in image.getpixel(p)) for p in ((2, 2), (w - 3, 2), (2, h - 3), (w - 3, h - 3))]


@pytest.mark.parametrize("suffix", ["JPG", "png", "gif", "tiff", "webp", "bmp", "ppm"])
def test_a_format_is_read_whatever_its_name_says(tmp_path: Path, suffix: str) -> None:
    image = quarters()
    image.save(tmp_path / f"a.{suffix}", quality=95)
    picture = open_image(tmp_path / f"a.{suffix}")
    assert picture.mode == "RGB" and picture.size == (40, 20) and corners(picture) == [RED, GREEN, BLUE, WHITE]
    facts = probe_image(tmp_path / f"a.{suffix}")
    assert (facts.width, facts.height, facts.frames) == (40, 20, 1)
    (tmp_path / f"a.{suffix}").rename(tmp_path / "b.dat")
    assert open_image(tmp_path / "b.dat").tobytes() == picture.tobytes()


@pytest.mark.parametrize(
    ("orientation", "want"),
    [
        (1, [RED, GREEN, BLUE, WHITE]),
        (2, [GREEN, RED, WHITE, BLUE]),
        (3, [WHITE, BLUE, GREEN, RED]),
        (4, [BLUE, WHITE, RED, GREEN]),
        (5, [RED, BLUE, GREEN, WHITE]),
        (6, [BLUE, RED, WHITE, GREEN]),
        (7, [WHITE, GREEN, BLUE, RED]),
        (8, [GREEN, WHITE, RED, BLUE]),
        (0, [RED, GREEN, BLUE, WHITE]),
        (99, [RED, GREEN, BLUE, WHITE]),
    ],
)
def test_exif_turns_a_photo_upright(tmp_path: Path, orientation: int, want: list[tuple[int, int, int]]) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    quarters().save(tmp_path / "a.jpg", exif=exif, quality=95)
    picture = open_image(tmp_path / "a.jpg")
    assert corners(picture) == want
    facts = probe_image(tmp_path / "a.jpg")
    assert picture.size == (facts.width, facts.height) == ((20, 40) if 5 <= orientation <= 8 else (40, 20))


def test_transparent_pixels_lie_over_white(tmp_path: Path) -> None:
    half = quarters().convert("RGBA")
    half.putalpha(Image.fromarray(np.repeat(np.array([[255] * 20 + [0] * 20], np.uint8), 20, axis=0)))
    half.save(tmp_path / "rgba.png")
    half.save(tmp_path / "rgba.webp", lossless=True)
    Image.merge("LA", (Image.new("L", (40, 20), 0), half.getchannel("A"))).save(tmp_path / "la.png")
    palette = Image.new("P", (40, 20), 1)
    palette.putpalette([*RED, *GREEN, *BLUE])
    palette.paste(2, (0, 0, 20, 20))
    palette.save(tmp_path / "p.png", transparency=1)
    palette.save(tmp_path / "p.gif", transparency=1)
    Image.new("RGB", (40, 20), RED).save(tmp_path / "key.png", transparency=RED)
    assert (
        corners(open_image(tmp_path / "rgba.png"))
        == corners(open_image(tmp_path / "rgba.webp"))
        == [RED, WHITE, BLUE, WHITE]
    )
    assert corners(open_image(tmp_path / "la.png")) == [(0, 0, 0), WHITE] * 2
    assert corners(open_image(tmp_path / "p.png")) == corners(open_image(tmp_path / "p.gif")) == [BLUE, WHITE] * 2
    assert corners(open_image(tmp_path / "key.png")) == [WHITE] * 4


def test_deep_greys_keep_their_range(tmp_path: Path) -> None:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16)[None].repeat(4, axis=0)
    Image.fromarray(ramp).save(tmp_path / "i16.png")
    Image.fromarray(ramp).save(tmp_path / "i16.tiff")
    Image.fromarray(ramp.astype(np.int32) * 1000 - 70_000).save(tmp_path / "i32.tiff")
    floats = ramp.astype(np.float32) / 65535
    floats[0, 0] = np.nan
    Image.fromarray(floats).save(tmp_path / "f.tiff")
    for name in ("i16.png", "i16.tiff", "i32.tiff", "f.tiff"):
        picture = np.asarray(open_image(tmp_path / name))
        assert picture.shape == (4, 256, 3)
        assert np.abs(picture[1, :, 0].astype(int) - np.arange(256)).max() <= 1, name
    dark = np.full((4, 4), 4095, np.uint16)
    Image.fromarray(dark).save(tmp_path / "dark.png")
    assert open_image(tmp_path / "dark.png").getpixel((0, 0)) == (16, 16, 16)


@pytest.mark.parametrize("mode", ["1", "L", "CMYK", "YCbCr"])
def test_other_colour_modes_become_rgb(tmp_path: Path, mode: str) -> None:
    name = "a.png" if mode in "1L" else "a.jpg" if mode == "CMYK" else "a.tiff"
    Image.new("RGB", (40, 20), WHITE).convert(mode).save(tmp_path / name)
    picture = open_image(tmp_path / name)
    assert picture.mode == "RGB" and corners(picture) == [WHITE] * 4


@pytest.mark.parametrize("suffix", ["gif", "webp", "png", "tiff"])
def test_of_several_frames_the_first_is_shown(tmp_path: Path, suffix: str) -> None:
    frames = [Image.new("RGB", (40, 20), c) for c in (RED, GREEN, BLUE)]
    frames[0].save(tmp_path / f"a.{suffix}", save_all=True, append_images=frames[1:], duration=50, lossless=True)
    assert probe_image(tmp_path / f"a.{suffix}").frames == 3
    assert corners(open_image(tmp_path / f"a.{suffix}")) == [RED] * 4


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims this many pixels."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", b"")
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bomb(30_000, 30_000), "more than the 64,000,000 allowed|more pixels than the 64,000,000"),
        (bomb(9_000, 9_000), "9000 x 9000 pixels, more than the 64,000,000 allowed"),
        (bomb(2**31 - 1, 2**31 - 1), "more"),
        (bomb(10, 10), "cannot be decoded"),
        (b"", "the file is empty"),
        (
            b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
            "SVG drawing, which has no pixels: export it as PNG",
        ),
        (b"\n<!DOCTYPE html><html>404</html>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"),
        (b"hello", "not an image of a format that is read"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not an image of a format that is read"),
    ],
)
def test_what_is_no_image_is_refused_with_its_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(MediaError, match=f"a.png: .*({reason})"):
        open_image(tmp_path / "a.png")


def test_a_cut_off_or_absent_image_is_an_error_and_never_half_a_picture(tmp_path: Path) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8))
    for suffix in ("jpg", "png", "gif", "webp", "bmp", "tiff"):
        noise.save(tmp_path / f"a.{suffix}")
        whole = (tmp_path / f"a.{suffix}").read_bytes()
        for share in (0.3, 0.6, 0.9):
            (tmp_path / f"a.{suffix}").write_bytes(whole[:int(len(whole) * share)])
            with pytest.raises(MediaError, match=f"a.{suffix}: "):
                open_image(tmp_path / f"a.{suffix}")
    for absent in (tmp_path / "gone.png", tmp_path):
        with pytest.raises(MediaError):
            open_image(absent)


def test_real_photos_open(real_data: Path) -> None:
    photos = sorted((real_data / "media").rglob("*.jpg")) + sorted((real_data / "media").rglob("*.png"))
    assert len(photos) == 6
    for path in photos:
        picture, facts = open_image(path), probe_image(path)
        assert picture.mode == "RGB" and picture.size == (facts.width, facts.height) and facts.frames == 1
