"""Which reader reads which kind of file, by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from canopy.importing.blocks import Document
from canopy.importing.csv_files import read_csv
from canopy.importing.html import read_html
from canopy.importing.ods import read_ods
from canopy.importing.office import read_docx
from canopy.importing.pdf import read_pdf
from canopy.importing.text import read_markdown, read_plain
from canopy.importing.workbook import read_xlsx

READERS: dict[str, Callable[[Path], Document]] = {
    ".txt": read_plain,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".ods": read_ods,
    ".xlsx": read_xlsx,
    ".xlsm": read_xlsx,
    ".xltx": read_xlsx,
    ".xltm": read_xlsx,
}

# What to do with files of a kind that is not read but could be, by their ending.
FIXES: dict[str, str] = dict.fromkeys((".xls", ".xlsb", ".numbers", ".fods"), "save it as .xlsx or .csv")
FIXES |= dict.fromkeys((".lrc", ".stl", ".dfxp", ".idx", ".sup"), "convert it to .srt or .vtt")
