"""Questions about one of many documents of one form: `python bench/near_alike.py [--tickets 10000]`.

Prints for each search how many of 60 questions, each about a ticket by its code, have that ticket among the five best.
"""

from __future__ import annotations

import argparse
import random
from typing import get_args

import numpy as np

from canopy import Compressor
from canopy.config import Retrieval
from canopy.encoder.base import NodeEncoder, NodeRequest
from canopy.hierarchy.leaves import cut_item
from canopy.index.item_index import ItemIndex
from canopy.index.lexical import LexicalIndex
from canopy.index.search import ItemSearch
from canopy.index.terms import item_terms
from canopy.items import Item

FIRST = ("Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jon")
LAST = ("Berg", "Cole", "Dorn", "Ek", "Frost")
THINGS = ["pump", "valve", "filter", "motor", "sensor", "lamp", "drill", "saw", "press", "kiln"]
TOWNS = ["Leith", "Brno", "York", "Lund", "Gent", "Metz", "Turin", "Porto", "Riga", "Tartu"]


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tickets", type=int, default=10_000)
    count = parser.parse_args().tickets
    draw = random.Random(7)
    codes = [f"{draw.choice('ABCDEFGH')}{n:05d}" for n in range(count)]
    things = [draw.choice(THINGS) for _ in codes]
    items = [write_ticket(code, thing, draw) for code, thing in zip(codes, things, strict=True)]
    encoder = Compressor.load().model.encoder
    vectors = np.concatenate([encode(encoder, items[n:n + 64]) for n in range(0, count, 64)])
    dense, words = ItemIndex.build(codes, vectors, digest=encoder.digest), LexicalIndex.build(map(item_terms, items))
    asked = range(0, count, max(1, count // 60))[:60]
    questions = [f"Who repaired the {things[n]} of ticket {codes[n]}?" for n in asked]
    queries = encoder.encode_queries(questions)
    for retrieval in get_args(Retrieval):
        search = ItemSearch(dense, words, retrieval)
        hits = sum(codes[n] in [i for i, _ in search.search(q, v, 5)]
                   for n, q, v in zip(asked, questions, queries, strict=True))
        print(f"{retrieval:7s} {hits} of {len(questions)} in the top 5 of {count:,} tickets", flush=True)


def write_ticket(code: str, thing: str, draw: random.Random) -> Item:
    """One ticket; all read alike but for their names and numbers."""
    name = f"{draw.choice(FIRST)} {draw.choice(LAST)}"
    return Item(code, "t", "text", text=(
        f"Ticket {code}: the {thing} in {draw.choice(TOWNS)} failed on day {draw.randint(1, 365)}. {name} repaired it "
        f"with part {draw.choice('KLMNP')}-{draw.randint(100, 999)}."))


def encode(encoder: NodeEncoder, items: list[Item]) -> np.ndarray:
    """The vectors of whole items, shape (items, dimension)."""
    requests = []
    for item in items:
        leaves = cut_item(item)
        first, end = np.zeros(1, dtype=np.int32), np.array([leaves.count], dtype=np.int32)
        requests.append(NodeRequest(item, leaves, first, end))
    return np.concatenate(encoder.encode_nodes(requests))


if __name__ == "__main__":
    main()
