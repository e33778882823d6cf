"""Small documents of every kind, written on the spot."""

from __future__ import annotations

import zlib
from pathlib import Path

from PIL import Image

Words = tuple[float, float, float, str]  # x and y from the lower left corner, size, text
PROSE = ("The harbour was dredged in 1911 and again in 1934. Ships of up to nine metres draught can enter it. "
         "A lighthouse stands on the northern pier.")


def pdf(
    path: Path,
    pages: list[list[Words]],
    boxes: dict[int, list[tuple[float, float, float, float]]] | None = None,
    title: str = "",
    packed: bytes | None = None,
) -> Path:
    """A PDF with the given words (Helvetica) and, by page number from 0, stroked rectangles (x, y, width, height)."""
    objects: list[bytes] = []
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects += [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
                b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for number, words in enumerate(pages):
        content = "".join(f"{x} {y} {w} {h} re S\n" for x, y, w, h in (boxes or {}).get(number, []))
        escaped = [(x, y, s, t.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")) for x, y, s, t in words]
        content = (content + "".join(f"BT /F1 {s} Tf {x} {y} Td ({t}) Tj ET\n" for x, y, s, t in escaped)).encode(
            "latin-1"
        )
        content = zlib.compress(content) if packed is None else packed
        objects += [f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R "
                    f"/Resources << /Font << /F1 3 0 R >> >> >>".encode(),
                    f"<< /Length {len(content)} /Filter /FlateDecode >>\nstream\n".encode() + content + b"\nendstream"]
    if title:
        objects.append(f"<< /Title ({title}) >>".encode())
    out, places = b"%PDF-1.4\n", []
    for n, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{n} 0 obj\n".encode() + body + b"\nendobj\n"
    info = f" /Info {len(objects)} 0 R" if title else ""
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(f"{p:010d} 00000 n \n" for p in places)
    path.write_bytes(
        out
        + table.encode()
        + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R{info} >>\nstartxref\n{len(out)}\n%%EOF\n".encode()
    )
    return path


def lines(text: str, x: float = 72, y: float = 760, size: float = 11, per_line: int = 60) -> list[Words]:
    """Text broken into lines, from a height downwards."""
    placed_words: list[Words] = []
    line = ""
    for word in [*text.split(), ""]:
        if line and (not word or len(line) + len(word) >= per_line):
            placed_words.append((x, y - 1.3 * size * len(placed_words), size, line.strip()))
            line = ""
        line += f" {word}"
    return placed_words


def picture(path: Path, colour: str = "teal", size: tuple[int, int] = (24, 16)) -> Path:
    """A small picture; its kind by the path's ending."""
    Image.new("RGB", size, colour).save(path)
    return path
