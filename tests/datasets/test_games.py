"""Rock, paper, scissors: who beats whom, how often, and what the arguments do."""

import numpy as np
import pytest

from torchrank.datasets.games import advantage, play, rock_paper_scissors


def test_games_are_reciprocal_and_won_by_the_stronger_move():
    rock_and_paper = np.array([[1.0, 0, 0], [0, 1.0, 0]])
    edges, y = play(np.random.default_rng(0), rock_and_paper, 1)
    assert edges.tolist() == [[0, 1], [1, 0]]
    assert y.tolist() == [-1, 1]
    assert advantage(np.eye(3)).tolist() == [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]


def test_each_pair_plays_once():
    data = rock_paper_scissors(seed=0)
    assert (data.nodes.shape, data.edges.shape, data.y.shape) == ((100, 3), (2000, 2), (2000,))
    np.testing.assert_allclose(data.nodes.sum(1), 1)
    assert len({tuple(edge) for edge in data.edges.tolist()}) == 2000
    np.testing.assert_array_equal(data.edges[:1000], data.edges[1000:, ::-1])
    np.testing.assert_array_equal(data.y[:1000], -data.y[1000:])
    assert repr(data) == "EdgeData('Rock, paper, scissors': 2000 edges between 100 nodes of 3 features)"


@pytest.mark.parametrize("w", [1, 10, 100])
def test_wins_are_as_frequent_as_the_advantage_says(w):
    data = rock_paper_scissors(300, 40_000, w=w, seed=1)
    start, end = data.edges[:40_000].T
    expected = data.notes["advantage"][start, end]
    brute = [
        sum(
            data.nodes[i, a] * data.nodes[j, b] * ((a - b) % 3 == 1)
            - data.nodes[i, a] * data.nodes[j, b] * ((b - a) % 3 == 1)
            for a in range(3)
            for b in range(3)
        )
        for i, j in data.edges[:50]
    ]
    np.testing.assert_allclose(expected[:50], brute, atol=1e-12)
    surprise = (data.y[:40_000] - expected).mean()
    assert abs(surprise) < 4 * np.sqrt((1 - expected**2).mean() / 40_000)


def test_larger_w_is_less_balanced():
    tops = [rock_paper_scissors(2000, 1, w=w, seed=2).nodes.max(1).mean() for w in (0, 1, 10, 100, 1e5)]
    assert tops[0] == pytest.approx(1 / 3)
    assert tops == sorted(tops)
    assert tops[-2] > 0.9


def test_seeds_repeat_and_arguments_are_checked():
    np.testing.assert_array_equal(rock_paper_scissors(seed=3).y, rock_paper_scissors(seed=3).y)
    assert rock_paper_scissors(3, 0).edges.shape == (0, 2)
    with pytest.raises(ValueError, match="n_games=4"):
        rock_paper_scissors(3, 4)
    with pytest.raises(ValueError, match="w=-1"):
        rock_paper_scissors(w=-1)
