"""Frozen models of params.yaml: every knob of the pipeline, its meaning, its bounds and its default."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from canopy.errors import DataError

NodeMode = Literal["one_pass", "separate"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Benchmark(_Frozen):
    """Where a benchmark's raw files are and which adapter (a module of ``canopy.benchmarks``) reads them."""

    adapter: str
    path: str


class Ingest(_Frozen):
    """What happens to raw data.

    ``max_quarantined_share``: the run stops when a larger share of records cannot be used. ``ocr``: read the words off images and
    video frames. ``pseudo_gold``: questions with answers but no annotated evidence get it where the answer occurs, marked as such.
    """

    max_quarantined_share: float = Field(0.05, ge=0, le=1)
    ocr: bool = True
    pseudo_gold: bool = True


class Hierarchy(_Frozen):
    """``branching`` is B of the paper; ``segment_seconds`` the length of a video leaf; ``segmentation`` what its boundaries snap to."""

    branching: int = Field(2, ge=2, le=64)
    segment_seconds: float = Field(30.0, ge=1)
    segmentation: Literal["fixed", "shots", "subtitles"] = "fixed"


class Split(_Frozen):
    """Our own split, by connected component of questions and gold items, where a benchmark brings none."""

    test_share: float = Field(0.4, gt=0, lt=1)
    seed: int = 13
    use_official: bool = False


class Encoder(_Frozen):
    """The node encoder. ``mode``: encode nodes one by one (``separate``) or an item once (``one_pass``).

    ``window`` and ``overlap`` are in tokens: longer inputs are encoded in overlapping windows, never truncated.
    """

    kind: Literal["minilm"] = "minilm"
    mode: NodeMode = "one_pass"
    window: int = Field(256, ge=16, le=512)
    overlap: int = Field(64, ge=0)
    batch_tokens: int = Field(4096, ge=256)

    @model_validator(mode="after")
    def _overlap_fits(self) -> Encoder:
        if self.overlap > (self.window - 2) // 2:
            raise ValueError(f"overlap {self.overlap} is more than half of the window of {self.window} tokens")
        return self


class Training(_Frozen):
    """LoRA training of f_theta with the preference loss (method.md; paper: r 8, alpha 16, dropout 0.05, lambda 20)."""

    rank: int = Field(8, ge=1)
    alpha: float = 16.0
    dropout: float = Field(0.05, ge=0, lt=1)
    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = 0.01
    warmup_share: float = Field(0.1, ge=0, lt=1)
    batch: int = Field(4, ge=1)
    epochs: int = Field(3, ge=1)
    temperature: float = Field(20.0, gt=0)
    checkpoint_steps: int = Field(20, ge=1)
    seed: int = 13


class Store(_Frozen):
    """``shards``: files a variant of the node store is spread over, by item id."""

    shards: int = Field(8, ge=1, le=4096)


class Index(_Frozen):
    """``device``: where FAISS searches; the saved file is in CPU form either way."""

    device: Literal["cpu", "cuda"] = "cpu"


class Evaluation(_Frozen):
    """Retrieval depths, flat selector sizes and bootstrap resamples of the evaluation."""

    recall_at: tuple[PositiveInt, ...] = Field((1, 5, 10, 20), min_length=1)
    flat_m: tuple[PositiveInt, ...] = Field((1, 2, 4), min_length=1)
    resamples: int = Field(1000, ge=100)
    confidence: float = Field(0.95, gt=0, lt=1)
    seed: int = 13


class Options(_Frozen):
    """Departures from the paper's loop, each off by default and each a row of its own (``canopy-<option>``) among the ablations.

    ``exclude_seen``: follow-ups leave out items already in evidence, inside the search. ``min_gain``: stop when a round's best new
    region scores less than this above the best so far (None: off). ``keep_margin``: keep an item whole where its best child beats the root by less (0: off).
    ``aggregate_all``: aggregate questions keep texts and videos whole too. ``flat_global``: all new items' leaves compete, those that score at least
    their root stay. ``frame_density``: kept video nodes get frames in proportion to their score. ``critic_memory``: the critic is told the
    facts known and the gaps searched. ``order``: order of the evidence. ``faithfulness``: check the answer against the evidence.
    """

    rule: Literal["parent", "lookahead"] = "parent"
    lookahead_margin: float = Field(0.01, ge=0)
    exclude_seen: bool = False
    min_gain: float | None = None
    keep_margin: float = Field(0.0, ge=0)
    aggregate_all: bool = False
    flat_global: bool = False
    frame_density: bool = False
    critic_memory: bool = False
    order: Literal["retrieval", "score", "best_last"] = "retrieval"
    faithfulness: bool = False


class Language(_Frozen):
    """The OpenAI-compatible server: where params.yaml is silent, CANOPY_LLM_BASE_URL, CANOPY_LLM_MODEL and CANOPY_LLM_API_KEY say.

    ``base_url`` empty: no server, the LLM-free roles run. ``tokenizer``: a folder with tokenizer.json, to count #Tok in the reader's own tokens.
    """

    base_url: str = ""
    model: str = ""
    tokenizer: str = ""
    sees_media: bool = False
    concurrency: int = Field(32, ge=1, le=256)
    timeout_seconds: float = Field(120.0, gt=0)
    tries: int = Field(6, ge=1, le=20)
    temperature: float = Field(0.0, ge=0, le=2)


class Answers(_Frozen):
    """The question-answering matrix: systems, corpus settings, seeds, and the loop's k and R (paper: k 10, R 3).

    ``systems`` empty: all that can run here. ``questions``: at most so many test questions of each benchmark, drawn by the seed (0: all).
    ``evidence_tokens``: the reader's cap (paper: 16k; 64k for video benchmarks). ``models``: what baselines load, by key: a folder or a hub id.
    ``budgets``: sizes that compressors are swept over. ``sweep_k``, ``sweep_rounds``: values of k and R that CANOPY and Vanilla RAG are swept over.
    """

    systems: tuple[str, ...] = ()
    settings: tuple[Literal["unified", "own", "gold"], ...] = Field(("unified", "own", "gold"), min_length=1)
    seeds: tuple[int, ...] = Field((13,), min_length=1)
    questions: int = Field(0, ge=0)
    k: int = Field(10, ge=1)
    rounds: int = Field(3, ge=1, le=16)
    evidence_tokens: int = Field(16_000, ge=100)
    video_evidence_tokens: int = Field(64_000, ge=100)
    models: dict[str, str] = Field(default_factory=dict)
    budgets: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5, 0.7)
    sweep_k: tuple[PositiveInt, ...] = ()
    sweep_rounds: tuple[PositiveInt, ...] = ()
    options: Options = Options()


class Promotion(_Frozen):
    """The gate of ``canopy promote``: what a challenger must show against the champion (or f0 where there is none)."""

    metric: str = "decision_accuracy"
    min_difference: float = 0.0
    require_interval_above: bool = True


class Config(_Frozen):
    """All of params.yaml."""

    benchmarks: dict[str, Benchmark] = Field(min_length=1)
    ingest: Ingest = Ingest()
    hierarchy: Hierarchy = Hierarchy()
    split: Split = Split()
    encoder: Encoder = Encoder()
    training: Training = Training()
    store: Store = Store()
    index: Index = Index()
    evaluation: Evaluation = Evaluation()
    language: Language = Language()
    answers: Answers = Answers()
    promotion: Promotion = Promotion()


def load_config(path: Path) -> Config:
    """Read params.yaml.

    Raises
    ------
    DataError
        Where the file is missing, is not YAML, or a key is unknown or out of bounds; the message names the key.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Config.model_validate(raw or {})
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; `canopy run` makes one from the defaults") from None
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise DataError(f"{path}: not valid YAML: {e}") from None
    except ValidationError as e:
        told = "; ".join(f"{'.'.join(map(str, x['loc'])) or 'file'}: {x['msg']}" for x in e.errors())
        raise DataError(f"{path}: {told}") from None
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror}") from None
    except (ValueError, RecursionError) as e:
        raise DataError(f"{path}: not valid YAML: {str(e)[:120]}") from None
