"""Mixtures: rankings as frequent as the formulas say, classes and parameters that are the true ones."""

from itertools import permutations

import numpy as np
import pytest
import torch

from torchrank import MallowsMixture
from torchrank.datasets.generators import make_mallows_mixture, make_plackett_luce_mixture

MAKERS = [make_mallows_mixture, make_plackett_luce_mixture]


def mallows_law(center, lam):
    """Probabilities of all rankings, from the definition."""
    law = {}
    for ranking in permutations(range(1, len(center) + 1)):
        discordant = sum(
            (ranking[i] - ranking[j]) * (center[i] - center[j]) < 0 for i in range(len(center)) for j in range(i)
        )
        law[ranking] = np.exp(-lam * discordant)
    total = sum(law.values())
    return {ranking: value / total for ranking, value in law.items()}


def plackett_luce_law(logits):
    law = {}
    for ranking in permutations(range(1, len(logits) + 1)):
        left, chance = list(np.argsort(ranking)[::-1]), 1.0
        while left:
            chance *= np.exp(logits[left[0]]) / sum(np.exp(logits[item]) for item in left)
            left.pop(0)
        law[ranking] = chance
    return law


def assert_frequencies(scores, law):
    """No frequency is further from its probability than four and a half standard errors."""
    m = len(scores)
    counts = dict.fromkeys(law, 0)
    for row in scores.tolist():
        counts[tuple(map(int, row))] += 1
    for ranking, chance in law.items():
        assert abs(counts[ranking] / m - chance) < 4.5 * np.sqrt(chance * (1 - chance) / m), ranking


@pytest.mark.slow
def test_each_component_is_a_mallows_distribution():
    data = make_mallows_mixture(60_000, 4, 2, lam=[0.3, 1.2], weights=[1, 3], seed=0)
    assert abs((data.classes == 1).mean() - 0.75) < 0.01
    np.testing.assert_allclose(data.notes["weights"], [0.25, 0.75])
    for component, (center, lam) in enumerate(zip(data.notes["centers"], [0.3, 1.2], strict=True)):
        assert_frequencies(data.scores[data.classes == component], mallows_law(center, lam))
        order = data.notes["central_orders"][component]
        assert (np.diff(center[order]) < 0).all()


def test_each_component_is_a_plackett_luce_distribution():
    logits = np.array([[1.0, 0.0, -1.0, 0.5], [-2.0, 0.3, 0.2, 0.1]])
    data = make_plackett_luce_mixture(60_000, 4, 2, logits=logits, seed=1)
    np.testing.assert_array_equal(data.notes["logits"], logits)
    assert data.notes["central_orders"].tolist() == [[0, 3, 1, 2], [1, 2, 3, 0]]
    for component in range(2):
        assert_frequencies(data.scores[data.classes == component], plackett_luce_law(logits[component]))


def test_given_centers_are_used():
    centers = np.array([[1.0, 5.0, 2.0], [9.0, 0.0, 4.0]])
    data = make_mallows_mixture(50, 3, 2, centers=centers, lam=40.0, seed=0)
    assert data.notes["central_orders"].tolist() == [[1, 2, 0], [0, 2, 1]]
    np.testing.assert_array_equal(data.scores, np.array([[1, 3, 2], [3, 1, 2]])[data.classes])
    data.notes["centers"][0, 0] = 7
    assert centers[0, 0] == 1


@pytest.mark.parametrize("make", MAKERS)
def test_what_comes_back(make):
    data = make(300, 7, 4, missing=0.3, seed=5)
    assert data.scores.shape == (300, 7)
    assert set(data.classes) == {0, 1, 2, 3}
    assert data.items == tuple("0123456")
    assert 0.25 < np.isnan(data.scores).mean() < 0.35
    complete = make(300, 7, 4, seed=5)
    np.testing.assert_array_equal(complete.classes, data.classes)
    seen = ~np.isnan(data.scores)
    np.testing.assert_array_equal(data.scores[seen], complete.scores[seen])
    assert (np.sort(complete.scores, axis=1) == np.arange(1, 8)).all()


@pytest.mark.parametrize("make", MAKERS)
def test_seeds_repeat_and_leave_torch_alone(make):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    first, second, other = make(50, seed=1), make(50, seed=1), make(50, seed=2)
    assert torch.rand(1) == expected
    np.testing.assert_array_equal(first.scores, second.scores)
    assert not np.array_equal(first.scores, other.scores)
    assert not np.array_equal(make(50).scores, make(50).scores)


def test_mixtures_find_what_was_generated():
    data = make_mallows_mixture(600, 8, 3, lam=2.0, seed=0)
    mixture = MallowsMixture(8, 3)
    mixture.fit(torch.from_numpy(data.scores), generator=torch.Generator().manual_seed(0))
    found = mixture.predict(torch.from_numpy(data.scores)).numpy()
    shares = np.array([[((found == i) & (data.classes == j)).sum() for j in range(3)] for i in range(3)])
    assert shares.max(axis=1).sum() > 0.99 * 600


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_mallows_mixture(0), "n_rankings=0"),
        (lambda: make_mallows_mixture(5, 1), "n_items=1"),
        (lambda: make_plackett_luce_mixture(5, 3, 0), "n_components=0"),
        (
            lambda: make_mallows_mixture(5, 3, 2, lam=[1, 2, 3]),
            r"lam has shape \(3,\).*n_components=2",
        ),
        (lambda: make_mallows_mixture(5, 3, 2, centers=[[1, 2, 3]]), r"centers has shape \(1, 3\)"),
        (lambda: make_mallows_mixture(5, 3, 1, centers=[[1, 2, 2]]), "center ties items 1 and 2 in row 0"),
        (lambda: make_mallows_mixture(5, 3, 1, lam=np.inf), "concentrations must be finite"),
        (lambda: make_mallows_mixture(5, 3, 2, weights=[1, -1]), "weights has -1 for row 1"),
        (lambda: make_mallows_mixture(5, 3, 2, weights=[0, 0]), "weights add up to 0"),
        (lambda: make_mallows_mixture(5, missing=1.5), r"missing=1.5"),
        (lambda: make_plackett_luce_mixture(5, spread=-1), "spread=-1"),
        (lambda: make_plackett_luce_mixture(5, 2, 1, logits=[[1, np.inf]]), "logits has inf"),
        (lambda: make_plackett_luce_mixture(5, 2, 2, logits=[[1, 2]]), r"logits has shape \(1, 2\)"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
