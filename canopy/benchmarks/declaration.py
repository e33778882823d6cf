"""What a benchmark's adapter declares about it, and the part of that which later stages read from the stage's
output."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from canopy.atomic import write_json
from canopy.config import Folding
from canopy.errors import DataError
from canopy.gold.expected import Expected

DECLARATION = "benchmark.json"
# What later stages need. The rest is for whoever looks for the release files.
_WRITTEN = ("title", "licence", "home", "metric", "supporting_facts", "evidence_cap", "paper_name", "out_of_domain",
            "expected", "fold")


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """One file (or folder) of a release.

    Parameters
    ----------
    role : str
        What the adapter calls it, unique within the release: ``dev``, ``tables``.
    patterns : tuple of str
        Glob patterns of its name, as published first. A pattern that ends in ``/`` is a folder. They are matched below
        the benchmark's folder, at most six levels deep, since people unpack releases in many ways. ``a/b.json`` also
        needs the folder ``a`` above the file.
    what : str
        A short phrase for people: what is in it and what it is used for.
    url : str
        The official address of the file; empty if the publisher gives none that can be fetched directly.
    sha256 : str
        Its published or observed checksum; empty if none is known.
    """

    role: str
    patterns: tuple[str, ...]
    what: str
    url: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: ``BENCHMARK = Benchmark(...)`` in the module that holds its ``read``.

    Parameters
    ----------
    title, licence, home : str
        Its name for people, the terms of its data, and the page it comes from.
    files : tuple of ReleaseFile
        The files of its official release; empty if it has none (your own documents).
    needs : tuple of tuple of str
        What the adapter cannot do without: of each group of roles at least one must be there.
    aliases : tuple of str
        Other names that people give its folder.
    layout, notes : str
        The expected folder as published, and what a person who gets the files must know.
    metric : str
        The module of `canopy.scoring` with its official rules.
    supporting_facts : bool
        Whether its official scores include supporting facts.
    evidence_cap : {"text", "video"}
        Which cap of the reader's evidence holds: ``answers.evidence_tokens`` or ``answers.video_evidence_tokens``.
    paper_name : str
        What the paper calls it, under which the paper's figures of it stand; empty if the paper has none.
    out_of_domain : bool
        Whether the paper tests on it without training on it.
    expected : tuple of Expected
        Published counts, which are printed beside what was read.
    fold : {"equal", "near", "redirects"}
        Which of its items fold into earlier ones. Benchmarks over Wikipedia hold copies of the same pages, in another
        tokenisation and under the titles of redirects: they ask for "redirects".
    """

    title: str
    licence: str = ""
    home: str = ""
    files: tuple[ReleaseFile, ...] = ()
    needs: tuple[tuple[str, ...], ...] = ()
    aliases: tuple[str, ...] = ()
    layout: str = ""
    notes: str = ""
    metric: str = "generic"
    supporting_facts: bool = False
    evidence_cap: Literal["text", "video"] = "text"
    paper_name: str = ""
    out_of_domain: bool = False
    expected: tuple[Expected, ...] = ()
    fold: Folding = "equal"


def write_declaration(folder: Path, benchmark: Benchmark) -> None:
    """Write what later stages need as ``benchmark.json`` into the output of the stage ``benchmark``."""
    fields = asdict(benchmark)
    write_json(folder / DECLARATION, {name: fields[name] for name in _WRITTEN})


def read_declaration(folder: Path) -> Benchmark:
    """Read ``benchmark.json`` of the output of the stage ``benchmark``; its release files are not in it.

    Raises
    ------
    DataError
        If the file is missing (an earlier version made the output) or cannot be read.
    """
    path = folder / DECLARATION
    try:
        fields = json.loads(path.read_text("utf-8"))
        expected = tuple(Expected(**e) for e in fields.pop("expected"))
        return Benchmark(**fields, expected=expected)
    except FileNotFoundError:
        raise DataError(
            f"{path}: no such file; an earlier version made this output: run `canopy run`, which makes it again"
        ) from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as e:
        raise DataError(
            f"{path}: cannot be read ({type(e).__name__}: {str(e)[:120]}); `canopy run --force benchmark` writes it "
            "again"
        ) from None
