"""Instances: V and the preferences at each of its nodes, against a literal reading of the paper (section 3.3)."""

from hypothesis import given
from hypothesis import strategies as st

from canopy.encoder.loss import preference_pairs
from canopy.gold.instances import build_instances, item_instances
from canopy.hierarchy.tree import build_tree


def literal(count, gold, branching):
    tree = build_tree(count, branching)
    inside = lambda v: set(range(int(tree.lo[v]), int(tree.hi[v])))  # noqa: E731
    out = {}
    for v in range(len(tree)):
        above, v_ = [], v
        while tree.parent[v_] >= 0:
            v_ = int(tree.parent[v_])
            above.append(v_)
        if len(inside(v)) < 2 or not inside(v) & gold or any(inside(u) <= gold for u in above):
            continue
        kids = [int(c) for c in tree.children(v)]
        touching = [c for c in kids if inside(c) & gold]
        others = [c for c in kids if not inside(c) & gold]
        full = inside(v) <= gold
        out[v] = (
            {(v, c) for c in kids}
            if full
            else {(g, v) for g in touching} | {(v, o) for o in others} | {(g, o) for g in touching for o in others}
        )
    return out


@given(st.integers(1, 30), st.integers(2, 4), st.data())
def test_agrees_with_the_definition(count, branching, data):
    gold = set(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=count)))
    found = {x["node"]: set(preference_pairs(x)) for x in item_instances(count, gold, branching)}
    assert found == literal(count, gold, branching)


def test_unlocated_gold_gives_no_instance():
    row = {"question_id": "q", "item_id": "i", "group": 0, "fragments": [0, 1], "count": 4, "modality": "text"}
    assert build_instances([{**row, "coverage": "whole"}], {"q": "train"}, 2) == []
    made = build_instances([{**row, "coverage": "located"}], {"q": "train"}, 2)
    assert [(x["lo"], x["hi"], x["fully_gold"], x["split"]) for x in made] == [(0, 4, False, "train"),
                                                                               (0, 2, True, "train")]
