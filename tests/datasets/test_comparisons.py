"""Comparisons: names by number in linear time, large integers, and matrices of nearly nothing."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch

import torchrank
from torchrank import SparseRankings
from torchrank.datasets import from_comparisons, ranking_data, read_comparisons, read_rankings

FILE = "games.csv"
NAN = np.nan


@pytest.mark.parametrize("seed", range(5))
def test_random_comparisons_equal_their_counts(write, seed):
    rng = np.random.default_rng(seed)
    pairs = [
        (f"p{a}", f"p{(a + b) % 12}") for a, b in zip(rng.integers(0, 12, 200), rng.integers(1, 12, 200), strict=True)
    ]
    weights = rng.integers(0, 5, 200)
    counts = Counter()
    for pair, weight in zip(pairs, weights.tolist(), strict=True):
        counts[pair] += weight
    names = sorted({name for pair in pairs for name in pair}, key=lambda name: int(name[1:]))
    scores = [[2 if name == winner else 1 if name == loser else NAN for name in names] for winner, loser in counts]
    path = write("w,l,n\n" + "".join(f"{a},{b},{n}\n" for (a, b), n in zip(pairs, weights, strict=True)))
    for data in (
        from_comparisons(pairs, weights=weights),
        from_comparisons(pd.DataFrame(pairs), weights=weights),
        from_comparisons(np.array(pairs), weights=weights),
        read_comparisons(path, winner="w", loser="l", weights="n"),
    ):
        assert data.items == tuple(names)
        np.testing.assert_array_equal(data.scores, scores)
        np.testing.assert_array_equal(data.weights, list(counts.values()))


def test_large_numbers_do_not_collide(write):
    big = 1700000000000000001
    frame = pd.DataFrame({"w": [big, big + 1], "l": [big + 1, big + 2]})
    mixed = pd.DataFrame({"w": [big, big + 1], "l": np.array([big + 1, big + 2], dtype=np.uint64)})  # together float64
    for data in (
        from_comparisons(frame),
        from_comparisons(mixed),
        from_comparisons(torch.tensor(frame.to_numpy())),
        from_comparisons(list(zip(frame["w"], frame["l"], strict=True))),
        read_comparisons(write(frame.to_csv(index=False)), winner="w", loser="l"),
    ):
        assert data.items == (str(big), str(big + 1), str(big + 2))
        np.testing.assert_array_equal(data.scores, [[2, 1, NAN], [NAN, 2, 1]])
    with pytest.raises(ValueError, match=r"in floating point, where integers from 2\^53 on collide"):
        from_comparisons([(1.7e18, 3.0)])


def test_whole_floats_are_the_integers_they_are():
    assert from_comparisons([(2.0, 10.0), (10, 2)]).items == ("2", "10")
    assert from_comparisons([(2, 10)], items=["10", "2", "7"]).items == ("10", "2", "7")
    with pytest.raises(TypeError, match="pairs has names and numbers"):
        from_comparisons([("a", 1)])
    with pytest.raises(ValueError, match=r"pairs has \(3, None\) at 1"):
        from_comparisons([(1, 2), (3, None)])


def test_a_large_matrix_of_nearly_nothing_is_refused_by_its_size():
    winners = np.arange(0, 40_000, 2)
    with pytest.raises(
        ValueError, match=r"20000 rankings of 40000 items are a matrix of 800000000 scores \(5\.96 GiB\)"
    ):
        from_comparisons(np.column_stack([winners, winners + 1]))


@pytest.mark.parametrize("form", ["tuples", "frame", "file"])
def test_draws(write, form):
    pairs = [("a", "b"), ("b", "a", "tie"), ("a", "b", "draw"), ("b", "c", "win"), ("a", "b", "Win"), ("c", "a")]
    if form == "tuples":
        data = from_comparisons(pairs)
    elif form == "frame":
        data = from_comparisons(pd.DataFrame([(*pair, "win")[:3] for pair in pairs]))
    else:
        rows = [",".join((*pair, "win")[:3]) for pair in pairs]
        data = read_comparisons(write("\n".join(["w,l,how", *rows]) + "\n"), winner="w", loser="l", outcome="how")
    assert data.items == ("a", "b", "c")
    np.testing.assert_array_equal(data.scores, [[2, 1, NAN], [1, 1, NAN], [NAN, 2, 1], [1, NAN, 2]])
    assert data.weights.tolist() == [2, 2, 1, 1]
    with pytest.raises(ValueError, match=r"\('a', 'b', 'lost'\) at 0; expected an outcome that is one of 'tie'"):
        from_comparisons([("a", "b", "lost")])


@pytest.mark.parametrize("outcome", [None, "", NAN, "NA", pd.NA, 0.5, "loss"])
def test_an_outcome_says_who_won(write, outcome):
    """Some programs write nothing for a draw, which would make a winner of whoever stands first."""
    pairs = [("a", "b", "win"), ("b", "a", outcome)]
    field = "" if outcome is None or outcome is pd.NA or outcome != outcome else outcome
    path = write(f"w,l,how\na,b,win\nb,a,{field}\n")
    for call in (
        lambda: from_comparisons(pairs),
        lambda: from_comparisons(pd.DataFrame(pairs)),
        lambda: read_comparisons(path, winner="w", loser="l", outcome="how"),
    ):
        with pytest.raises(ValueError, match=r"\('b', 'a', .*\) at 1; expected an outcome.*'win' where the first"):
            call()


@pytest.mark.parametrize("nothing", ["NA", ""])
def test_names_that_are_not_there(write, nothing):
    what = "says NA, which is what R writes for nothing" if nothing else "is empty"
    for winner, loser in (("w", "l"), ("l", "w")):
        with pytest.raises(ValueError, match=rf"games\.csv, line 3, column 'w' {what}"):
            read_comparisons(write(f"w,l\nDE,FR\n{nothing},DE\n"), winner=winner, loser=loser)
    for user, item in (("who", "what"), ("what", "who")):
        table = write(f"who,what,how\nDE,FR,1\nFR,DE,2\n{nothing},DE,2\n")
        with pytest.raises(ValueError, match=rf"games\.csv, line 4, column 'who' {what}"):
            read_rankings(table, user=user, item=item, score="how")


def test_an_item_that_is_called_na(write):
    namibia = ["DE", "FR", "NA"]
    games = read_comparisons(write("w,l\nDE,FR\nNA,DE\n"), winner="w", loser="l", items=namibia)
    np.testing.assert_array_equal(games.scores, [[2, 1, NAN], [1, NAN, 2]])
    table = write("who,what,how\nu,FR,1\nu,NA,2\n")
    ratings = read_rankings(table, user="who", item="what", score="how", items=namibia)
    np.testing.assert_array_equal(ratings.scores, [[NAN, 1, 2]])


def test_draws_are_fitted_with_a_parameter():
    """3 wins each and 4 ties: delta = 4/3."""
    data = from_comparisons([("a", "b")] * 3 + [("b", "a")] * 3 + [("a", "b", "tie")] * 4)
    fit = torchrank.fit_plackett_luce(data, missing="interleaving", ties="davidson")
    assert np.exp(fit.log_ties) == pytest.approx([4 / 3], rel=1e-9)


def test_sparse_ones_are_the_same(write):
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, 3, (60, 3)).tolist()
    pairs = [(a, (a + b) % 9, "tie" if t else "win") for a, b, t in drawn if b]
    dense, sparse = from_comparisons(pairs), from_comparisons(pairs, sparse=True)
    assert isinstance(sparse.scores, SparseRankings)
    assert sparse.items == dense.items
    np.testing.assert_array_equal(sparse.weights, dense.weights)
    np.testing.assert_array_equal(sparse.scores.dense().ranks, torchrank.rank(dense.scores, "interleaving").ranks)
    np.testing.assert_array_equal(
        sparse.expanded().dense().ranks,
        sparse.scores.dense().ranks.repeat_interleave(torch.from_numpy(dense.weights).long(), 0),
    )
    assert repr(sparse) == repr(dense)
    path = write("w,l,how\n" + "".join(f"{a},{b},{how}\n" for a, b, how in pairs))
    read = read_comparisons(path, winner="w", loser="l", outcome="how", sparse=True)
    np.testing.assert_array_equal(read.scores.dense().ranks, sparse.scores.dense().ranks)


@pytest.mark.parametrize("form", ["scores", "positions"])
def test_long_tables_may_be_sparse(write, form):
    frame = pd.DataFrame({"who": [3, 3, 1, 1, 2], "what": ["x", "y", "x", "z", "z"], "how": [5, 3, 2, 2, 1]})
    columns = {"user": "who", "item": "what", "score": "how", "form": form}
    dense, sparse = ranking_data(frame, **columns), ranking_data(frame, **columns, sparse=True)
    expected = torchrank.rank(dense.scores, "pairwise").ranks
    np.testing.assert_array_equal(sparse.scores.dense().ranks, expected)
    assert (sparse.rankers, sparse.items, sparse.scores.missing) == (dense.rankers, dense.items, "pairwise")
    path = write(frame.to_csv(index=False))
    np.testing.assert_array_equal(read_rankings(path, **columns, sparse=True).scores.dense().ranks, expected)
    with pytest.raises(ValueError, match="sparse=True is for tables with a row for each score"):
        ranking_data([[1, 2]], form="scores", sparse=True)
