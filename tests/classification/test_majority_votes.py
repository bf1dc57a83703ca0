"""Top scoring pairs and the vote of all pairs as modules, two classes and several."""

import numpy as np
import pytest
import torch

from torchrank.classification import (
    AllPairsMajorityVote,
    TopScoringPairs,
    all_pairs_margins,
    top_scoring_pairs,
    vote_margins,
)

RNG = np.random.default_rng(5)
X, NEW = torch.from_numpy(RNG.normal(size=(12, 6))), torch.from_numpy(RNG.normal(size=(7, 6)))
TWO, THREE = torch.arange(12) % 2, torch.arange(12) % 3


def margins_of_class_pairs(margin):
    """``margin(samples, labels)`` for the class pairs (0, 1), (0, 2), (1, 2)."""
    result = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        of_two = (first == THREE) | (second == THREE)
        result.append(margin(X[of_two], THREE[of_two] == second))
    return torch.stack(result)


def decide(margins):
    """One against one, sample by sample: wins, and margins only where wins are equal."""
    winners = []
    for a, b, c in margins.T.tolist():
        wins = [(a < 0) + (b < 0), (a > 0) + (c < 0), (b > 0) + (c > 0)]
        sums = [-a - b, a - c, b + c]
        halves = [(a == 0) + (b == 0), (a == 0) + (c == 0), (b == 0) + (c == 0)]
        order = [(w + h / 2, s) for w, h, s in zip(wins, halves, sums, strict=True)]
        winners.append(max(range(3), key=lambda k: (order[k], -k)))
    return winners


@pytest.mark.parametrize("disjoint", [False, True])
def test_two_classes(disjoint):
    model = TopScoringPairs(3, disjoint=disjoint)
    model.fit(X, TWO)
    expected = vote_margins(NEW, top_scoring_pairs(X, TWO, 3, disjoint=disjoint))
    assert torch.equal(model(NEW), expected)
    assert torch.equal(model.predict(NEW), (expected > 0).long())


def test_one_against_one():
    model = TopScoringPairs(3, n_classes=3)
    model.fit(X, THREE)
    margins = margins_of_class_pairs(lambda x, y: vote_margins(NEW, top_scoring_pairs(x, y, 3)))
    assert model(NEW).shape == (7, 3)
    assert model.predict(NEW).tolist() == decide(margins)


@pytest.mark.parametrize("ties", ["half", "strict"])
def test_all_pairs(ties):
    two = AllPairsMajorityVote(X, TWO, ties=ties)
    assert torch.equal(two(NEW), all_pairs_margins(X, TWO, NEW, ties=ties))
    assert torch.equal(two.predict(NEW), (two(NEW) > 0).long())
    three = AllPairsMajorityVote(X, THREE, ties=ties)
    margins = margins_of_class_pairs(lambda x, y: all_pairs_margins(x, y, NEW, ties=ties))
    assert three.predict(NEW).tolist() == decide(margins)


def test_state_is_the_whole_model():
    model = TopScoringPairs(3, n_classes=3)
    model.fit(X, THREE)
    fresh = TopScoringPairs(3, n_classes=3)
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(fresh(NEW), model(NEW))
    votes = AllPairsMajorityVote(X, THREE)
    other = AllPairsMajorityVote(torch.zeros_like(X), THREE)
    other.load_state_dict(votes.state_dict())
    assert torch.equal(other(NEW), votes(NEW))


def test_what_was_given_stays_as_it_is_when_a_state_is_loaded():
    samples, labels = torch.zeros_like(X), torch.arange(12) % 3
    AllPairsMajorityVote(samples, labels).load_state_dict(AllPairsMajorityVote(X, THREE.flip(0)).state_dict())
    assert not samples.any()
    assert torch.equal(labels, THREE)


def test_samples_without_an_answer_get_the_first_class():
    equal = torch.ones(4, 3)
    model = TopScoringPairs(2, n_classes=3)
    model.fit(X[:, :3], THREE)
    assert model.predict(equal).tolist() == [0] * 4
    model = TopScoringPairs(2)
    assert model.fit(X, TWO).reason == "closed form"
    assert model.predict(torch.ones(4, 6)).tolist() == [0] * 4


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="k=0"):
        TopScoringPairs(0)
    with pytest.raises(ValueError, match="n_classes=1"):
        TopScoringPairs(n_classes=1)
    with pytest.raises(ValueError, match="class 2 of 3 has no sample in y"):
        TopScoringPairs(n_classes=3).fit(X, TWO)
    with pytest.raises(ValueError, match="k=16"):
        TopScoringPairs(16).fit(X, TWO)
    with pytest.raises(ValueError, match=r"y has 1 class\(es\)"):
        AllPairsMajorityVote(X, torch.zeros(12, dtype=torch.int64))
    with pytest.raises(ValueError, match="ties='second'"):
        AllPairsMajorityVote(X, TWO, ties="second")
