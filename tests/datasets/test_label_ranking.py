import gzip
import math

import numpy as np
import pytest

from torchrank.datasets.label_ranking import (
    CENTRAL_ORDERS,
    checker,
    circles,
    drop_labels,
    read_label_ranking,
)
from torchrank.metrics import discordant_shares

NAN = math.nan
SETS = {  # rows, features, labels, different rankings
    "authorship": (841, 70, 4, 17), "bodyfat": (252, 7, 7, 236), "calhousing": (20640, 4, 4, 24),
    "cold": (2465, 24, 4, 24), "cpu-small": (8192, 6, 5, 119), "diau": (2465, 24, 7, 967), "dtt": (2465, 24, 4, 24),
    "elevators": (16599, 9, 9, 131), "fried": (40768, 9, 5, 120), "glass": (214, 9, 6, 30), "heat": (2465, 24, 6, 622),
    "housing": (506, 6, 6, 112), "iris": (150, 4, 3, 5), "pendigits": (10992, 16, 10, 2081),
    "segment": (2310, 18, 7, 135), "spo": (2465, 24, 11, 2361), "stock": (950, 5, 5, 51), "vehicle": (846, 18, 4, 18),
    "vowel": (528, 10, 11, 294), "wine": (178, 13, 3, 5), "wisconsin": (194, 16, 16, 194),
}  # fmt: skip


def center_scores(classes):
    scores = np.empty((3, 6))
    np.put_along_axis(scores, np.array(CENTRAL_ORDERS), np.arange(6, 0, -1.0)[None], axis=1)
    return scores[classes]


def test_circles():
    data = circles(7000, seed=0)
    radius = np.hypot(*data.X.T)
    assert data.X.shape == (7000, 2)
    assert np.abs(data.X).max() <= 3
    np.testing.assert_array_equal(data.classes, np.where(radius <= 1.5, 0, np.where(radius <= 2.7, 1, 2)))
    assert (np.sort(data.Y, axis=1) == np.arange(1, 7)).all()


def test_noise_switches_as_often_as_it_should():
    data = circles(40_000, seed=1)
    assert data.classes is not None
    changed = discordant_shares(data.Y, center_scores(data.classes)) > 0
    # A first pair changes with chance .7; a second or third may only seldom bring it back.
    assert 0.66 < changed.mean() < 0.70
    top = data.Y.argmax(1) != center_scores(data.classes).argmax(1)
    assert 0.2 < top.mean() < 0.4


@pytest.mark.parametrize(("layout", "shares"), [("quadrants", [4, 4, 8]), ("corners", [1, 1, 14])])
def test_checker(layout, shares):
    data = checker(7200, layout=layout, seed=0)
    np.testing.assert_array_equal(np.bincount(data.classes), [450 * share for share in shares])
    right = data.X[data.classes < 2]
    assert right[:, 0].mean() > 0.9
    assert data.X[data.classes == 0][:, 1].mean() > 0.9
    assert data.X[data.classes == 1][:, 1].mean() < -0.9


def test_generators_are_repeatable():
    np.testing.assert_array_equal(circles(50, missing=0.5, seed=3).Y, circles(50, missing=0.5, seed=3).Y)
    with pytest.raises(ValueError, match="layout='x'"):
        checker(layout="x")
    with pytest.raises(ValueError, match="n=0"):
        circles(0)
    for spread in (-1, math.inf, NAN):
        with pytest.raises(ValueError, match=f"spread={spread}"):
            checker(spread=spread)
    assert len(np.unique(checker(160, spread=0).X, axis=0)) == 16


def test_missing_labels():
    Y = np.tile(np.arange(10.0), (2000, 1))
    dropped = drop_labels(Y, 0.3, seed=0)
    assert 0.28 < np.isnan(dropped).mean() < 0.32
    np.testing.assert_array_equal(dropped[~np.isnan(dropped)], Y[~np.isnan(dropped)])
    assert not np.isnan(Y).any()
    assert np.isnan(drop_labels(Y, 1.0)).all()
    np.testing.assert_array_equal(drop_labels(Y, 0.0), Y)
    assert 0.58 < np.isnan(circles(3000, missing=0.6, seed=0).Y).mean() < 0.62
    with pytest.raises(ValueError, match=r"rate=1.5"):
        drop_labels(Y, 1.5)
    with pytest.raises(ValueError, match=r"missing=1.5"):
        circles(5, missing=1.5)


def test_missing_labels_of_a_data_set():
    data = circles(200, seed=0)
    dropped = drop_labels(data, 0.3, seed=1)
    np.testing.assert_array_equal(dropped.Y, drop_labels(data.Y, 0.3, seed=1))
    assert not np.isnan(data.Y).any()
    assert (dropped.items, dropped.X is data.X, dropped.notes is data.notes) == (data.items, True, True)
    with pytest.raises(ValueError, match="rate=-1"):
        drop_labels(data, -1)


def test_tables_in_both_forms(tmp_path):
    ranks = tmp_path / "ranks.csv.gz"
    with gzip.open(ranks, "wt") as file:
        file.write("size,weight,rank:a,rank:b,rank:c\n1.5,2,1,3,2\n0,-1,,1,2\n")
    data = read_label_ranking(ranks)
    np.testing.assert_array_equal(data.X, [[1.5, 2], [0, -1]])
    np.testing.assert_array_equal(data.Y, [[3, 1, 2], [NAN, 3, 2]])
    assert (data.feature_names, data.items) == (("size", "weight"), ("a", "b", "c"))
    strings = tmp_path / "strings.csv"
    strings.write_text("size,weight,ranking\n1.5,2,a>c>b\n0,-1,b>c\n")
    again = read_label_ranking(strings)
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(np.argsort(again.Y[0]), np.argsort(data.Y[0]))
    assert again.items == data.items
    strings.write_text("size,ranking\n3,\n1.5,a>c>b\n")  # the first row ranks nothing
    np.testing.assert_array_equal(read_label_ranking(strings).Y, [[NAN, NAN, NAN], [3, 1, 2]])


def test_other_marks_of_unranked_labels(tmp_path):
    path = tmp_path / "ranks.csv"
    for mark, unranked in (("0", 0), ("-1", -1), ("0", "0"), ("-", "-")):
        path.write_text(f"x,rank:a,rank:b,rank:c\n1.5,2,{mark},1\n0,,1,2\n")
        np.testing.assert_array_equal(read_label_ranking(path, unranked=unranked).Y, [[2, NAN, 3], [NAN, 3, 2]])
    path.write_text("x,rank:a,rank:b\n1,-1,1\n")
    with pytest.raises(ValueError, match=r"the best is 1.*unranked=-1"):
        read_label_ranking(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n", "neither rank:LABEL columns nor"),
        ("", r"table\.csv is empty"),
        ("x,rank:a,rank:b\n1,1\n", "line 2 has 2 fields"),
        ("x,rank:a,rank:b\nred,1,2\n", "a field that is not a number"),
        ("rank:a,x,rank:b\n1,1,2\n", "put the rank: columns last"),
        ("x,rank:a,rank:b\n1,0,1\n", "the best is 1"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_label_ranking(path)


@pytest.mark.data
@pytest.mark.parametrize("name", SETS)
def test_sizes_of_the_benchmark_sets(data_folder, name):
    data = read_label_ranking(data_folder / "label_ranking" / f"{name}.csv.gz")
    N, d, L, distinct = SETS[name]
    assert (data.X.shape, data.Y.shape) == ((N, d), (N, L))
    assert (np.sort(data.Y, axis=1) == np.arange(1, L + 1)).all()
    assert len(np.unique(data.Y, axis=0)) == distinct
