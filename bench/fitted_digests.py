"""Writes canopy/gold/fitted.json: `python bench/fitted_digests.py hotpot_train_v1.1.json`.

The file named holds the questions that the LLM-free reader and critic were fitted on; their digests keep them on the
train side of every split.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import canopy.gold.fitted as fitted
from canopy.atomic import write_json
from canopy.digests import text_sha256


def main(path: str) -> None:
    """Write the digests of a release file's questions."""
    records = json.loads(Path(path).read_text("utf-8"))
    digests = sorted({text_sha256(r["question"].strip()) for r in records})
    write_json(Path(str(fitted.__file__)).with_name(fitted.FILE), {"LLM-free reader and critic": digests})
    print(f"{len(digests)} questions")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
