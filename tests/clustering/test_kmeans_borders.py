"""Kernel k-means where clusters are empty and where kernels have another scale."""

import numpy as np
import pytest
import torch

from torchrank.clustering import KernelKMeans
from torchrank.clustering.geometries import FeatureGeometry, GramGeometry
from torchrank.clustering.points import checked_gram


def test_memberships_of_an_empty_cluster_are_0():
    X = torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]] * 3, dtype=torch.float64)
    model = KernelKMeans(3)
    with pytest.warns(UserWarning, match="clusters stay empty"):
        model.fit(X, generator=torch.Generator().manual_seed(0))
    K = model.kernel(model.rankings).requires_grad_()
    soft = model.soft_assign(K, 0.5)
    empty = model.center_norms.isinf()
    assert int(empty.sum()) == 1
    assert soft[:, empty].tolist() == [[0], [0]]
    torch.testing.assert_close(soft.sum(1), torch.ones(2, dtype=torch.float64))
    model.loss(0.5, K).backward()
    assert bool(K.grad.isfinite().all())


@pytest.mark.parametrize("power", [-40, 40])
def test_rounding_is_a_share_of_the_kernel(power):
    features = torch.from_numpy(np.random.default_rng(0).standard_normal((6, 3)))
    weights = torch.ones(6, dtype=torch.float64)
    gram = features @ features.mT
    for make, part, scale in ((GramGeometry, gram, power), (FeatureGeometry, features, power / 2)):
        assert make(part * 2.0**scale, weights).tolerance == 2.0**power * make(part, weights).tolerance
        assert 0 < make(part, weights).tolerance < 1e-9 * float(gram.diagonal().max())


@pytest.mark.parametrize("power", [-60, 0, 60])
def test_gram_matrices_are_judged_by_their_own_scale(power):
    features = np.random.default_rng(0).standard_normal((6, 3))
    gram = np.ldexp(features @ features.T, power)
    rounded = gram - np.ldexp(1e-9, power) * np.eye(6)
    assert checked_gram(rounded)[0].shape == (6, 6)
    with pytest.raises(ValueError, match="K is not positive semi-definite"):
        checked_gram(gram - np.ldexp(1e-5, power) * np.eye(6))
