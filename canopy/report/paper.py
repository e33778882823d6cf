"""The paper's own figures, as data: what it published, where, and for which benchmark and system.

CANOPY, arXiv 2610.00923. Values are what the paper states; nothing here is computed. The numbers of tables and figures
are those under which the paper treats a subject; under which one a figure of its running text belongs is our reading,
and one that belongs to none has no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SOURCE = "CANOPY, arXiv 2610.00923"
READER = "Qwen3-VL-8B"
NOTE = (f"{SOURCE}: Qwen3-VL-Embedding-2B as encoder, {READER} as reader unless said, 32.9 million items searched, "
        f"4,162 training questions. "
        "Encoder, reader, corpus and sample are not this run's: the paper's figures stand beside ours to show what it "
        "found, not to be compared digit by digit.")
SHORT_NOTE = (f"{SOURCE}: another encoder, reader, corpus and sample than this run's. To show what it found, not to be "
              f"compared digit by digit.")

# The columns of the paper's Table 1 and the rows of its Table 12. An adapter declares what the paper calls its
# benchmark.
BENCHMARKS = ("NQ", "HotpotQA", "OTT-QA", "MMQA", "LVBench")
OUT_OF_DOMAIN = ("2Wiki", "TAT-QA", "LongVideoBench")

TITLES = {
    "Table 1": "Main comparison", "Table 2": "Components", "Table 3": "Sensitivity", "Table 4": "Encoder",
    "Table 5": "Corpus", "Table 6": "AKS at other budgets",
    "Table 7": "Compressors at other budgets", "Table 8": "Components, routed", "Table 9": "Branching B",
    "Table 10": "Items a round, k", "Table 11": "Gold recall",
    "Table 12": "Out of domain", "Table 13": "Case study 1", "Table 14": "Case study 2",
    "Figure 2": "Quality against tokens", "Figure 4": "Compressors",
    "Figure 5": "Selection, gold items given", "Figure 6": "Scores by level", "Figure 7": "Flat selection by m",
    "Figure 8": "Decisions",
    "Figure 9": "What refinement decides",
}


@dataclass(frozen=True, slots=True)
class Published:
    """One figure of the paper, for a benchmark (as the paper calls it) and a system (our name of it).

    Shares lie in [0, 1].
    """

    place: str
    benchmark: str
    system: str
    measure: str
    value: float


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says in words or as a range. ``place`` is empty where we know no table or figure of it."""

    place: str
    what: str
    says: str


MAIN: dict[str, tuple[tuple[float, ...], ...]] = {
    # EM and F1 on NQ, HotpotQA, OTT-QA, MMQA; accuracy on LVBench; the mean of EM and accuracy.
    "no-retrieval": ((17.5, 29.0), (23.3, 31.4), (7.5, 11.9), (23.1, 27.1), (30.4,), (20.4,)),
    "vanilla": ((38.2, 52.6), (38.9, 49.7), (12.9, 17.5), (40.1, 45.9), (34.4,), (32.9,)),
    "universal-rag": ((35.0, 50.4), (36.5, 46.7), (10.5, 14.4), (36.9, 42.0), (41.8,), (32.1,)),
    "ircot": ((35.0, 51.3), (47.4, 61.8), (24.3, 30.8), (38.9, 46.9), (17.8,), (32.7,)),
    "canopy": ((39.7, 54.4), (49.6, 62.1), (27.7, 33.4), (45.1, 51.1), (35.0,), (39.4,)),
    "canopy-routed": ((38.1, 52.7), (47.6, 60.1), (20.1, 24.9), (42.1, 47.4), (43.4,), (38.3,)),
}
MEAN = "mean"
_TOKENS = {"NQ": 1512, "HotpotQA": 1816, "OTT-QA": 2796, "MMQA": 2123, "LVBench": 3978}


def _main() -> Iterable[Published]:
    for system, row in MAIN.items():
        for benchmark, values in zip((*BENCHMARKS, MEAN), row, strict=True):
            for measure, value in zip(("em", "f1") if len(values) == 2 else ("accuracy",), values, strict=True):
                yield Published("Table 1", benchmark, system, measure, round(value / 100, 4))


PUBLISHED: tuple[Published, ...] = (
    *_main(),
    *(Published("Figure 2", b, "canopy", "tokens", float(n)) for b, n in _TOKENS.items()),
    Published("Table 4", MEAN, "f0", "decision_accuracy", .369),
    Published("Table 4", MEAN, "f_theta", "decision_accuracy", .585),
    Published("Table 4", "NQ", "f0", "decision_accuracy", .350),
    Published("Table 4", "NQ", "f_theta", "decision_accuracy", .707),
    Published("Table 4", "HotpotQA", "f0", "decision_accuracy", .430),
    Published("Table 4", "HotpotQA", "f_theta", "decision_accuracy", .719),
    Published("Table 4", "LVBench", "f0", "decision_accuracy", .283),
    Published("Table 4", "LVBench", "f_theta", "decision_accuracy", .343),
    Published("Table 11", MEAN, "f_theta", "gold_recall", .794),
    Published("Table 11", "LVBench", "f_theta", "gold_recall", .607),
    Published("Figure 5", "LVBench", "canopy", "accuracy", .564),
    Published("Figure 5", "LVBench", "gold-item", "accuracy", .562),
    Published("Figure 5", "LVBench", "gold-span", "accuracy", .530),
    Published("Figure 5", "OTT-QA", "gold-item", "f1", .705),
    Published("Figure 5", "OTT-QA", "canopy", "f1", .678),
    Published("Table 12", "2Wiki", "canopy", "f1", .602), Published("Table 12", "2Wiki", "canopy", "em", .510),
)

CLAIMS: tuple[Claim, ...] = (
    Claim("Table 1", "InternVL3.5-8B as reader, means", "CANOPY 37.8, Vanilla RAG 33.0, UniversalRAG 30.7, IRCoT 28.9"),
    Claim("Table 1", "HotpotQA F1 over IRCoT", "+0.3, 95% interval [-1.7, +2.2]"),
    Claim("Figure 2", "tokens against the others", "at most 28% above Vanilla RAG, 46–88% below UniversalRAG"),
    Claim("Table 2", "without projection",
          "+14.2–27.7% tokens, EM -0.9 to +1.2 (every interval holds 0); LVBench +0.4"),
    Claim("Table 2", "without iteration", "EM -10.1 on HotpotQA, -14.9 on OTT-QA"),
    Claim("Table 3", "B from 2 to 4; k from 5 to 20", "little change; 3.6–3.9 times the tokens for at most 2.8 EM"),
    Claim("Table 4", "refinable items that lost something, f0 to f_theta", "30.4–39.6% to 85.2–95.6%"),
    Claim("Table 4", "fine-tuning", "saves 6.8–19.1% tokens at +0.3 to +0.9 F1 or accuracy"),
    Claim("Table 5", "items searched", "32.9M: 32.4M passages, 429K tables, 57K images, 1.5K video segments"),
    Claim("Table 6", "AKS (M = 16)", "1.5 times the tokens, -2.8 points"),
    Claim("Table 7", "LongLLMLingua (rho = 0.55)", "saturates 1.4–16.5 F1 below CANOPY"),
    Claim("Table 7", "S2G-RAG", "5.6 LLM calls a question against CANOPY's 2.8 (own corpora)"),
    Claim("Table 7", "defaults of the baselines", "RECOMP N = 1, LongLLMLingua rho = 0.55, AKS M = 16"),
    Claim("Table 8", "routed, LVBench: without and with compression", "45.2 to 43.4 accuracy at -33.3% tokens"),
    Claim("Table 8", "routed, LVBench, InternVL3.5-8B", "34.0 at 31,218 tokens against UniversalRAG's 37.2 at 27,290"),
    Claim("Table 9", "B from 2 to 4", "little change"),
    Claim("Table 10", "k from 5 to 20", "3.6–3.9 times the tokens, at most 2.8 EM"),
    Claim("Table 10", "CANOPY at k = 5 against Vanilla RAG at k = 20",
          "better on HotpotQA, OTT-QA and MMQA with 31–35% of the tokens"),
    Claim("Table 11", "gold fragments kept", "79.4% (LVBench 60.7%)"),
    Claim("Table 12", "means", "CANOPY 56.7 over the three"),
    Claim("Table 12", "2Wiki", "F1 60.2, EM 51.0 (Vanilla RAG 50.2); compositional questions 47.0 against 25.7"),
    Claim("Table 12", "TAT-QA", "72.1 (whole items 72.4)"),
    Claim("Table 12", "LongVideoBench", "48.2 (whole items 49.5)"),
    Claim("Figure 5", "LVBench, gold items given",
          "56.4 at -40.0% tokens; whole item 56.2, gold span 53.0; the difference's interval [-3.4, +3.8]"),
    Claim("Figure 5", "OTT-QA, gold items given", "F1 70.5 to 67.8 at -27.5% tokens"),
    Claim("Figure 5", "NQ and HotpotQA, gold items given", "about 5% fewer tokens"),
    Claim("Figure 8", "decisions of f_theta on video", "34.3% right"),
    Claim("", "rounds and LLM calls a question, unified corpus", "2.1 rounds, 3.0 calls (Vanilla RAG 1.0)"),
    Claim("", "items of follow-up rounds that were in evidence already", "63.3% (51.2–76.6% by benchmark)"),
    Claim("", "one frame", "about 222 tokens"),
    Claim("", "inference", "4 x RTX A6000 48 GB, vLLM, batch 200, 32 concurrent"),
)
# Items that the paper searches, rounded as it rounds them; of videos, pre-cut segments.
CORPUS_SIZES = {"text": 32_400_000, "table": 429_000, "image": 57_000, "video": 1_500, "all": 32_900_000}
# What the paper names beside its baselines, and in a sentence why it is no row here.
RELATED = (
    ("RAPTOR",
     "builds trees of summaries bottom up and retrieves summaries; CANOPY's trees hold the item's own words, and cut "
     "them."),
    ("Mix-of-Granularity",
     "routes a question to one granularity for all documents; CANOPY decides it within every item."),
    ("TableRAG",
     "retrieves a table's columns and cells; CANOPY keeps rows, by the rule that it keeps sentences and segments by."),
    ("VideoRAG", "picks key frames of retrieved videos; CANOPY keeps stretches of time, and shows frames from those."),
)


def find_published(places: Sequence[str], benchmark: str, system: str) -> Mapping[str, float]:
    """The paper's figures of a system on a benchmark, by measure; empty where it published none."""
    return {p.measure: p.value for p in PUBLISHED if p.place in places and p.benchmark == benchmark
            and p.system == system}

