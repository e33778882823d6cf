"""The index: exact within fp16, refuses what does not fit when opened, says clearly when there is no GPU."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.errors import DataError, DeviceError, EncoderMismatch
from canopy.index.item_index import ItemIndex


def vectors(n, d, seed):
    v = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return v / np.linalg.norm(v, axis=1, keepdims=True)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 200), st.sampled_from([8, 64, 384]), st.integers(1, 30), st.integers(0, 1000))
def test_top_k_is_exact_within_fp16(n, d, k, seed):
    items, queries = vectors(n, d, seed), vectors(3, d, seed + 1)
    index = ItemIndex.build([f"i{j}" for j in range(n)], items, digest="a")
    scores, ids = index.search(queries, k)
    exact = queries @ items.T
    for q in range(3):
        assert len(ids[q]) == min(k, n) and len(set(ids[q])) == len(ids[q])
        best = np.sort(exact[q])[::-1][:k]
        assert np.allclose(scores[q], best, atol=2e-3)
        assert np.allclose([exact[q][int(i[1:])] for i in ids[q]], best, atol=2e-3)


def test_saved_and_opened(tmp_path):
    index = ItemIndex.build(["a", "b", "c"], vectors(3, 16, 1), digest="e")
    index.save(tmp_path / "index")
    opened = ItemIndex.open(tmp_path / "index", dimension=16, digest="e")
    assert opened.search(vectors(2, 16, 2), 2)[1] == index.search(vectors(2, 16, 2), 2)[1]
    assert opened.search(np.zeros((0, 16)), 5)[1] == []


def test_what_does_not_fit_is_refused_when_opened(tmp_path):
    ItemIndex.build(["a"], vectors(1, 16, 1), digest="e").save(tmp_path / "index")
    with pytest.raises(EncoderMismatch, match="built with encoder e"):
        ItemIndex.open(tmp_path / "index", dimension=16, digest="other")
    with pytest.raises(EncoderMismatch, match="16 dimensions"):
        ItemIndex.open(tmp_path / "index", dimension=384, digest="e")
    with pytest.raises(DataError, match="no finished index"):
        ItemIndex.open(tmp_path / "nowhere", dimension=16, digest="e")
    (tmp_path / "index" / "index.faiss").write_bytes(b"IxSQ")
    with pytest.raises(DataError, match="cannot be read"):
        ItemIndex.open(tmp_path / "index", dimension=16, digest="e")


def test_cuda_without_a_gpu_is_a_clear_error(tmp_path):
    import faiss

    if hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus():
        pytest.skip("this machine has a GPU")
    ItemIndex.build(["a"], vectors(1, 16, 1), digest="e").save(tmp_path / "index")
    with pytest.raises(DeviceError, match=r"index\.device"):
        ItemIndex.open(tmp_path / "index", dimension=16, digest="e", device="cuda")
