"""The `canopy` program of a checkout: the commands of orchestration, given Dagster."""

from __future__ import annotations


def main() -> None:
    """Run the program."""
    from orchestration.cli.main import main as run

    run()
