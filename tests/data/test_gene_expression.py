"""Real gene-expression samples as rankings of genes (Jiao and Vert, IEEE TPAMI 40(7), 2018, section 8)."""

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.svm import SVC

from torchrank import center_gram, kendall_gram, normalize_gram

pytestmark = pytest.mark.data

SETS = ["colon", "medulloblastoma"]
ACCURACY = {"colon": 85.78, "medulloblastoma": 63.67}  # per cent, in the paper
COSTS = np.logspace(-2, 3, 6)


@pytest.fixture(scope="module", params=SETS)
def samples(request, data_folder):
    """Name, expression values (samples, genes), classes and Gram matrix of one set."""
    with np.load(data_folder / "gene_expression" / f"{request.param}.npz") as file:
        X, y = file["X"], file["y"]
    return request.param, X, y, kendall_gram(X.astype(np.float64))


@pytest.mark.slow
def test_gram_equals_scipy_pair_by_pair(samples):
    _, X, _, K = samples
    rows, columns = np.tril_indices(len(X), -1)
    X = X.astype(np.float64)  # newer SciPy returns the type that it is given
    expected = [kendalltau(X[i], X[j]).statistic for i, j in zip(rows, columns, strict=True)]
    np.testing.assert_allclose(K[rows, columns], expected, rtol=0, atol=1e-12)
    assert (np.diag(K) == 1).all()
    assert np.array_equal(K, K.T)


@pytest.mark.parametrize("method", ["signs", "inversions"])
def test_engines_agree_on_real_ties(samples, method):
    _, X, _, K = samples
    assert np.array_equal(kendall_gram(X.astype(np.float64), method=method), K)
    np.testing.assert_allclose(kendall_gram(X, method=method), K, rtol=2**-23, atol=0)


def test_gram_is_positive_semidefinite(samples):
    K = samples[-1]
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert np.linalg.eigvalsh(center_gram(K)).min() > -1e-12


@pytest.mark.slow
def test_accuracy_of_the_svm_is_that_of_the_paper(samples):
    name, _, y, K = samples
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=0)
    correct = [accuracy(K, y, train, test) for train, test in folds.split(K, y)]
    assert 100 * np.mean(correct) == pytest.approx(ACCURACY[name], abs=3)


def accuracy(K, y, train, test):
    """Share of ``test`` that an SVM trained on ``train`` gets right; ``train`` alone decides the center."""
    K_train, K_new = K[np.ix_(train, train)], K[np.ix_(test, train)]
    centered = center_gram(K_train)
    norms = K[test, test] - 2 * K_new.mean(axis=1) + K_train.mean()  # of the test samples' centered features
    model = GridSearchCV(SVC(kernel="precomputed"), {"C": COSTS}, cv=StratifiedKFold(5))
    model.fit(normalize_gram(centered), y[train])
    return model.score(normalize_gram(center_gram(K_new, K_train), norms, np.diag(centered)), y[test])
