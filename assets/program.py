"""The `canopy` program of a checkout: the commands of ``orchestration``, given Dagster."""

from __future__ import annotations


def main() -> None:
    """Run the program."""
    from assets.orchestrator import DagsterOrchestrator
    from orchestration.cli.main import main as run_program

    run_program(DagsterOrchestrator())


if __name__ == "__main__":
    main()
