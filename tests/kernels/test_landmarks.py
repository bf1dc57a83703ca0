"""Features from landmarks: the equation, and the kernel itself where the landmarks span it."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch

import torchrank as tr
from torchrank.kernels import landmarks as module

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (40, 6)).astype(float)
Y = RNG.normal(size=(9, 6))
PARTIAL = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
PAIRS = (lambda w: w + w.T)(np.triu(RNG.random((6, 6)), 1))


def weighted(X, Y):
    return tr.weighted_kendall_gram(X, Y, pairs=PAIRS)


KERNELS = {
    "Kendall": tr.KendallKernel(),
    "Mallows": tr.MallowsKernel(lam=0.2),
    "smoothed": tr.SmoothedKendallKernel(window=1.5),
    "multivariate": tr.MultivariateKernel([tr.KendallKernel(), tr.MallowsKernel()], sizes=[3, 3]),
    "weighted": weighted,
    "function": tr.kendall_gram,
    "of no rankings": lambda X, Y: torch.exp(-torch.cdist(X, Y)),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def fitted(kernel, size, X=X, weights=None, seed=0, **settings):
    model = tr.LandmarkFeatures(kernel, size, **settings)
    model.fit(X, weights, generator=seeded(seed))
    return model


def values(kernel, X, Y):
    return np.asarray(kernel(torch.as_tensor(X), torch.as_tensor(Y)).detach())


@every_kernel
def test_they_are_what_the_equation_says(kernel):
    model = fitted(kernel, 8)
    L = model.landmarks
    assert len({tuple(row) for row in L.tolist()}) == 8
    scores = {tuple(row) for row in np.asarray(tr.rank(X).as_scores()).tolist()} | {tuple(row) for row in X.tolist()}
    assert {tuple(row) for row in L.tolist()} <= scores
    eigenvalues, vectors = np.linalg.eigh(values(kernel, L, L))
    kept = eigenvalues > 8 * np.finfo(float).eps * eigenvalues.max()
    roots = np.where(kept, 1 / np.sqrt(np.where(kept, eigenvalues, 1)), 0)
    expected = values(kernel, Y, L) @ (vectors * roots) @ vectors.T
    np.testing.assert_allclose(model(Y), expected, rtol=1e-9, atol=1e-11)


@every_kernel
def test_products_with_a_landmark_are_the_kernel(kernel):
    model = fitted(kernel, 8)
    np.testing.assert_allclose(
        model(Y) @ model(model.landmarks.numpy()).T, values(kernel, Y, model.landmarks), rtol=1e-9, atol=1e-11
    )


@every_kernel
def test_with_all_rows_they_are_the_whole_matrix(kernel):
    rows = np.unique(X, axis=0)
    model = fitted(kernel, len(rows), rows)
    np.testing.assert_allclose(model(rows) @ model(rows).T, values(kernel, rows, rows), rtol=0, atol=1e-12)


def test_landmarks_that_span_are_enough():
    """15 pairs of items: 15 landmarks in general position span all feature vectors of the Kendall kernel."""
    total = RNG.normal(size=(60, 6))
    model = fitted(tr.KendallKernel(), 30, total)
    np.testing.assert_allclose(model(total) @ model(total).T, tr.kendall_gram(total), rtol=0, atol=1e-10)


def test_they_are_those_of_scikit_learn():
    """On the same landmarks, of which it takes a singular value decomposition."""
    approximation = pytest.importorskip("sklearn.kernel_approximation")
    rows = np.unique(X, axis=0)
    model = fitted(tr.KendallKernel(), 8, rows)
    places = tr.rank(rows).ranks
    basis = [int((places == torch.as_tensor(row)).all(1).nonzero()[0]) for row in model.landmarks]
    theirs = approximation.Nystroem(kernel="precomputed", n_components=8)
    K = tr.kendall_gram(rows)
    U, S, V = np.linalg.svd(K[np.ix_(basis, basis)])
    theirs.component_indices_, theirs.normalization_ = np.array(basis), (U / np.sqrt(S)) @ V
    theirs.components_, theirs.n_features_in_ = K[basis], K.shape[1]
    np.testing.assert_allclose(model(rows), K[:, basis] @ theirs.normalization_.T, atol=1e-9)
    block = tr.kendall_gram(Y, rows)
    np.testing.assert_allclose(model(Y), block[:, basis] @ theirs.normalization_.T, atol=1e-9)


@pytest.mark.parametrize("workspace", [1024, 5000, 2**27])
@pytest.mark.parametrize("name", ["Mallows", "smoothed"])
def test_blocks_change_nothing_but_rounding(name, workspace):
    expected = fitted(KERNELS[name], 8)(X)
    model = fitted(KERNELS[name], 8, workspace=workspace)
    np.testing.assert_allclose(model(X), expected, rtol=1e-12, atol=1e-14)


def test_a_block_is_all_that_is_held(monkeypatch):
    shapes = []
    plain = module.gram
    monkeypatch.setattr(module, "gram", lambda k, A, B: shapes.append(tuple(A.shape)) or plain(k, A, B))
    fitted(tr.KendallKernel(), 8, workspace=1024)(X)
    assert shapes[0] == (8, 6)  # the landmarks themselves
    assert shapes[1:] == [(5, 6)] * 8


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["Kendall", "Mallows", "smoothed"])
def test_dtypes(name, dtype):
    model, scores = fitted(KERNELS[name], 8), torch.from_numpy(X).to(dtype)
    found = model(scores)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.detach().double(), model(X), rtol=0, atol=300 * torch.finfo(dtype).eps)
    assert model(X.astype(int)).dtype == np.float64
    np.testing.assert_allclose(model(X.astype(int)), model(X), rtol=1e-12, atol=1e-12)
    assert model(torch.from_numpy(X).long()).dtype == torch.float32


def test_forms_of_rankings():
    model = fitted(tr.KendallKernel(), 8)
    expected = model(X)
    assert isinstance(expected, np.ndarray)
    for form in (X.tolist(), pd.DataFrame(X), tr.rank(X), tr.rank(X)[:]):
        np.testing.assert_array_equal(model(form), expected)
    assert torch.equal(model(torch.from_numpy(X)), torch.from_numpy(expected))
    assert torch.equal(fitted(tr.KendallKernel(), 8, tr.rank(X)).landmarks, model.landmarks)


def test_unranked_items():
    model = fitted(tr.KendallKernel(missing="topk"), 8, PARTIAL)
    rows = np.asarray(model.landmarks)
    expected = tr.kendall_gram(PARTIAL, rows, missing="topk")
    np.testing.assert_allclose(model(PARTIAL) @ model(rows).T, expected, atol=1e-11)
    with pytest.raises(ValueError, match=r"X has NaN .* choose a kernel that takes unranked items"):
        fitted(tr.KendallKernel(), 8, PARTIAL)
    with pytest.raises(ValueError, match=r"the landmarks is not positive semi-definite"):
        fitted(
            tr.KendallKernel(missing="pairwise"), 40, np.where(RNG.random((60, 6)) < 0.5, np.nan, RNG.random((60, 6)))
        )


def test_no_rows():
    model = fitted(tr.MallowsKernel(), 8)
    assert model(X[:0]).shape == (0, 8)
    assert model(torch.empty(0, 6)).dtype == torch.float32
    with pytest.raises(ValueError, match="at least one is needed"):
        tr.LandmarkFeatures(None, 3).fit(X[:0])


def test_fewer_different_rows_than_landmarks():
    few = X[[0, 1, 0, 2, 1]]
    with pytest.warns(UserWarning, match="X has 3 distinct rows for n_landmarks=5: the features beyond 3 are 0"):
        model = fitted(tr.KendallKernel(), 5, few)
    assert len(model.landmarks) == 3
    assert model(Y).shape == (9, 5)
    assert not model(Y)[:, 3:].any()
    np.testing.assert_allclose(model(few) @ model(few).T, tr.kendall_gram(few), atol=1e-12)


def test_equal_landmarks_would_be_one():
    """Rows that the kernel cannot tell apart: scores in the same order."""
    stretched = np.concatenate([X[:10], np.exp(X[:10])])
    with pytest.warns(UserWarning, match="X has 10 distinct rows"):
        fitted(tr.KendallKernel(), 12, stretched)
    assert len(fitted(tr.SmoothedKendallKernel(window=0.5), 12, stretched).landmarks) == 12


def test_weights_are_repeated_rows():
    weights = RNG.integers(0, 4, 40)
    one = fitted(tr.KendallKernel(), 8, X, weights.astype(float))
    two = fitted(tr.KendallKernel(), 8, np.repeat(X, weights, axis=0))
    three = fitted(tr.KendallKernel(), 8, X[::-1].copy(), weights[::-1] * 2.0**40)
    assert torch.equal(one.landmarks, two.landmarks)
    assert torch.equal(one.landmarks, three.landmarks)
    alone = np.zeros(40)
    alone[[3, 5]] = 1e-300, 1e300
    with pytest.warns(UserWarning, match="2 distinct rows"):
        assert len(fitted(tr.KendallKernel(), 4, X, alone).landmarks) == 2


def test_rows_are_drawn_by_their_weights():
    """The first of two landmarks out of three rows, and both: the law of drawing without putting back."""
    weights, counts = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64), {}
    source, n = seeded(3), 20_000
    for _ in range(n):
        pair = tuple(module._drawn(weights, 2, source).tolist())
        counts[pair] = counts.get(pair, 0) + 1
    w = weights / 8
    for (i, j), count in counts.items():
        chance = float(w[i] * w[j] / (1 - w[i]) + w[j] * w[i] / (1 - w[j]))
        assert abs(count / n - chance) < 5 * (chance * (1 - chance) / n) ** 0.5
    assert sum(counts.values()) == n


def test_names_of_items():
    table = pd.DataFrame(X, columns=list("abcdef"))
    model = fitted(tr.KendallKernel(), 8, table)
    np.testing.assert_array_equal(model(table), model(X))
    with pytest.raises(ValueError, match="columns of X have the same names in another order"):
        model(table[list("bacdef")])
    with pytest.raises(ValueError, match="columns of X have other names"):
        model(table.rename(columns={"a": "z"}))


def test_bad_arguments():
    for arguments, error, message in (
        ((None, 0), ValueError, "n_landmarks=0 is too small"),
        ((None, 2.5), TypeError, "n_landmarks must be an integer"),
        (("rbf", 3), TypeError, "kernel='rbf' is not a kernel"),
        (("precomputed", 3), ValueError, "kernel='precomputed' has no rankings that could be landmarks"),
    ):
        with pytest.raises(error, match=message):
            tr.LandmarkFeatures(*arguments)
    with pytest.raises(ValueError, match="workspace=3 is too small"):
        tr.LandmarkFeatures(None, 3, workspace=3)
    model = fitted(tr.KendallKernel(), 8)
    with pytest.raises(ValueError, match=r"X has shape \(9, 5\); expected \(rankings, 6\), the items fitted"):
        model(Y[:, :5])
    with pytest.raises(ValueError, match=r"weights has shape \(3,\); expected one weight for each of 40 rankings"):
        model.fit(X, np.ones(3))
    with pytest.raises(TypeError, match="generator is int"):
        model.fit(X, generator=3)
    with pytest.raises(ValueError, match="Gram matrix of the landmarks is not symmetric"):
        fitted(lambda X, Y: X[:, :1] - Y[:, 0], 8)
    with pytest.raises(TypeError, match=r"Gram matrix of the landmarks has dtype torch\.int64"):
        fitted(lambda X, Y: torch.ones(len(X), len(Y), dtype=torch.int64), 8)
    assert len(model.landmarks) == 8  # as it was


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("name", ["Kendall", "Mallows", "smoothed"])
def test_on_cuda(name):
    model = fitted(KERNELS[name], 8)
    expected = model(X)
    moved = copy.deepcopy(model).to("cuda")
    found = moved(torch.from_numpy(X).cuda())
    assert found.is_cuda
    np.testing.assert_allclose(found.detach().cpu(), expected, rtol=1e-9, atol=1e-10)
    trained = fitted(copy.deepcopy(KERNELS[name]).to("cuda"), 8, torch.from_numpy(X).cuda())
    assert torch.equal(trained.landmarks.cpu(), model.landmarks)


def test_rows_in_batches_are_refused():
    with pytest.raises(TypeError, match=r"X is Batches, which fits .* read batch by batch; this takes all rows"):
        tr.LandmarkFeatures(tr.KendallKernel(), 3).fit(tr.Batches(np.eye(4)))
