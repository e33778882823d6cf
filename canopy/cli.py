"""The library's command: compresses files; where the pipeline of a checkout is installed, its program takes over."""

from __future__ import annotations

from importlib.metadata import entry_points


def main() -> None:
    """Run the pipeline's program where one is installed, otherwise the library's own command."""
    for program in entry_points(group="canopy.program"):
        program.load()()
        return
