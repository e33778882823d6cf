"""Frozen models of params.yaml: every knob of the pipeline, its meaning, its bounds and its default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import AliasChoices, Field, PositiveInt, ValidationError

from canopy.errors import DataError
from canopy.settings import AnyEncoder, Frozen, describe_errors, parse_encoder

# Which regions are kept: see `canopy.refinement.refine`.
RefinementRule = Literal["parent", "lookahead"]
REFINEMENT_RULES: tuple[RefinementRule, ...] = get_args(RefinementRule)
CorpusScope = Literal["unified", "own", "gold"]
# What is searched, by scope, as tables call it.
CORPUS_SCOPES: dict[CorpusScope, str] = {
    "unified": "unified corpus", "own": "the benchmark's own corpus", "gold": "gold items given"}

# Which items of a benchmark fold into earlier ones: those that read the same; also those that say the same with words
# added; also one text under several titles, as redirects give it. Each takes in those before it.
Folding = Literal["equal", "near", "redirects"]
FOLDINGS: tuple[Folding, ...] = get_args(Folding)


class Select(Frozen):
    """Which of a benchmark's questions are trained and measured on; its items are all kept.

    ``splits``, ``types``: as the benchmark names them; empty: all. ``keep``: every question, or those whose gold can
    be ``located`` inside its items. ``limit``: at most so many of what is left, drawn by ``seed``; 0: no limit.
    """

    splits: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    keep: Literal["all", "located"] = "all"
    limit: int = Field(default=0, ge=0)
    seed: int = 13


class BenchmarkEntry(Frozen):
    """A benchmark: where its raw files are, its adapter (a module of ``canopy.benchmarks``), the questions to use.

    ``fold``: which of its items fold into earlier ones; unless set, what the adapter declares (your own documents:
    "equal").
    """

    adapter: str
    path: str
    select: Select = Select()
    fold: Folding | None = None


class Ingest(Frozen):
    """What happens to raw data.

    ``max_quarantined_share``: the run stops when a larger share of records cannot be used, and those are at least
    ``min_quarantined`` or most of all (of a few records, one or two are a large share but no sign of a broken
    release); 0: none may be bad. ``ocr``: read the words off images and video frames. ``pseudo_gold``: questions with
    answers but no annotated evidence get it where the answer occurs, marked as such; ``pseudo_gold_limit``: unless
    that is in more items than so many.
    """

    max_quarantined_share: float = Field(default=0.05, ge=0, le=1)
    min_quarantined: int = Field(default=5, ge=1)
    ocr: bool = True
    pseudo_gold: bool = True
    pseudo_gold_limit: int = Field(default=10, ge=1)


class Hierarchy(Frozen):
    """The shape of an item's tree.

    ``branching`` is B of the paper; ``segment_seconds`` the length of a video leaf; ``segmentation`` what its
    boundaries snap to.
    """

    branching: int = Field(default=2, ge=2, le=64)
    segment_seconds: float = Field(default=30.0, ge=1)
    segmentation: Literal["fixed", "shots", "subtitles"] = "fixed"


class Split(Frozen):
    """Our own split, by connected component of questions and gold items of all benchmarks, if a benchmark brings none.

    ``near_duplicates``: the Jaccard similarity of word triples from which two questions or two gold items say the
    same and may not be on both sides; 1: copies, and gold that stands inside other gold; 0: nothing is compared.
    """

    test_share: float = Field(default=0.4, gt=0, lt=1)
    seed: int = 13
    use_official: bool = False
    near_duplicates: float = Field(default=0.9, ge=0, le=1)


class Corpus(Frozen):
    """What the corpus folds.

    ``fold_exact``: items that read the same, title, headings, signs and digits included. ``near_duplicates``: the
    Jaccard similarity from which items of benchmarks that ask for near-duplicates (``fold``) are such; 0: none fold.
    """

    fold_exact: bool = True
    near_duplicates: float = Field(default=0.9, ge=0, le=1)


class Training(Frozen):
    """LoRA training of f_theta with the preference loss (paper: r 8, alpha 16, dropout 0.05, lambda 20).

    ``per_modality``: beside the one adapter for all modalities, train one for each (the system
    ``canopy-per-modality``; ``modality_ranks`` gives some of them another rank).
    """

    rank: int = Field(default=8, ge=1)
    alpha: float = 16.0
    dropout: float = Field(default=0.05, ge=0, lt=1)
    learning_rate: float = Field(default=1e-3, gt=0)
    weight_decay: float = 0.01
    warmup_share: float = Field(default=0.1, ge=0, lt=1)
    batch: int = Field(default=4, ge=1)
    epochs: int = Field(default=3, ge=1)
    temperature: float = Field(default=20.0, gt=0)
    checkpoint_steps: int = Field(default=20, ge=1)
    seed: int = 13
    per_modality: bool = False
    modality_ranks: dict[Literal["text", "table", "image", "video"], PositiveInt] = Field(default_factory=dict)


class Store(Frozen):
    """The node store.

    ``shards``: files that a variant is spread over, by item id. ``branchings``: further values of B whose nodes are
    encoded too. Those become rows of the report, in which CANOPY refines trees of another B; everything else keeps
    ``hierarchy.branching``.
    """

    shards: int = Field(default=8, ge=1, le=4096)
    branchings: tuple[Annotated[int, Field(ge=2)], ...] = ()


# By f0's vectors, by words (BM25), or by both.
Retrieval = Literal["dense", "bm25", "hybrid"]


class Index(Frozen):
    """``device``: where FAISS searches; the saved file is in CPU form either way. ``retrieval``: how the service and
    ``canopy compress`` search a corpus; the paper's systems always search by vectors (dense).
    """

    device: Literal["cpu", "cuda"] = "cpu"
    retrieval: Retrieval = "hybrid"


class Evaluation(Frozen):
    """Retrieval depths, flat selector sizes and bootstrap resamples of the evaluation."""

    recall_at: tuple[PositiveInt, ...] = Field(default=(1, 5, 10, 20), min_length=1)
    flat_m: tuple[PositiveInt, ...] = Field(default=(1, 2, 4), min_length=1)
    resamples: int = Field(default=1000, ge=100)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    seed: int = 13


class Options(Frozen):
    """Departures from the paper's loop, each off by default and each a system of its own, ``canopy-<option>``.

    ``exclude_seen``: follow-ups leave out items already in evidence, inside the search. ``min_gain``: stop when a
    follow-up round added a smaller share than this of all words kept (None: off). ``keep_margin``: keep an item whole
    if none of its kept regions beats the root by as much (0: off). ``aggregate_all``: aggregate questions keep
    texts and videos whole too. ``flat_global``: all new items' leaves are one list, those that score at least their
    parent stay. ``frame_density``: kept video regions get frames by their score, the same number in all.
    ``critic_memory``: the critic gets the facts known and the gaps searched. ``order``: order of the evidence.
    ``faithfulness``: check the answer against the evidence.
    """

    rule: RefinementRule = "parent"
    lookahead_margin: float = Field(default=0.01, ge=0)
    exclude_seen: bool = False
    min_gain: float | None = None
    keep_margin: float = Field(default=0.0, ge=0)
    aggregate_all: bool = False
    flat_global: bool = False
    frame_density: bool = False
    critic_memory: bool = False
    order: Literal["retrieval", "score", "best_last"] = "retrieval"
    faithfulness: bool = False


class Language(Frozen):
    """The OpenAI-compatible server.

    What params.yaml leaves empty comes from CANOPY_LLM_BASE_URL, CANOPY_LLM_MODEL and CANOPY_LLM_API_KEY.

    ``base_url`` empty: no server, the LLM-free roles run. ``tokenizer``: a folder with tokenizer.json, to count #Tok
    in the reader's own tokens.
    """

    base_url: str = ""
    model: str = ""
    tokenizer: str = ""
    sees_media: bool = False
    concurrency: int = Field(default=32, ge=1, le=256)
    timeout_seconds: float = Field(default=120.0, gt=0)
    tries: int = Field(default=6, ge=1, le=20)
    temperature: float = Field(default=0.0, ge=0, le=2)


class Answers(Frozen):
    """The question-answering matrix: systems, corpus scopes, seeds, and the loop's k and R (paper: k 10, R 3).

    ``systems`` empty: all that can run here. ``questions``: at most so many test questions of each benchmark, drawn
    by the seed (0: all). ``evidence_tokens``: the reader's cap (paper: 16k; 64k for video benchmarks). ``models``:
    what baselines load, by key: a folder or a hub id. ``budgets``: shares, above 0 and up to 1, that compressors are
    swept over. ``sweep_k``, ``sweep_rounds``: values of k and R that CANOPY and Vanilla RAG are swept over.
    ``readers``: further servers whose models answer too, each written as ``language`` is; every system runs with
    each.
    """

    systems: tuple[str, ...] = ()
    # Earlier versions wrote it `settings`.
    corpus_scopes: tuple[CorpusScope, ...] = Field(default=("unified", "own", "gold"), min_length=1,
                                                   validation_alias=AliasChoices("corpus_scopes", "settings"))
    seeds: tuple[int, ...] = Field(default=(13,), min_length=1)
    questions: int = Field(default=0, ge=0)
    k: int = Field(default=10, ge=1)
    rounds: int = Field(default=3, ge=1, le=16)
    evidence_tokens: int = Field(default=16_000, ge=100)
    video_evidence_tokens: int = Field(default=64_000, ge=100)
    models: dict[str, str] = Field(default_factory=dict)
    budgets: tuple[Annotated[float, Field(gt=0, le=1)], ...] = (0.1, 0.2, 0.3, 0.5, 0.7)
    sweep_k: tuple[PositiveInt, ...] = ()
    sweep_rounds: tuple[Annotated[int, Field(ge=1, le=16)], ...] = ()
    readers: tuple[Language, ...] = ()
    options: Options = Options()


class Promotion(Frozen):
    """The gate of ``canopy promote``: what a challenger must show against the champion (or f0 if there is none)."""

    metric: str = "decision_accuracy"
    min_difference: float = 0.0
    require_interval_above: bool = True


class Config(Frozen):
    """All of params.yaml."""

    benchmarks: dict[str, BenchmarkEntry] = Field(min_length=1)
    ingest: Ingest = Ingest()
    hierarchy: Hierarchy = Hierarchy()
    split: Split = Split()
    corpus: Corpus = Corpus()
    encoder: AnyEncoder = Field(default_factory=lambda: parse_encoder({}))
    training: Training = Training()
    store: Store = Store()
    index: Index = Index()
    evaluation: Evaluation = Evaluation()
    language: Language = Language()
    answers: Answers = Answers()
    promotion: Promotion = Promotion()


def _resolve_folders(raw: Any, folder: Path) -> Any:
    """Folders of models and tokenizers as full paths: a process that is started elsewhere must find the same ones.

    They stand in ``encoder.model``, in ``language.tokenizer`` and in that of each of ``answers.readers``.
    """
    if not isinstance(raw, dict):
        return raw
    resolved = {**raw, "encoder": _resolve(raw.get("encoder"), "model", folder),
                "language": _resolve(raw.get("language"), "tokenizer", folder)}
    answers = raw.get("answers")
    if isinstance(answers, dict) and isinstance(readers := answers.get("readers"), list):
        resolved["answers"] = {**answers, "readers": [_resolve(r, "tokenizer", folder) for r in readers]}
    return {k: v for k, v in resolved.items() if k in raw}


def _resolve(settings: Any, key: str, folder: Path) -> Any:
    name = settings.get(key) if isinstance(settings, dict) else None
    if not isinstance(name, str) or not name.strip():
        return settings
    try:
        place = folder / Path(name.strip()).expanduser()
    except RuntimeError:  # "~name" names no user of this machine
        return settings
    return {**settings, key: str(place.resolve())} if place.is_dir() else settings


def load_config(path: Path) -> Config:
    """Read params.yaml.

    Raises
    ------
    DataError
        If the file is missing, is not YAML, or a key is unknown or out of bounds; the message names the key.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Config.model_validate(_resolve_folders(raw or {}, path.parent))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; `canopy run` makes one from the defaults") from None
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise DataError(f"{path}: not valid YAML: {' '.join(str(e).split())}") from None
    except ValidationError as e:
        raise DataError(f"{path}: {describe_errors(e, Config)}") from None
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror}") from None
    except (ValueError, RecursionError) as e:
        raise DataError(f"{path}: not valid YAML: {str(e)[:120]}") from None
