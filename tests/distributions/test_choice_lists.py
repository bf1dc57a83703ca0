"""Rankings as lists of choices: every engine against the definition, and equal lists merged."""

import numpy as np
import pytest
import torch
from torch import Tensor

from torchrank import SparseRankings
from torchrank.cpu.choice_lists import complement_sums
from torchrank.distributions.choice_lists import ChoiceLists, TorchEngine, choice_lists
from torchrank.distributions.compiled_lists import CompiledEngine

ENGINES = {"torch": TorchEngine, "compiled": CompiledEngine}


def example(seed: int) -> tuple[list[list[int]], list[str], Tensor, ChoiceLists]:
    """Lists of a few items, some of them equal, of both kinds and with weights of 0."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 9)), int(rng.integers(4, 40))
    orders = [rng.permutation(n)[: rng.integers(0, n + 1)].tolist() for _ in range(m)]
    words = rng.choice(["topk", "interleaving"], m).tolist()
    weights = torch.from_numpy(rng.integers(0, 3, m).astype(float))
    weights[0] = 1
    return orders, words, weights, choice_lists(SparseRankings.from_orders(orders, n, missing=words), weights)


def log_likelihood(logits: Tensor, orders: list[list[int]], words: list[str], weights: Tensor) -> Tensor:
    """Choice by choice."""
    total = logits.new_zeros(())
    for order, word, weight in zip(orders, words, weights, strict=True):
        rest = list(range(len(logits))) if word == "topk" else list(order)
        for item in order:
            total = total + weight * (logits[item] - logits[rest].logsumexp(0))
            rest.remove(item)
    return total


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("seed", range(12))
def test_likelihood_and_its_derivatives(name: str, seed: int) -> None:
    orders, words, weights, lists = example(seed)
    engine, n = ENGINES[name](lists), lists.n_items
    rng = np.random.default_rng(seed + 100)
    worths = torch.from_numpy(rng.random(n) * 10.0 ** rng.integers(-3, 3, n))
    x = torch.from_numpy(rng.normal(size=n))
    logits = worths.log().requires_grad_()
    value = log_likelihood(logits, orders, words, weights)
    (gradient,) = torch.autograd.grad(value, logits)
    information = -torch.autograd.functional.hessian(
        lambda logits: log_likelihood(logits, orders, words, weights), logits.detach()
    )
    sums = engine.sums(worths)
    torch.testing.assert_close(sums.log_likelihood, value.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(lists.wins - worths * sums.rates, gradient, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(engine.product(worths, x), information @ x, rtol=1e-8, atol=1e-10)
    found = -worths * worths[:, None] * engine.offered_together(worths)
    found.diagonal().copy_(worths * (sums.rates - worths * sums.squares))
    torch.testing.assert_close(found, information, rtol=1e-8, atol=1e-10)


def test_what_is_small_beside_listed_items_keeps_its_digits() -> None:
    """A list that holds nearly all worth offers the rest of it too, 1e-18 of all: differences would be 0."""
    lists = choice_lists(SparseRankings.from_orders([[0, 1]], 4, missing="topk"), torch.ones(1, dtype=torch.float64))
    worths = torch.tensor([1.0, 1e-18, 2e-18, 1e-18], dtype=torch.float64)
    expected = np.log(1 / 4)  # of the second choice; that of the first is 0
    for engine in (TorchEngine(lists), CompiledEngine(lists)):
        assert float(engine.sums(worths).log_likelihood) == pytest.approx(expected, rel=1e-12)


def test_equal_lists_are_one_and_lists_without_a_choice_none() -> None:
    orders = [[0, 1], [1, 0], [0, 1], [2], [], [0, 1], [0, 1, 2], [3]]
    words = ["interleaving"] * 5 + ["topk"] * 3
    rankings = SparseRankings.from_orders(orders, 4, missing=words)
    lists = choice_lists(rankings, torch.tensor([1.0, 2, 4, 8, 16, 32, 64, 0], dtype=torch.float64))
    assert lists.starts.tolist() == [0, 2, 4, 6, 9]
    assert lists.items.tolist() == [0, 1, 1, 0, 0, 1, 0, 1, 2]
    assert lists.whole.tolist() == [False, False, True, True]
    assert lists.weights.tolist() == [5, 2, 32, 64]


def test_ties_tell_lists_apart() -> None:
    rankings = SparseRankings.from_triples(
        [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [2, 1, 1, 1, 5, 5], missing="interleaving"
    )
    lists = choice_lists(rankings, torch.ones(3, dtype=torch.float64))
    assert lists.weights.tolist() == [1, 2]
    assert lists.ranks.tolist() == [1, 0, 0, 0]


def test_many_items_fit_no_key() -> None:
    """Lists are told apart place by place, and numbers start anew before they leave int64."""
    n = 2**40
    orders = [[5, n - 1, 7], [5, n - 1, 8], [5, n - 1, 7]]
    lists = choice_lists(SparseRankings.from_orders(orders, n), torch.ones(3, dtype=torch.float64))
    assert lists.weights.tolist() == [2, 1]


@pytest.mark.parametrize("q", [1, 2, 7, 8, 9, 33])
def test_sums_over_complements(q: int) -> None:
    rng = np.random.default_rng(q)
    sets = [np.sort(rng.choice(q, rng.integers(0, q + 1), replace=False)) for _ in range(20)]
    values = rng.integers(1, 100, q).astype(float)
    starts = np.cumsum([0, *map(len, sets)])
    found = complement_sums(starts, np.concatenate(sets).astype(np.int64), values)
    assert found.tolist() == [np.delete(values, members).sum() for members in sets]
