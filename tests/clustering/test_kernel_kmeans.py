import math
import warnings

import numpy as np
import pytest
import torch

from tests.oracles import clustering as oracle
from tests.strategies import random_scores
from torchrank import (
    ConvergenceWarning,
    KendallKernel,
    MallowsKernel,
    MultivariateKernel,
    SmoothedKendallKernel,
    kendall_gram,
)
from torchrank.clustering import KernelKMeans


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def groups(rng: np.random.Generator, n: int, sizes: tuple[int, ...], noise: float) -> np.ndarray:
    """Rankings around as many random centers as there are sizes."""
    centers = random_scores(rng, "total", len(sizes), n)
    noisy = np.repeat(centers, sizes, axis=0) + noise * rng.normal(size=(sum(sizes), n))
    return noisy.argsort(1).argsort(1).astype(float)


@pytest.mark.parametrize("kind", ["total", "tied"])
@pytest.mark.parametrize("seed", [0, 3, 4, 5])
def test_iterations_are_those_of_algorithm_1(seed, kind):
    rng = np.random.default_rng(seed)
    X = random_scores(rng, kind, 12, 6)
    K, weights, start = kendall_gram(X), rng.integers(0, 4, 12).astype(float), rng.integers(0, 3, 12)
    history = oracle.kernel_kmeans(K.tolist(), weights, start.tolist(), 3, 50)
    for labels, _ in history:  # Algorithm 1 does not say what becomes of an empty cluster
        assert {label for label, w in zip(labels, weights, strict=True) if w} == {0, 1, 2}
    model = KernelKMeans(3, kernel="precomputed", init=torch.from_numpy(start))
    fit = model.fit(K, weights)
    assert fit.converged
    assert fit.labels.tolist() == history[-1][0]
    assert fit.objective[-1] == pytest.approx(history[-1][1], abs=1e-11)
    np.testing.assert_allclose(fit.objective, [objective for _, objective in history[: fit.n_iter]], atol=1e-11)


@pytest.mark.parametrize("seed", range(2))
def test_many_starts_find_the_best_partition(seed):
    rng = np.random.default_rng(seed)
    X, weights = random_scores(rng, "tied", 7, 5), rng.random(7)
    K = kendall_gram(X)
    fit = KernelKMeans(3, n_init=60).fit(X, weights, generator=seeded(seed))
    assert fit.objective[-1] == pytest.approx(oracle.best_partition(K, weights, 3), abs=1e-11)
    assert fit.objective[-1] == min(fit.losses)
    assert len(fit.losses) == 60


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_objective_never_rises_and_no_cluster_is_left_empty(init):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, weights = random_scores(rng, "total", 25, 5), rng.integers(1, 5, 25)
        model = KernelKMeans(6, init=init, n_init=1)
        fit = model.fit(X, weights, generator=seeded(seed))
        assert len(np.unique(fit.labels)) == 6
        assert (np.diff(fit.objective) <= 1e-11).all()
        assert fit.converged
        distances = model(X)
        assert fit.objective[-1] == pytest.approx((weights * distances.min(axis=1)).sum(), rel=1e-12)
        assert (model.predict(X) == fit.labels).all()


def test_an_empty_cluster_gets_the_farthest_point():
    K = np.diag([1.0, 1.0, 1.0, 25.0])
    model = KernelKMeans(2, kernel="precomputed", init=torch.zeros(4, dtype=torch.int64))
    assert model.fit(K).labels.tolist() == [0, 0, 0, 1]
    assert model.coefficients[1].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_weights_count_as_copies(init):
    rng = np.random.default_rng(3)
    X, weights = groups(rng, 6, (10, 8, 7), 2.0), rng.integers(1, 6, 25)
    copies = np.repeat(np.arange(25), weights)
    order = rng.permutation(len(copies))
    one = KernelKMeans(3, init=init).fit(X, weights, generator=seeded(0))
    many = KernelKMeans(3, init=init).fit(X[copies][order], generator=seeded(0))
    assert one.objective[-1] == pytest.approx(many.objective[-1], rel=1e-13)
    assert (one.labels[copies][order] == many.labels).all()
    assert one.objective == pytest.approx(many.objective, rel=1e-12)


def test_rows_of_weight_0_have_labels_and_no_influence():
    rng = np.random.default_rng(4)
    X = random_scores(rng, "total", 30, 7)
    weights = np.where(np.arange(30) < 20, 1.0, 0.0)
    model, alone = KernelKMeans(3, kernel="precomputed"), KernelKMeans(3, kernel="precomputed")
    fit = model.fit(kendall_gram(X), weights, generator=seeded(1))
    assert fit.labels.shape == (30,)
    assert (model.coefficients[:, 20:] == 0).all()
    alone.init = torch.from_numpy(fit.labels[:20])
    assert alone.fit(kendall_gram(X[:20])).objective[-1] == pytest.approx(fit.objective[-1], rel=1e-12)


def test_labels_to_start_from_are_those_of_all_rows():
    rng = np.random.default_rng(13)
    once = np.unique(random_scores(rng, "total", 12, 6), axis=0)[::-1]
    copies = np.array([3, 0, 0, 5, *range(len(once))])
    X, weights = once[copies], np.where(np.arange(len(copies)) == 4, 0.0, 1.0)
    start = rng.integers(0, 3, (4, len(copies)))
    first = [copies.tolist().index(row) for row in range(len(once))]
    counts = np.bincount(copies, weights)
    for kernel in (KendallKernel(), MallowsKernel(lam=0.1)):
        alone = KernelKMeans(3, kernel="precomputed", init=start[:, first]).fit(kernel(once.copy()), counts)
        for init in (start, torch.from_numpy(start)):
            fit = KernelKMeans(3, kernel=kernel, init=init).fit(X, weights)
            np.testing.assert_allclose(fit.losses, alone.losses, rtol=1e-12)
        alone = KernelKMeans(3, kernel="precomputed", init=start[0, first]).fit(kernel(once.copy()), counts)
        fit = KernelKMeans(3, kernel=kernel, init=start[0]).fit(X, weights)
        assert fit.labels.tolist() == alone.labels[copies].tolist()
    again = KernelKMeans(3, init=fit.labels).fit(X, weights)
    assert again.labels.tolist() == fit.labels.tolist()


@pytest.mark.parametrize("kernel", [KendallKernel(), KendallKernel(variant="a"), SmoothedKendallKernel(window=1.5)])
def test_explicit_features_give_what_the_gram_matrix_gives(kernel):
    rng = np.random.default_rng(5)
    X, new = random_scores(rng, "tied", 60, 7), random_scores(rng, "tied", 9, 7)
    X = np.unique(X.argsort(1).argsort(1) // 2, axis=0).astype(float)
    start = torch.from_numpy(rng.integers(0, 4, len(X)))
    assert X.shape[1] * (X.shape[1] - 1) // 2 < len(X)
    by_features = KernelKMeans(4, kernel=kernel, init=start)
    by_gram = KernelKMeans(4, kernel="precomputed", init=start)
    fit, same = by_features.fit(X), by_gram.fit(kernel(X))
    assert (by_features.rankings.numpy() == X).all()
    assert fit.labels.tolist() == same.labels.tolist()
    np.testing.assert_allclose(fit.objective, same.objective, rtol=1e-12)
    np.testing.assert_allclose(by_features(new), by_gram(kernel(new, X), diagonal=np.diagonal(kernel(new))), atol=1e-12)
    assert by_features.predict(new).tolist() == by_gram.predict(kernel(new, X)).tolist()


def test_new_rankings_go_to_the_nearest_mean():
    rng = np.random.default_rng(6)
    X, new = random_scores(rng, "total", 20, 8), random_scores(rng, "total", 15, 8)
    model = KernelKMeans(3)
    labels = model.fit(X, generator=seeded(0)).labels
    features = np.array([oracle.sign_features(x) for x in X])
    means = np.array([features[labels == j].mean(axis=0) for j in range(3)])
    expected = ((np.array([oracle.sign_features(x) for x in new])[:, None] - means) ** 2).sum(-1)
    np.testing.assert_allclose(model(new), expected, atol=1e-12)
    assert model.predict(new).tolist() == expected.argmin(axis=1).tolist()


@pytest.mark.parametrize("missing", ["interleaving", "topk"])
def test_partial_rankings(missing):
    rng = np.random.default_rng(7)
    X = random_scores(rng, "total", 20, 6, missing=0.4)
    kernel = KendallKernel(missing=missing)
    fit = KernelKMeans(2, kernel=kernel, n_init=100).fit(X, generator=seeded(0))
    same = KernelKMeans(2, kernel="precomputed", n_init=100).fit(kernel(X), generator=seeded(1))
    assert fit.objective[-1] == pytest.approx(same.objective[-1], rel=1e-9)


def test_fewer_different_rankings_than_clusters():
    X = np.array([[3.0, 2.0, 1.0]] * 4 + [[1.0, 2.0, 3.0]] * 2)
    for init in ("k-means++", "random"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = KernelKMeans(3, init=init)
            fit = model.fit(X, generator=seeded(0))
        assert [str(w.message)[:37] for w in caught] == ["1 of n_clusters=3 clusters stay empty"]
        assert len(np.unique(fit.labels)) == 2
        assert fit.objective[-1] == 0
        assert fit.converged
        assert (model.predict(X) == fit.labels).all()
        assert model.center_norms.isinf().sum() == 1
        assert not np.isnan(model(X)).any()


def test_one_cluster_costs_the_scatter_about_the_mean():
    X = random_scores(np.random.default_rng(8), "total", 9, 5)
    fit = KernelKMeans(1).fit(X)
    K = kendall_gram(X)
    assert fit.labels.tolist() == [0] * 9
    assert fit.objective[-1] == pytest.approx(np.trace(K) - K.sum() / 9, rel=1e-13)


def test_not_converged_warns_and_labels_belong_to_the_centers():
    X = random_scores(np.random.default_rng(9), "total", 60, 6)
    model = KernelKMeans(4, max_iter=1, n_init=1, init="random")
    with pytest.warns(ConvergenceWarning, match=r"in 1 iterations.* objective to \d"):
        fit = model.fit(X, generator=seeded(2))
    assert not fit.converged
    assert (model.predict(X) == fit.labels).all()
    assert fit.objective[-1] == pytest.approx(model(X).min(axis=1).sum(), rel=1e-12)


def test_numpy_and_torch_and_dtypes():
    X = groups(np.random.default_rng(10), 6, (8, 8), 1.0)
    expected = KernelKMeans(2).fit(X, generator=seeded(0))
    for scores in (torch.from_numpy(X), torch.from_numpy(X).float(), torch.from_numpy(X).long()):
        model = KernelKMeans(2)
        fit = model.fit(scores, generator=seeded(0))
        assert isinstance(fit.labels, torch.Tensor)
        assert fit.labels.tolist() == expected.labels.tolist()
        assert isinstance(model.predict(scores), torch.Tensor)
    assert isinstance(expected.labels, np.ndarray)


def test_state_dict_is_the_whole_model(tmp_path):
    X = random_scores(np.random.default_rng(11), "total", 30, 5)
    model = KernelKMeans(3, kernel=MallowsKernel(lam=0.3))
    labels = model.fit(X, generator=seeded(0)).labels
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other = KernelKMeans(3, kernel=MallowsKernel(lam=1.0))
    other.load_state_dict(torch.load(tmp_path / "model.pt"))
    assert (other.predict(X) == labels).all()
    with pytest.raises(ValueError, match="call fit first"):
        KernelKMeans(3).predict(X)


def test_soft_assignments_sharpen_to_labels_and_pass_gradients():
    X = torch.from_numpy(groups(np.random.default_rng(12), 6, (10, 10), 1.5))
    model = KernelKMeans(2)
    fit = model.fit(X, generator=seeded(0))
    K = kendall_gram(model.rankings).requires_grad_()
    sharp = model.soft_assign(K, 1e-6)
    assert torch.equal(sharp.argmax(1), model.predict(model.rankings))
    assert torch.allclose(sharp.amax(1), torch.ones(len(K), dtype=torch.float64))
    soft = model.soft_assign(K, 0.5)
    distances = torch.as_tensor(model(model.rankings))
    assert torch.allclose(soft, (-distances / 0.5).softmax(1), atol=1e-12)
    scatter = float(KernelKMeans(1).fit(X).objective[-1])
    assert float(model.loss(1e-6)) == pytest.approx(fit.objective[-1] / scatter, rel=1e-9)
    assert 0 < float(model.loss(10.0)) <= 1
    assert torch.autograd.gradcheck(lambda K: model.loss(0.3, (K + K.mT) / 2), (K,))
    model.loss(0.3, K).backward()
    assert K.grad is not None
    assert bool(K.grad.abs().max() > 0)


def test_temperature_can_be_learned_and_has_to_be_positive():
    model = KernelKMeans(2, kernel="precomputed")
    K = torch.from_numpy(kendall_gram(random_scores(np.random.default_rng(0), "total", 8, 5)))
    model.fit(K, generator=seeded(0))
    temperature = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    model.loss(temperature, K).backward()
    assert temperature.grad is not None
    for bad in (torch.tensor(0.0), -1.0, math.nan):
        with pytest.raises(ValueError, match="temperature="):
            model.soft_assign(K, bad)
    with pytest.raises(ValueError, match="temperature=0"):
        model.soft_assign(K, 0)
    with pytest.raises(ValueError, match="K is missing"):
        model.loss(0.5)
    with pytest.raises(ValueError, match="expected the training rows against themselves"):
        model.soft_assign(K[:3], 0.5)


def two_parts(seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """Rankings of 5 items in two groups beside rankings of 5 other items at random."""
    rng = np.random.default_rng(seed)
    X = np.hstack([groups(rng, 5, (20, 20), 0.7), random_scores(rng, "total", 40, 5)])
    return torch.from_numpy(X), np.repeat([0, 1], 20)


def test_weights_of_a_multivariate_kernel_are_learned():
    X, truth = two_parts(0)
    kernel = MultivariateKernel([KendallKernel(), KendallKernel()], weights=[0.4, 0.6], sizes=[5, 5])
    model = KernelKMeans(2, kernel=kernel)
    optimizer = torch.optim.Adam(kernel.parameters(), lr=0.2)
    losses = []
    for step in range(40):
        model.fit(X, generator=seeded(step))
        optimizer.zero_grad()
        loss = model.loss(temperature=0.1)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert kernel.weights[0] > 0.95
    assert losses[-1] < 0.7 * losses[0]
    agreement = (model.fit(X, generator=seeded(0)).labels.numpy() == truth).mean()
    assert max(agreement, 1 - agreement) == 1


def test_a_window_is_learned():
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(2, 8)) * 4
    X = torch.from_numpy(np.repeat(centers, 12, axis=0) + 1.5 * rng.normal(size=(24, 8)))
    kernel = SmoothedKendallKernel(window=0.05)
    model = KernelKMeans(2, kernel=kernel)
    optimizer = torch.optim.Adam(kernel.parameters(), lr=0.2)
    first = None
    for step in range(30):
        model.fit(X, generator=seeded(step))
        optimizer.zero_grad()
        loss = model.loss(temperature=0.1)
        first = loss.item() if first is None else first
        loss.backward()
        optimizer.step()
    assert kernel.window > 0.5
    assert model.loss(temperature=0.1).item() < 0.9 * first


NOT_A_GRAM = [
    (np.ones((2, 3)), r"shape \(2, 3\)"),
    (np.array([[2.0, 0.5], [0.0, 2.0]]), "not symmetric"),
    (np.array([[0.0, 1.0], [1.0, 0.0]]), "not positive semi-definite: its lowest eigenvalue is -1"),
    (np.array([[1.0, np.nan], [np.nan, 1.0]]), r"K\[0, 1\] is nan"),
    (np.array([[np.inf, 0.0], [0.0, 1.0]]), r"K\[0, 0\] is inf"),
]


@pytest.mark.parametrize(("K", "message"), NOT_A_GRAM)
def test_refuses_what_is_no_gram_matrix(K, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(2, kernel="precomputed").fit(K)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0, 1.0], "has -1 for row 1"),
        ([0.0, 0.0, 0.0], "add up to 0"),
        ([1.0, np.nan, 1.0], "has nan for row 1"),
        ([1.0, 1.0], r"shape \(2,\)"),
        ([[1.0, 1.0, 1.0]], r"shape \(1, 3\)"),
    ],
)
def test_refuses_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(2).fit(np.eye(3), np.array(weights))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters=0"),
        ({"n_clusters": 2.0}, TypeError, "n_clusters must be an integer"),
        ({"n_clusters": 2, "n_init": 0}, ValueError, "n_init=0"),
        ({"n_clusters": 2, "max_iter": 0}, ValueError, "max_iter=0"),
        ({"n_clusters": 2, "init": "kmeans++"}, ValueError, r"init='kmeans\+\+'"),
        (
            {"n_clusters": 2, "init": {0, 1}},
            TypeError,
            "init is set",
        ),
        ({"n_clusters": 2, "kernel": "rbf"}, TypeError, "kernel='rbf' is not a kernel"),
    ],
)
def test_refuses_settings(settings, error, message):
    with pytest.raises(error, match=message):
        KernelKMeans(**settings)


def test_refuses_rows():
    X = random_scores(np.random.default_rng(0), "total", 6, 5)
    with pytest.raises(ValueError, match=r"NaN .* at row 0"):
        KernelKMeans(2).fit(np.full((3, 4), math.nan))
    with pytest.raises(ValueError, match=r"shape \(0, 5\)"):
        KernelKMeans(2).fit(X[:0])
    with pytest.raises(ValueError, match="init has labels from 0 to 2"):
        KernelKMeans(2, init=torch.tensor([0, 1, 2, 0, 0, 0])).fit(X)
    with pytest.raises(ValueError, match="expected integer labels"):
        KernelKMeans(2, init=torch.zeros(3)).fit(X)
    with pytest.raises(ValueError, match=r"integer labels \(12,\)"):
        KernelKMeans(2, init=np.zeros(6, int)).fit(np.concatenate([X, X]))
    with pytest.raises(TypeError, match="init has dtype <U1"):
        KernelKMeans(2, init=np.array(["0"] * 6)).fit(X)
    bad = np.array([[1, 2, np.nan, np.nan, 1, 2], [1, 2, 1, 2, np.nan, np.nan], [np.nan, np.nan, 1, 2, 2, 1]])
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelKMeans(2, kernel=KendallKernel(missing="pairwise")).fit(bad)
    model = KernelKMeans(2)
    model.fit(X, generator=seeded(0))
    with pytest.raises(ValueError, match=r"expected \(rankings, 5\), the items fitted"):
        model.predict(X[:, :4])
    precomputed = KernelKMeans(2, kernel="precomputed")
    precomputed.fit(kendall_gram(X))
    with pytest.raises(ValueError, match=r"expected \(rows, 6\)"):
        precomputed.predict(np.eye(3))
    with pytest.raises(ValueError, match=r"K\[0, 0\] is nan"):
        precomputed.predict(np.full((1, 6), math.nan))
    with pytest.raises(ValueError, match="diagonal is missing"):
        precomputed(kendall_gram(X))


@pytest.mark.parametrize("kernel", [KendallKernel(), MallowsKernel(lam=0.5), SmoothedKendallKernel(window=1.0)])
def test_an_unranked_item_is_named_where_it_stands(kernel):
    X = np.arange(30.0).reshape(6, 5) % 7
    X[4, 2] = X[5, 0] = np.nan
    with pytest.raises(ValueError, match=r"X has NaN .* at row 4, item 2"):
        KernelKMeans(2, kernel=kernel).fit(X)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_gives_the_same_clusters():
    X = torch.from_numpy(groups(np.random.default_rng(13), 7, (15, 15, 15), 1.5))
    start = torch.from_numpy(np.random.default_rng(0).integers(0, 3, 45))
    for kernel in (KendallKernel(), MallowsKernel(lam=0.1)):
        expected = KernelKMeans(3, kernel=kernel, init=start)
        labels = expected.fit(X).labels
        model = KernelKMeans(3, kernel=kernel, init=start).cuda()
        fit = model.fit(X.cuda())
        assert fit.labels.is_cuda
        assert torch.equal(fit.labels.cpu(), labels)
        assert torch.equal(model.predict(X.cuda()).cpu(), expected.predict(X))
        kernel.cpu()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (np.eye(3), r"kernel has shape \(3, 3\); pass kernel='precomputed'"),
        (KendallKernel, r"the class KendallKernel; pass"),
    ],
)
def test_what_is_no_kernel_is_told_from_one(kernel, message):
    with pytest.raises(TypeError, match=message):
        KernelKMeans(2, kernel=kernel)
