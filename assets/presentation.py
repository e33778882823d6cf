"""How stages look in Dagster: their group and kinds. What they are and do is declared in dvc.yaml alone."""

from __future__ import annotations

GROUPS: dict[str, str] = {
    "benchmark": "data", "gold_spans": "data", "training_instances": "data", "corpus": "data",
    "node_encoder": "model", "registered_model": "model",
    "node_embeddings": "retrieval", "item_index": "retrieval",
    "evaluation": "evaluation", "answers": "evaluation", "report": "evaluation",
}
KINDS: dict[str, set[str]] = {
    "benchmark": {"dvc", "parquet"}, "gold_spans": {"dvc", "parquet"}, "training_instances": {"dvc", "parquet"},
    "corpus": {"dvc", "parquet"}, "node_encoder": {"dvc", "pytorch"}, "node_embeddings": {"dvc", "numpy"},
    "item_index": {"dvc", "faiss"}, "evaluation": {"dvc", "parquet"}, "answers": {"dvc", "parquet"}, "report": {"dvc", "html"},
    "registered_model": {"mlflow"},
}


def group(stage: str) -> str:
    """The group of a stage's asset."""
    return GROUPS.get(stage, "other")


def kinds(stage: str) -> set[str]:
    """The kinds shown on a stage's asset."""
    return KINDS.get(stage, {"dvc"})
