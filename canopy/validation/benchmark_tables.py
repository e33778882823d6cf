"""The checked tables of a benchmark: its items, questions, annotations, gold spans and modalities."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from canopy.validation.columns import Tables, count_chars, count_values, is_known, item_sizes, look_up

_MODALITY_OF_UNIT = {"chars": "text", "rows": "table", "seconds": "video"}


def tabulate_items(tables: Tables) -> pa.Table:
    """One row an item; ``content`` counts its characters, rows or seconds (an image has its file)."""
    items = tables["items"]
    blank = pc.and_(pc.equal(items["modality"], "text"), pc.equal(count_chars(items["text"]), 0))
    sizes = pc.if_else(pc.equal(items["modality"], "image"), 1.0, item_sizes(items))
    content = pc.if_else(pc.fill_null(blank, False), 0.0, sizes)
    return pa.table({"id": items["id"], "modality": items["modality"], "content": content})


def tabulate_questions(tables: Tables) -> pa.Table:
    """One row a question: its length (``words``), how many answers it has, and how many of them are blank."""
    questions = tables["questions"]
    answers = questions["answers"].combine_chunks()
    owner = pc.list_parent_indices(answers).to_numpy(zero_copy_only=False)
    texts = pa.chunked_array([pc.list_flatten(answers)], type=pa.string())
    blank = pc.equal(count_chars(texts), 0).to_numpy(zero_copy_only=False).astype(bool)
    return pa.table({
        "id": questions["id"], "words": count_chars(questions["question"]),
        "answers": count_values(questions["answers"]),
        "blank_answers": np.bincount(owner[blank], minlength=questions.num_rows).astype(np.int64)})


def tabulate_annotations(tables: Tables) -> pa.Table:
    """One row an annotation: whether its item and its question are there, and its unit fits the item."""
    annotations, items = tables["annotations"], tables["items"]
    units = pa.table({"unit": list(_MODALITY_OF_UNIT), "modality": list(_MODALITY_OF_UNIT.values())})
    expected = look_up(annotations["unit"], units, "modality", "unit")
    fits = pc.equal(expected, look_up(annotations["item_id"], items, "modality"))
    return pa.table({
        "question_id": annotations["question_id"], "item_id": annotations["item_id"], "unit": annotations["unit"],
        "item_known": is_known(annotations["item_id"], items),
        "question_known": is_known(annotations["question_id"], tables["questions"]),
        "unit_fits": pc.or_kleene(pc.equal(annotations["unit"], "item"), pc.fill_null(fits, False))})


def tabulate_spans(tables: Tables) -> pa.Table:
    """One row a gold span; ``outside`` is by how much it leaves its item, 0 or less if it lies inside."""
    annotations, items = tables["annotations"], tables["items"]
    spans = annotations["spans"].combine_chunks()
    owner, flat = pc.list_parent_indices(spans), pc.list_flatten(spans)
    start, end = pc.list_element(flat, 0), pc.list_element(flat, 1)
    item = pc.take(annotations["item_id"], owner)
    size = pc.take(item_sizes(items), pc.index_in(item, value_set=items["id"].combine_chunks()))
    excess = [pc.negate(start), pc.subtract(start, end), pc.subtract(end, size)]
    return pa.table({
        "question_id": pc.take(annotations["question_id"], owner), "item_id": item, "start": start, "end": end,
        "item_ends": size, "outside": pc.max_element_wise(*excess, skip_nulls=False)})


def tabulate_modalities(tables: Tables) -> pa.Table:
    """One row a modality that items have, with how many of its items are gold of some question."""
    items, annotations = tables["items"], tables["annotations"]
    gold = set(pc.unique(annotations["item_id"]).to_pylist())
    of_gold = items.filter(is_known(items["id"], annotations, "item_id"))["modality"].to_pylist() if gold else []
    counts, gold_counts = Counter(items["modality"].to_pylist()), Counter(of_gold)
    names = sorted(counts, key=str)
    return pa.table(
        {"modality": pa.array(names, pa.string()), "items": [counts[m] for m in names],
         "gold_items": [gold_counts[m] for m in names]},
        schema=pa.schema([("modality", pa.string()), ("items", pa.int64()), ("gold_items", pa.int64())]))
