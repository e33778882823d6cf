"""Stage `corpus`: the items of all benchmarks in one table, what repeats folded into the first that says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from canopy.atomic import replace_directory
from canopy.benchmarks.declaration import DECLARATION, read_declaration
from canopy.config import Config, Folding
from canopy.corpus.folding import fold_items
from canopy.corpus.folds import ITEMS, KINDS, NEAR, Fold, write_folds
from canopy.errors import DataError
from canopy.items import ITEM_SCHEMA, Item, item_from_row
from canopy.paths import Paths
from canopy.progress import progress
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("corpus", per_benchmark=False, group="data", kinds=("parquet",), reads={"benchmark": ("items",)})


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Join every configured benchmark's items into ``data/corpus``.

    ``items.parquet`` holds the representatives: what retrieval searches. ``near.parquet`` holds the folded items that
    are not exact duplicates. They have nodes of their own since gold may lie in them; exact duplicates share their
    representative's. ``folded.parquet`` says which item went into which. All are sorted by id.

    Raises
    ------
    DataError
        If no benchmark has any item.
    """
    check_inputs(STAGE.name, STAGE.reads, config, paths, validator)
    files = [paths.output("benchmark", b) / "items.parquet" for b in config.benchmarks]
    tables = [pq.read_table(file, schema=ITEM_SCHEMA) for file in files]
    joined = pa.concat_tables(tables)
    if not joined.num_rows:
        names = ", ".join(config.benchmarks)
        raise DataError(f"{paths.root / 'params.yaml'}: none of the benchmarks ({names}) has an item; "
                        "data/benchmark/*/waiting.jsonl names the documents that their records wait for")
    settings = config.corpus
    tracker.log_params({"fold_exact": settings.fold_exact, "near_duplicates": settings.near_duplicates})
    checks = validator.check("corpus", {"items": joined})
    with progress("looking for duplicates", joined.num_rows, "items") as advance:
        folds = list(fold_items(_items(tables, advance), exact=settings.fold_exact, threshold=settings.near_duplicates,
                                foldings={b: _folding_of(config, paths, b) for b in config.benchmarks}))
    kind = {f.item_id: f.kind for f in folds}
    kinds = pa.array([kind.get(i, "") for i in joined["id"].to_pylist()], pa.string())
    with replace_directory(paths.output("corpus")) as out:
        for name, of_kinds in ((ITEMS, [""]), (NEAR, ["equal", "near"])):
            rows = joined.filter(pc.is_in(kinds, pa.array(of_kinds))).sort_by("id")
            pq.write_table(rows, out / name, compression="zstd", row_group_size=20_000)
        write_folds(out, folds)
        result = _describe(joined, folds)
        result.checks = checks
        write_summary(out, result)
    return result


def _items(tables: Iterable[pa.Table], advance: Callable[[int], None]) -> Iterator[Item]:
    for batch in (b for t in tables for b in t.to_batches(max_chunksize=1024)):
        yield from map(item_from_row, batch.to_pylist())
        advance(batch.num_rows)


def _folding_of(config: Config, paths: Paths, benchmark: str) -> Folding:
    """What params.yaml says of a benchmark, otherwise its adapter."""
    folder = paths.output("benchmark", benchmark)
    declared: Folding = read_declaration(folder).fold if (folder / DECLARATION).is_file() else "equal"
    return config.benchmarks[benchmark].fold or declared


def _describe(joined: pa.Table, folds: Iterable[Fold]) -> StageResult:
    """Items by benchmark and modality, and folded ones by pair of benchmarks."""
    places = zip(joined["benchmark"].to_pylist(), joined["modality"].to_pylist(), strict=True)
    of = dict(zip(joined["id"].to_pylist(), places, strict=True))
    counts = Counter(of.values())
    folded: Counter[tuple[tuple[str, str], str]] = Counter()
    pairs: Counter[tuple[str, str, str]] = Counter()
    for f in folds:
        folded[of[f.item_id], f.kind] += 1
        pairs[of[f.item_id][0], of[f.representative][0], f.kind] += 1
    left = {k: n - sum(folded[k, kind] for kind in KINDS) for k, n in counts.items()}
    total = {kind: sum(n for (_, k), n in folded.items() if k == kind) for kind in KINDS}
    result = StageResult(metrics={"items": float(sum(left.values())), "items_read": float(joined.num_rows),
                                  **{f"folded_{kind}": float(total[kind]) for kind in KINDS}})
    for m in sorted({m for _, m in counts}):
        result.metrics[f"items_{m}"] = float(sum(n for (_, x), n in left.items() if x == m))
    result.tables["items"] = [{"benchmark": b, "modality": m, "read": n,
                               **{f"{kind} duplicates": folded[(b, m), kind] for kind in KINDS},
                               "searched": left[b, m]} for (b, m), n in sorted(counts.items())]
    result.tables["folded"] = [{"benchmark": a, "into": b, **{kind: pairs[a, b, kind] for kind in KINDS}}
                               for a, b in sorted({(a, b) for a, b, _ in pairs})]
    if folds:
        result.notes.append(f"{joined.num_rows} items read; {total['exact']} exact, {total['equal']} equal and "
                            f"{total['near']} near duplicates are searched through the first item that says the same.")
    return result
