"""Plackett-Luce with ties: the law against all sets, a published example, and what has no maximum."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
import torch

from torchrank import PlackettLuce, SparseRankings, fit_plackett_luce

# Davidson (J. Am. Stat. Assoc. 65, 1970), table 1: brands, preferences for the first, for the second, and none.
PUDDINGS = """
1 2 19 22 16,1 3 16 19 12,2 3 19 19 10,1 4 18 23 13,2 4 23 19 9,3 4 19 20 15,1 5 13 19 18,2 5 16 20 12,
3 5 16 15 17,4 5 17 14 16,1 6 18 21 12,2 6 22 20 12,3 6 13 18 10,4 6 14 19 18,5 6 11 21 12
"""
FIVE_TWO = np.array([[2.0, 1.0]] * 3 + [[1.0, 2.0]] * 3 + [[1.0, 1.0]] * 4)


def log_likelihood(parameters: np.ndarray, X: np.ndarray, weights: np.ndarray, sizes: list[int], word: str) -> float:
    """By sums over all sets that could have been chosen."""
    n = X.shape[1]
    delta = dict(zip([1, *sizes], [1.0, *np.exp(parameters[n:])], strict=True))
    worth = np.exp(parameters[:n])

    def f(chosen: tuple[int, ...]) -> float:
        return delta.get(len(chosen), 0.0) * np.prod(worth[list(chosen)]) ** (1 / len(chosen))

    total = 0.0
    for row, weight in zip(X, weights, strict=True):
        left = [i for i in range(n) if word == "topk" or row[i] == row[i]]
        for score in sorted({v for v in row if v == v}, reverse=True):
            chosen = tuple(i for i in left if row[i] == score)
            every = sum(f(part) for size in delta for part in combinations(left, size))
            total += weight * np.log(f(chosen) / every)
            left = [i for i in left if i not in chosen]
    return total


def example(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (30, 5)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, rng.integers(1, 4, 30).astype(float)


def test_two_items() -> None:
    """3 wins each and 4 ties: P(tie) = delta / (2 + delta) = 0.4."""
    fit = fit_plackett_luce(FIVE_TWO, ties="davidson")
    assert np.exp(fit.log_ties) == pytest.approx([4 / 3], rel=1e-9)
    assert fit.logits == pytest.approx([0, 0], abs=1e-9)
    assert fit.log_likelihood == pytest.approx(6 * np.log(0.3) + 4 * np.log(0.4))


@pytest.mark.slow
@pytest.mark.parametrize("word", ["topk", "interleaving"])
def test_ends_at_the_maximum(word: str) -> None:
    X, weights = example(0)
    fit = fit_plackett_luce(X, weights, missing=word, ties="davidson", tol=1e-11)
    seen = np.isfinite(fit.log_ties)
    sizes = (np.flatnonzero(seen) + 2).tolist()
    kept = np.concatenate([np.arange(5), 5 + np.flatnonzero(seen)])
    end, eye, h = np.concatenate([fit.logits, fit.log_ties[seen]]), np.eye(len(kept)), 1e-4

    def at(step: np.ndarray) -> float:
        return log_likelihood(end + step, X, weights, sizes, word)

    assert fit.log_likelihood == pytest.approx(at(0 * end), rel=1e-12)
    assert max(abs(at(h * e) - at(-h * e)) / (2 * h) for e in eye) < 1e-6
    information = -np.array(
        [
            [(at(h * (a + b)) - at(h * (a - b)) - at(h * (b - a)) + at(-h * (a + b))) / (4 * h * h) for a in eye]
            for b in eye
        ]
    )
    np.testing.assert_allclose(fit.covariance[np.ix_(kept, kept)], np.linalg.pinv(information, rcond=1e-5), atol=1e-5)
    np.testing.assert_allclose(fit.tie_standard_errors**2, np.diag(fit.covariance)[5:], rtol=1e-12)
    by_products = fit_plackett_luce(X, weights, missing=word, ties="davidson", tol=1e-11, method="cg")
    np.testing.assert_allclose(by_products.logits, fit.logits, atol=1e-9)


def test_chocolate_puddings() -> None:
    """Worths and tie parameter as Davidson (1970) gives them, by hand iterations, and as R's package repeats them."""
    rows, items, scores, weights = [], [], [], []
    for line in PUDDINGS.replace("\n", "").split(","):
        first, second, *counts = map(int, line.split())
        for pair, count in zip(((2, 1), (1, 2), (1, 1)), counts, strict=True):
            rows += [len(weights)] * 2
            items += [first - 1, second - 1]
            scores += pair
            weights.append(count)
    rankings = SparseRankings.from_triples(rows, items, scores, missing="interleaving")
    fit = fit_plackett_luce(rankings, np.array(weights), ties="davidson")
    worths = np.exp(fit.logits)
    np.testing.assert_allclose(
        worths / worths.sum(), [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855], atol=1e-4
    )
    np.testing.assert_allclose(np.exp(fit.log_ties), [0.7468147], atol=1e-4)


def test_rankings_without_ties_fit_as_before() -> None:
    rng = np.random.default_rng(1)
    X = np.stack([rng.permutation(5) for _ in range(20)]).astype(float)
    plain, tied = fit_plackett_luce(X), fit_plackett_luce(X, ties="davidson")
    np.testing.assert_allclose(tied.logits, plain.logits, atol=1e-9)
    np.testing.assert_allclose(tied.covariance, plain.covariance, atol=1e-9)
    assert tied.log_ties.shape == (0,)


def test_what_has_no_maximum() -> None:
    with pytest.raises(ValueError, match="no maximum"):  # delta grows without end
        fit_plackett_luce(np.ones((3, 2)), ties="davidson")
    with pytest.raises(ValueError, match="no maximum"):  # item 0 wins and ties, and never loses
        fit_plackett_luce(np.array([[2.0, 1.0]] * 3 + [[1.0, 1.0]]), ties="davidson")
    with pytest.raises(ValueError, match="2 groups"):
        fit_plackett_luce(np.array([[2.0, 1.0, 1.0], [3.0, 2.0, 1.0]]), ties="davidson")
    fit = fit_plackett_luce(np.array([[2.0, 1.0]] * 3 + [[1.0, 1.0]]), ties="davidson", prior=0.5)
    assert fit.converged
    with pytest.raises(ValueError, match="ties items 0 and 1 in row 6"):
        fit_plackett_luce(FIVE_TWO)
    with pytest.raises(ValueError, match='"mm" takes no ties'):
        fit_plackett_luce(FIVE_TWO, ties="davidson", method="mm")


def test_rankings_that_say_nothing() -> None:
    fit = fit_plackett_luce(SparseRankings.from_orders([[0], []], 3), ties="davidson", prior=1.0)
    assert fit.logits.tolist() == [0, 0, 0]
    assert fit.log_ties.shape == (0,)


def test_torch() -> None:
    X, weights = example(2)
    fit = fit_plackett_luce(torch.from_numpy(X), weights, missing="topk", ties="davidson")
    assert isinstance(fit.log_ties, torch.Tensor)


LOG_TIES = torch.tensor([-0.3, -torch.inf, 0.4], dtype=torch.float64)


def weak_orders(n: int, most: int) -> torch.Tensor:
    """All rankings of n items with at most so many tied, as scores."""
    rows = {tuple(np.unique(row, return_inverse=True)[1].tolist()) for row in product(range(n), repeat=n)}
    return torch.tensor(sorted(row for row in rows if max(Counter(row).values()) <= most), dtype=torch.float64)


@pytest.mark.parametrize("word", ["raise", "topk", "interleaving"])
def test_law_is_that_of_all_sets(word: str) -> None:
    logits = torch.randn(4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    X = weak_orders(4, 4)
    law = PlackettLuce(logits, missing=word, log_ties=LOG_TIES)
    assert float(law.log_prob(X).exp().sum()) == pytest.approx(1, abs=1e-12)
    sizes, parameters = [2, 4], torch.cat([logits, LOG_TIES[[0, 2]]]).numpy()
    some = X[[3, 10, 40, 70]]
    if word != "raise":
        some = torch.where(some == 0, torch.nan, some)
    some = some[law.log_prob(some) > -torch.inf]
    for row in some:
        expected = log_likelihood(parameters, row[None].numpy(), np.ones(1), sizes, word)
        assert float(law.log_prob(row)) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_law_is_differentiable_and_batched() -> None:
    X = weak_orders(3, 2)
    logits = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    log_ties = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda logits, log_ties: PlackettLuce(logits, log_ties=log_ties).log_prob(X[:, None]), (logits, log_ties)
    )
    wide = PlackettLuce(torch.zeros(3), log_ties=torch.zeros(1)).expand((4, 2))
    assert wide.sample((5,)).shape == (5, 4, 2, 3)
    assert bool(wide.support.check(wide.sample((50,))).all())


def test_samples_follow_the_law() -> None:
    torch.manual_seed(3)
    law = PlackettLuce(torch.tensor([0.5, 0.0, -1.0, 0.2]).double(), log_ties=LOG_TIES)
    X, draws = weak_orders(4, 4), 40_000
    seen = Counter(tuple(np.unique(row, return_inverse=True)[1].tolist()) for row in law.sample((draws,)).numpy())
    expected = law.log_prob(X).exp().numpy() * draws
    found = np.array([seen[tuple(int(v) for v in row)] for row in X])
    likely = expected > 5
    assert (found[expected == 0] == 0).all()
    chi_squared = ((found - expected)[likely] ** 2 / expected[likely]).sum()
    assert chi_squared < likely.sum() + 5 * np.sqrt(2 * likely.sum())


def test_law_of_a_fit() -> None:
    X, weights = example(3)
    fit = fit_plackett_luce(X, weights, missing="topk", ties="davidson")
    law = PlackettLuce(torch.from_numpy(fit.logits), missing="topk", log_ties=torch.from_numpy(fit.log_ties))
    total = (law.log_prob(torch.from_numpy(X)) * torch.from_numpy(weights)).sum()
    assert float(total) == pytest.approx(fit.log_likelihood, rel=1e-12)


def test_bad_tie_parameters() -> None:
    logits = torch.zeros(3)
    with pytest.raises(TypeError, match=r"log_ties is 0\.5"):
        PlackettLuce(logits, log_ties=0.5)
    with pytest.raises(ValueError, match="3 parameters, of ties of 2 items and more; there are 3 items"):
        PlackettLuce(logits, log_ties=torch.zeros(3))
    with pytest.raises(ValueError, match="expected finite numbers"):
        PlackettLuce(logits, log_ties=torch.tensor([torch.nan]))
    law = PlackettLuce(logits, log_ties=torch.zeros(1))
    with pytest.raises(ValueError, match="ties more than 2 items in row 1"):
        law.log_prob(torch.tensor([[1.0, 1, 2], [1, 1, 1]]))
    with pytest.raises(NotImplementedError, match="with ties"):
        _ = law.mode
