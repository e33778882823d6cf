"""Writes each stage's code deps into dvc.yaml: ``python -m orchestration.pipeline.code_deps``.

DVC sees only the code that ``deps`` list.
"""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path
from typing import Any

from canopy.atomic import write_bytes
from canopy.stages.code import PACKAGE, code_deps


def rewrite(root: Path, text: str) -> str:
    """The text of dvc.yaml with each stage's code deps as its imports say; everything else stays."""
    from ruamel.yaml import YAML

    editor = YAML()
    editor.width, editor.preserve_quotes = 4096, True
    editor.indent(mapping=2, sequence=4, offset=2)
    document: Any = editor.load(text)
    for name, entry in document["stages"].items():
        stage = entry.get("do", entry)
        stage["deps"] = [d for d in stage.get("deps", ()) if not d.startswith(f"{PACKAGE}/")] + code_deps(root, name)
    stream = StringIO()
    editor.dump(document, stream)
    return stream.getvalue()


def main() -> int:
    """Rewrite dvc.yaml of this checkout, and say whether it changed."""
    root = Path(__file__).resolve().parents[2]
    path = root / "dvc.yaml"
    before = path.read_text("utf-8")
    after = rewrite(root, before)
    if after != before:
        write_bytes(path, after.encode())
    print("dvc.yaml: code deps " + ("rewritten from the imports" if after != before else "are those of the imports"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
