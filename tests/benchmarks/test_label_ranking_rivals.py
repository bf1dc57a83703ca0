"""Label rankers that the papers do not have, and the comparison of all over data sets."""

import numpy as np
import pytest
import torch

from benchmarks.papers import label_ranking_comparison as compared
from benchmarks.papers import label_ranking_rivals as rivals
from torchrank.metrics import label_ranking_loss

RIVALS = {  # by how many rows they average over
    "neighbors": rivals.neighbors,
    "positions": lambda n: rivals.forest_of_positions(n // 4),
    "pairs": lambda n: rivals.forest_of_pairs(n // 4),
    "logistic": lambda n: rivals.logistic_pairs(10.0),
}


def rows(n, missing=0.0, seed=0):
    """Two features that decide the order of four labels, the last of which is always behind the third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.stack([X[:, 0], X[:, 1], np.full(n, -3.0), np.full(n, -4.0)], 1)
    Y[rng.random(Y.shape) < missing] = np.nan
    return torch.from_numpy(X), torch.from_numpy(Y)


@pytest.mark.parametrize(("n", "missing", "over"), [(120, 0.0, 4), (2000, 0.3, 60)])
@pytest.mark.parametrize("name", RIVALS)
def test_they_learn_what_features_decide(name, n, missing, over):
    X, Y = rows(n, missing)
    new, truth = rows(400, seed=1)
    fitted = RIVALS[name](over)(X, Y, 10, 0)
    scores = fitted.predict(new)
    assert scores.shape == truth.shape
    assert label_ranking_loss(truth, scores) < 0.06
    assert (scores[:, 2] > scores[:, 3]).double().mean() > 0.99


def test_pairs_of_labels_that_no_row_has():
    X, Y = rows(20)
    Y[:, 3] = np.nan
    for name in ("pairs", "logistic"):
        assert RIVALS[name](4)(X, Y, 10, 0).predict(X).isfinite().all()


def test_votes_and_signs_by_hand():
    Y = torch.tensor([[3.0, 1.0, 2.0], [2.0, torch.nan, 1.0]], dtype=torch.float64)
    np.testing.assert_allclose(rivals.votes(Y), [[3, 1, 2], [8 / 3, 2, 4 / 3]])  # 2 and 1 of 2: thirds of 4
    pairs, signs = rivals.pair_signs(Y.numpy())
    assert pairs == [(0, 1), (0, 2), (1, 2)]
    np.testing.assert_array_equal(signs, [[1, 1, -1], [np.nan, 1, np.nan]])


def test_comparison_by_hand(tmp_path):
    found = {"1-Rank": (4, 5, 6), "neighbors": (1, 3, 3), compared.OURS: (2, 2, 3)}
    rows = [
        {"method": m, "set": name, "reading": "true", "missing": 0.0, "repeat": repeat, "loss": loss / 10 + repeat}
        for m, losses in found.items()
        for name, loss in zip("abc", losses, strict=True)
        for repeat in range(1 if m == "1-Rank" else 2)
    ]
    others = [
        {**rows[0], "method": "forest of pairs"},
        *({**row, "reading": "inverted", "loss": 9.0} for row in rows),
        *({**row, "missing": 0.3, "loss": 9.0} for row in rows),
    ]
    losses = compared.losses_of(rows + others, "abc", "true", 0.0)
    assert losses.methods == ("1-Rank", compared.OURS, "neighbors")  # the forest did not run on all sets
    np.testing.assert_allclose(
        losses.values, [[0.4, 0.5, 0.6], [0.2, 0.2, 0.3], [0.1, 0.3, 0.3]]
    )  # of the first repeat
    np.testing.assert_array_equal(losses.ranks, [[3, 3, 3], [2, 1, 1.5], [1, 2, 1.5]])
    text = compared.comparison(losses)
    assert "| neighbors | 0.2333 | 1.50 | 1, 1 | 1 |" in text
    assert f"| {compared.OURS} | 0.2333 | 1.50 |  |  |" in text
    assert "| 1-Rank | 0.5000 | 3.00 | 3, 0 | 0.25 |" in text
    compared.draw(losses, tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").stat().st_size > 1000
    assert compared.comparison(compared.losses_of([], "abc", "true", 0.0)) == ""
