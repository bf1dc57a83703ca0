import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

import pandas as pd
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel

from torchrank import KendallKernel, MultivariateKernel
from torchrank.estimators import (
    GramNormalizer,
    KernelFisherDiscriminant,
    KernelKMeans,
    MallowsMixture,
    OneRank,
    RankingKMeans,
)
from torchrank.estimators.border import refuse_words, takes_unranked

RANKINGS = np.random.default_rng(0).normal(size=(12, 4))
UNRANKED = np.where(RANKINGS > 1, np.nan, RANKINGS)
CLASSES = np.arange(12) % 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([["a", "b"]], "X has 'a' at row 0, column 0"),
        (np.array([[1, "2"], [3, "b"]], dtype=object), "X has 'b' at row 1, column 1"),
        (pd.DataFrame({"rank": [1.0, 2.0], "name": ["x", "y"]}), "X has 'x' at row 0, column 1"),
        (["a", "b"], "X has 'a' at place 0"),
    ],
)
def test_words_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        refuse_words(table, "X", "do so")


@pytest.mark.parametrize("table", [[["1", "-2.5"]], np.array([[1, None]], dtype=object), np.eye(2), pd.DataFrame()])
def test_numbers_are_not(table):
    before = repr(table)
    refuse_words(table, "X", "do so")  # raises nothing
    assert repr(table) == before


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (None, False),
        ("precomputed", False),
        (rbf_kernel, False),
        (KendallKernel(), False),
        (KendallKernel(missing="topk"), True),
        (MultivariateKernel([KendallKernel(), KendallKernel(missing="topk")], sizes=[2, 2]), True),
    ],
)
def test_kernels_that_take_unranked_items(kernel, expected):
    assert takes_unranked(kernel) == expected


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (KernelKMeans(), "choose a kernel that takes unranked items, such as kernel=KendallKernel"),
        (KernelKMeans(kernel=rbf_kernel), "choose a kernel that takes unranked items"),
        (KernelFisherDiscriminant(), "choose a kernel that takes unranked items"),
        (RankingKMeans(), "pass missing='pairwise'"),
        (MallowsMixture(), "complete the row, or use KernelGaussianMixture"),
    ],
)
def test_the_remedy_for_unranked_items(model, remedy):
    row, item = np.argwhere(np.isnan(UNRANKED))[0]
    with pytest.raises(ValueError, match=rf"X has NaN \(an unranked item\) at row {row}, item {item}; .*{remedy}"):
        model.fit(UNRANKED, CLASSES)
    model.fit(RANKINGS, CLASSES)
    with pytest.raises(ValueError, match=remedy):
        model.predict(UNRANKED)


def test_parts_of_a_multivariate_kernel_take_unranked_items_or_not():
    some, both = UNRANKED.copy(), MultivariateKernel([KendallKernel(), KendallKernel(missing="topk")], sizes=[2, 2])
    some[:, :2] = RANKINGS[:, :2]
    assert np.isnan(some).any()
    assert KernelFisherDiscriminant(kernel=both).fit(some, CLASSES).predict(some).shape == (12,)
    with pytest.raises(ValueError, match=r"NaN \(an unranked item\)"):
        KernelFisherDiscriminant(kernel=both).fit(some[:, ::-1], CLASSES)


def test_features_and_gram_matrices_have_scikit_learns_words_for_nan():
    with pytest.raises(ValueError, match="Input X contains NaN"):
        OneRank().fit(UNRANKED, RANKINGS)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        GramNormalizer().fit(np.full((2, 2), np.nan))


def test_words_among_label_scores():
    with pytest.raises(ValueError, match="Y has 'soup' at row 0, column 0"):
        OneRank().fit(RANKINGS, np.full((12, 3), "soup"))


@pytest.mark.parametrize(
    ("Y", "error", "message"),
    [
        (csr_array([[0.0, 2, 1], [3, 0, 1]]), TypeError, "Y is a sparse matrix.*not Y.toarray"),
        ({"a": [1, 2], "b": [2, 1]}, TypeError, "Y is dict, .*it is a dictionary"),
        ({(1, 2), (2, 1)}, TypeError, "Y is set, .*has no order"),
        (["A>B>C", "B>A>C"], TypeError, "Y is list, .*from_ranking_strings"),
        (np.array(["A>B>C", "B>A>C"]), TypeError, "Y is ndarray, .*from_ranking_strings"),
        (
            pd.DataFrame({"user": ["a", "a"], "item": ["x", "y"], "rating": [1, 2]}),
            TypeError,
            "Y has the columns .*user=",
        ),
        ([[1, 2], [1]], ValueError, "Y does not hold real numbers"),
        (np.ma.array([[1, 2], [2, 1]], mask=[[0, 1], [0, 0]]), TypeError, r"pass Y.astype\(float\).filled"),
    ],
)
def test_what_reads_rankings_of_labels_is_named(Y, error, message):
    with pytest.raises(error, match=message):
        OneRank().fit(RANKINGS[:2], Y)


def test_advice_for_integers_with_a_mask_works():
    with pytest.raises(TypeError, match="astype"):
        MallowsMixture(1).fit(np.ma.array([[1, 2], [2, 1]], mask=[[0, 1], [0, 0]]))
    filled = np.ma.array([[1, 2], [2, 1]], mask=[[0, 1], [0, 0]]).astype(float).filled(np.nan)
    assert np.isnan(filled).sum() == 1
