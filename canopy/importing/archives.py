"""Office files are ZIP archives of XML.

They are looked at before a library opens them, so that none unpacks without bound.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from canopy.ingest.sink import Unusable

MAX_PARTS = 20_000
MAX_UNPACKED = 512 << 20
MAX_XML = 256 << 20
# Small parts are let through whatever their ratio: a sheet of equal cells packs a hundredfold.
MAX_RATIO, RATIO_FROM = 300, 32 << 20
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def check_office_file(path: Path, kind: str) -> int:
    """Refuse what must not be opened: encrypted or old binary files, other archives, archives that unpack to too much,
    XML with entities.

    An archive's declared sizes bind: `zipfile` never gives more of a part than it declares.

    Parameters
    ----------
    kind : str
        The folder that every file of this kind holds: ``word`` or ``xl``.

    Returns
    -------
    int
        Bytes that the archive unpacks to.

    Raises
    ------
    Unusable
        With the reason.
    """
    with open(path, "rb") as f:
        if f.read(8) == _OLE:
            raise Unusable(
                "encrypted with a password, or in the binary format from before 2007: save it unprotected in "
                "the current format"
            )
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            unpacked, xml = (
                sum(p.file_size for p in parts),
                sum(p.file_size for p in parts if p.filename.lower().endswith((".xml", ".rels"))),
            )
            if len(parts) > MAX_PARTS or unpacked > MAX_UNPACKED or xml > MAX_XML:
                raise Unusable(
                    f"unpacks to {unpacked >> 20:,} MiB in {len(parts):,} parts; at most {MAX_UNPACKED >> 20} MiB "
                    f"({MAX_XML >> 20} MiB of them XML) in {MAX_PARTS:,} parts are opened"
                )
            if unpacked > RATIO_FROM and unpacked > MAX_RATIO * path.stat().st_size:
                raise Unusable(
                    f"unpacks to {unpacked // max(1, path.stat().st_size)} times its size, more than any document of "
                    "this kind: not opened"
                )
            if not any(p.filename.startswith(f"{kind}/") for p in parts):
                raise Unusable(f"a ZIP archive, but without the folder {kind!r} that a file of this kind holds")
            for part in parts:
                if part.flag_bits & 1:
                    raise Unusable("the archive is encrypted")
                if part.filename.lower().endswith((".xml", ".rels")):
                    with archive.open(part) as f:
                        # A document type can only stand before the first element; Office writes none.
                        if b"<!DOCTYPE" in f.read(4096):
                            raise Unusable(
                                f"{part.filename} defines XML entities, which no Office program writes: not opened"
                            )
            return unpacked
    except zipfile.BadZipFile as e:
        raise Unusable(f"broken: {e}; is the file complete?") from None
    except (NotImplementedError, EOFError, zlib.error, OSError, ValueError) as e:
        raise Unusable(f"broken: {str(e)[:120] or type(e).__name__}") from None
