"""Forward mode within forward mode gives the second derivatives of two backward passes, or says that it cannot."""

import pytest
import torch
from torch.func import hessian, jacfwd, jacrev

import torchrank as tr
from torchrank.conditional import two_step_loo

DRAW = torch.Generator().manual_seed(0)
LIST, TARGET = torch.tensor([0.1, 0.5, 0.3, 0.9]).double(), torch.tensor([1, 3, 2, 4])
ROWS, LABELS, WEIGHTS = (torch.rand(*shape, generator=DRAW).double() for shape in ((3, 4), (4, 4), (4,)))
NODES, HALF = torch.eye(4).double() + 0.1, torch.tensor(0.5).double()
SMOOTH = {
    "kendall_loss": (lambda x: tr.kendall_loss(x, TARGET, window=1.0), LIST),
    "kendall_loss, window": (lambda window: tr.kendall_loss(LIST, TARGET, window=window), HALF),
    "kendall_loss, weights": (lambda w: tr.kendall_loss(LIST, TARGET, window=1.0, weights=w), WEIGHTS),
    "spearman_loss": (lambda x: tr.spearman_loss(x, TARGET, window=1.0), LIST),
    "soft_rank": (lambda x: tr.soft_rank(x, 1.0)[0], LIST),
    "soft_top_k": (lambda x: tr.soft_top_k(x, 2, 1.0)[0], LIST),
    "smoothed_borda": (lambda X: tr.smoothed_borda(X, window=1.0).square().sum(), ROWS),
    "smoothed_copeland": (lambda X: tr.smoothed_copeland(X, window=1.0, margin_window=0.5).square().sum(), ROWS),
    "smoothed_kendall_gram": (lambda X: tr.smoothed_kendall_gram(X, window=1.0).sum(), ROWS),
    "smoothed_kendall_gram, window": (lambda w: tr.smoothed_kendall_gram(ROWS, window=w).sum(), HALF),
    "smoothed_features": (lambda X: tr.smoothed_features(X, window=1.0).square().sum(), ROWS),
    "weighted_kendall_gram": (
        lambda w: tr.weighted_kendall_gram(ROWS, pairs=tr.pair_weights(w)).square().sum(),
        WEIGHTS,
    ),
    "borda, weights": (lambda w: tr.borda(ROWS, w).square().sum(), WEIGHTS[:3]),
    "mallows_gram, lam": (lambda lam: tr.mallows_gram(ROWS, lam=lam).sum(), HALF),
    "center_gram": (lambda t: tr.center_gram(t**2 * NODES).square().sum(), HALF),
    "normalize_gram": (lambda t: tr.normalize_gram(t * NODES + torch.eye(4).double()).sum(), HALF),
    "kron_rls": (lambda F: tr.kron_rls(NODES, None, F, 0.5).square().sum(), LABELS),
    "kron_rls, lam": (lambda lam: tr.kron_rls(NODES, None, LABELS, lam).square().sum(), HALF),
    "kron_rank_rls, kernel": (lambda t: tr.kron_rank_rls(t * NODES, None, LABELS, 0.5).square().sum(), HALF),
    "two_step_rls": (lambda lam: tr.two_step_rls(NODES, None, LABELS, lam, 0.5).square().sum(), HALF),
    "two_step_loo": (lambda lam: two_step_loo(NODES, None, LABELS, lam, 0.5).square().sum(), HALF),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_no_direction_is_lost(name):
    function, at = SMOOTH[name]
    expected = jacrev(jacrev(function))(at)
    torch.testing.assert_close(hessian(function)(at), expected, rtol=1e-8, atol=1e-8)
    try:
        found = jacfwd(jacfwd(function))(at)
    except RuntimeError as error:
        assert "forward mode within forward mode" in str(error)  # noqa: PT017 - both are right
        return
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)


def test_a_loss_says_so():
    with pytest.raises(RuntimeError, match=r"forward mode within forward mode .* take torch\.func\.hessian"):
        jacfwd(jacfwd(SMOOTH["kendall_loss"][0]))(LIST)
