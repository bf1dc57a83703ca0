import numpy as np
import pytest
import torch

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import torchrank
from tests.strategies import random_scores
from torchrank.estimators import KernelKMeans, RankingKMeans


def two_groups(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = random_scores(rng, "total", 2, 7)
    return (np.repeat(centers, 15, axis=0) + 1.5 * rng.normal(size=(30, 7))).argsort(1).argsort(1).astype(float)


@pytest.mark.parametrize("model", [KernelKMeans(random_state=0), RankingKMeans(random_state=0)], ids=repr)
def test_adapts_the_module(model):
    X, weights = two_groups(), np.random.default_rng(1).integers(0, 3, 30)
    labels = model.fit_predict(X, sample_weight=weights)
    assert (labels == model.labels_).all()
    assert (labels == model.predict(X)).all()
    assert abs(labels[:15].mean() - labels[15:].mean()) > 0.7
    assert model.converged_
    assert len(model.objective_) == model.n_iter_
    assert model.objective_[-1] == model.losses_.min()
    again = clone(model).fit(X, sample_weight=weights)
    assert (again.labels_ == labels).all()
    costs = model.model_(X)
    assert model.objective_[-1] == pytest.approx((weights * costs.min(axis=1)).sum(), rel=1e-12)
    assert np.array_equal(
        make_pipeline(FunctionTransformer(), clone(model)).fit_predict(X), clone(model).fit_predict(X)
    )


def test_kernels_are_parameters():
    X = two_groups()
    labels = np.arange(30) % 3
    model = KernelKMeans(3, kernel=torchrank.MallowsKernel(lam=0.1), init=labels)
    assert model.get_params()["kernel__lam"] == pytest.approx(0.1)
    model.set_params(kernel__lam=0.5).fit(X)
    K = torchrank.mallows_gram(X, lam=0.5)
    same = KernelKMeans(3, kernel="precomputed", init=labels).fit(K)
    assert same.objective_[-1] == pytest.approx(model.objective_[-1], rel=1e-9)
    assert (same.predict(K[:5]) == same.labels_[:5]).all()
    assert clone(model).kernel is not model.kernel


def test_central_rankings():
    X = two_groups()
    model = RankingKMeans(center="copeland", random_state=0).fit(X)
    assert model.cluster_centers_.shape == (2, 7)
    assert torch.equal(model.model_.centers, torch.from_numpy(model.cluster_centers_))


def test_unranked_items_where_the_kernel_takes_them():
    X = two_groups()
    X[0, :3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelKMeans().fit(X)
    with pytest.raises(ValueError, match="NaN"):
        RankingKMeans().fit(X)
    assert KernelKMeans(kernel=torchrank.KendallKernel(missing="topk")).fit(X).labels_.shape == (30,)
    assert RankingKMeans(missing="pairwise").fit(X).labels_.shape == (30,)


def test_labels_to_start_from():
    X = np.repeat(two_groups(), 2, axis=0)
    for model in (KernelKMeans(), RankingKMeans()):
        labels = model.set_params(random_state=0).fit(X).labels_
        again = clone(model).set_params(init=labels).fit(X)
        assert (again.labels_ == labels).all()
        assert again.n_iter_ == len(again.losses_) == 1


def test_warns_when_not_converged():
    X = random_scores(np.random.default_rng(9), "total", 60, 6)
    for model in (KernelKMeans(4, max_iter=1, random_state=0), RankingKMeans(4, max_iter=1, random_state=0)):
        with pytest.warns(ConvergenceWarning, match="in 1 iterations"):
            model.fit(X)
        assert not model.converged_


def test_bad_input_is_named():
    X = two_groups()
    with pytest.raises(ValueError, match="n_clusters=0"):
        KernelKMeans(0).fit(X)
    with pytest.raises(ValueError, match=r"add up to 0|non-zero"):
        RankingKMeans().fit(X, sample_weight=np.zeros(30))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelKMeans(kernel="precomputed").fit(np.array([[0.0, 1.0], [1.0, 0.0]]))
