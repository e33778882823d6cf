"""Your own documents in the native format, as a benchmark like any other."""

from canopy.ingest.native import read

__all__ = ["ABOUT", "read"]

ABOUT = "your own documents: items.jsonl, questions.jsonl and media files (the format is in the README)"
