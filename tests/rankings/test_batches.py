"""Rows in batches: from whatever has rows, as often as they are asked for."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.neighbors import NearestNeighbors
from torch.utils.data import DataLoader, TensorDataset

import torchrank as tr
from torchrank.rankings.batches import as_batches

X = np.arange(15.0).reshape(5, 3) % 7
W = np.arange(5.0)


class Shards:
    """What reads files, say."""

    def __iter__(self):
        yield from (X[:2], X[2:])


SOURCES = {
    "array": X,
    "tensor": torch.from_numpy(X),
    "frame": pd.DataFrame(X, columns=list("abc")),
    "rankings": tr.rank(X),
    "list": [X[:2], X[2:]],
    "loader": DataLoader(torch.from_numpy(X), batch_size=2),
    "data set of torch": DataLoader(TensorDataset(torch.from_numpy(X)), batch_size=2),
    "own class": Shards(),
}


@pytest.mark.parametrize("source", SOURCES)
def test_all_rows_come_again_and_again(source):
    batches = tr.Batches(SOURCES[source], batch_size=2)
    for _ in range(2):
        rows = [np.asarray(part) for part, other in batches if other is None]
        np.testing.assert_array_equal(tr.rank(np.concatenate(rows)).ranks, tr.rank(X).ranks)
    assert "batch_size=2" in repr(batches)


def test_arrays_on_disk_are_cut(tmp_path):
    np.save(tmp_path / "X.npy", X)
    on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
    parts = [part for part, _ in tr.Batches(on_disk, 2)]
    assert [len(part) for part in parts] == [2, 2, 1]
    assert all(isinstance(part, np.memmap) for part in parts)


def test_arrays_of_zarr_are_cut(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3")
    stored = zarr.create_array(str(tmp_path / "X.zarr"), data=X, chunks=(2, 3))
    weights = zarr.create_array(str(tmp_path / "W.zarr"), data=W, chunks=(2,))
    on_disk, own = zarr.open_array(stored.store, mode="r"), zarr.open_array(weights.store, mode="r")
    assert [part.shape for part, _ in tr.Batches(on_disk, 2)] == [(2, 3), (2, 3), (1, 3)]
    found = tr.fit_plackett_luce(tr.Batches((on_disk, own), 2)).logits
    np.testing.assert_array_equal(found, tr.fit_plackett_luce(tr.Batches((X, W), 2)).logits)
    with pytest.raises(ValueError, match="source has parts of 5 and 3 rows"):
        tr.Batches((on_disk, W[:3]))


@pytest.mark.parametrize("weights", [W, torch.from_numpy(W), pd.Series(W, index=list("abcde"))])
def test_what_belongs_to_rows_is_cut_with_them(weights):
    pairs = [*tr.Batches((X, weights), 3)]
    assert [len(rows) for rows, _ in pairs] == [3, 2]
    assert np.concatenate([np.asarray(own) for _, own in pairs]).tolist() == W.tolist()


def test_a_fit_tells_batches_from_rows():
    loader = SOURCES["loader"]
    assert as_batches(loader).source is loader
    assert isinstance(as_batches(Shards()), tr.Batches)
    batches = tr.Batches(X)
    assert as_batches(batches) is batches
    for rows in (X, torch.from_numpy(X), X.tolist(), tr.rank(X), pd.DataFrame(X), 3, None, "text"):
        assert as_batches(rows) is None


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ((x for x in [X]), TypeError, "source is generator, which can be read once only; .* a list, a DataLoader"),
        (3, TypeError, "source is int; expected rows, or what can be iterated over"),
        ({"a": X}, TypeError, "source is dict; expected rows"),
        ((X, W[:3]), ValueError, "source has parts of 5 and 3 rows"),
        ((X, W, W), ValueError, "source has 3 parts; expected rankings and weights, or features and rankings"),
    ],
)
def test_what_cannot_be_read_again_is_refused(source, error, message):
    with pytest.raises(error, match=message):
        tr.Batches(source)


def test_batches_that_are_no_rows_are_refused():
    with pytest.raises(TypeError, match="a batch is a dictionary; expected rows"):
        list(tr.Batches([{"x": X}]))
    with pytest.raises(ValueError, match="a batch has 3 parts"):
        list(tr.Batches([[X, W, W]]))
    with pytest.raises(ValueError, match="batch_size=0 is too small; it must be at least 1 row"):
        tr.Batches(X, 0)
    with pytest.raises(TypeError, match="generator, which can be read once only"):
        as_batches(x for x in [X])


FITS = {
    "KernelKMeans": lambda X: tr.KernelKMeans(2).fit(X),
    "RankingKMeans": lambda X: tr.RankingKMeans(2).fit(X),
    "MallowsMixture": lambda X: tr.MallowsMixture(2, 3).fit(X),
    "fit_plackett_luce": tr.fit_plackett_luce,
    "MMPL": lambda X: tr.MMPL(2, 3, 3).fit(X),
}
LISTS = {
    "arrays": [X[:2], X[2:]],
    "of one shape": [X, X],
    "tensors": [torch.from_numpy(X[:2]), torch.from_numpy(X[2:])],
    "frames": [pd.DataFrame(X), pd.DataFrame(X)],
    "prepared": [tr.rank(X), tr.rank(X)],
    "with weights": [(X[:2], W[:2]), (X[2:], W[2:])],
    "one": [X],
}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_tables_is_told_of_batches(name, fit):
    number = len(LISTS[name])
    with pytest.raises(ValueError, match=rf"X is a list of tables, {number} of them; pass torchrank.Batches of"):
        FITS[fit](LISTS[name])
    with pytest.raises(ValueError, match=rf"X is a tuple of tables, {number} of them"):
        FITS[fit](tuple(LISTS[name]))


def test_rows_in_lists_are_no_tables():
    for rows in ([*X], [*torch.from_numpy(X)], [[3, 1, 2], [1, 2, 3]], [], [[]], (X[0], X[1]), [pd.Series(X[0])]):
        assert as_batches(rows) is None


@pytest.mark.parametrize("whole", [tr.kendall_gram, tr.borda, tr.rank, tr.KendallKernel(), NearestNeighbors().fit])
def test_what_takes_all_rows_says_so(whole):
    with pytest.raises(TypeError, match=r"X is Batches, which fits .* read batch by batch; this takes all rows"):
        whole(tr.Batches(X))


def test_batches_of_batches_are_read():
    found = [rows for rows, _ in tr.Batches([X[:2], X[2:]])]
    assert [len(rows) for rows in found] == [2, len(X) - 2]
    assert isinstance(as_batches(tr.Batches(X)), tr.Batches)
