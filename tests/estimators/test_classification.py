import numpy as np
import pytest
import torch

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from torchrank import KendallKernel, center_gram, kendall_gram, normalize_gram
from torchrank.classification import all_pairs_margins, fisher_discriminant, top_scoring_pairs, vote_margins
from torchrank.estimators import (
    AllPairsMajorityVote,
    GramNormalizer,
    KernelFisherDiscriminant,
    TopScoringPairs,
    TSPSelector,
)

RNG = np.random.default_rng(2)
X, NEW = RNG.normal(size=(18, 6)), RNG.normal(size=(7, 6))
TWO, THREE = np.array(["b", "a"])[np.arange(18) % 2], np.array([10, 30, 20])[np.arange(18) % 3]


@pytest.mark.parametrize("disjoint", [False, True])
def test_top_scoring_pairs_with_labels_of_strings(disjoint):
    model = TopScoringPairs(3, disjoint=disjoint).fit(X, TWO)
    pairs = top_scoring_pairs(X, TWO == "b", 3, disjoint=disjoint)
    assert model.classes_.tolist() == ["a", "b"]
    assert np.array_equal(model.pairs_[0], np.stack([pairs.above, pairs.below], axis=1))
    assert np.array_equal(model.scores_[0], pairs.score)
    margins = vote_margins(NEW, pairs)
    assert np.array_equal(model.decision_function(NEW), margins)
    assert model.predict(NEW).tolist() == np.where(margins > 0, "b", "a").tolist()


def test_all_pairs():
    for ties in ("half", "strict"):
        margins = all_pairs_margins(X, TWO == "b", NEW, ties=ties)
        assert np.array_equal(AllPairsMajorityVote(ties=ties).fit(X, TWO).decision_function(NEW), margins)


@pytest.mark.parametrize("estimator", [TopScoringPairs(3), AllPairsMajorityVote(), KernelFisherDiscriminant()])
def test_three_classes(estimator):
    model = clone(estimator).fit(X, THREE)
    decision = model.decision_function(NEW)
    assert decision.shape == (7, 3)
    assert np.array_equal(model.predict(NEW), np.array([10, 20, 30])[decision.argmax(1)])


def test_training_data_may_change_after_the_fit():
    changed = X.copy()
    model = AllPairsMajorityVote().fit(changed, TWO)
    before = model.decision_function(NEW)
    changed[:] = 0
    assert np.array_equal(model.decision_function(NEW), before)


def test_selector_for_many_k_from_one_fit():
    selector = TSPSelector(8).fit(X, TWO)
    for k, mask in zip([1, 3, 8], selector.supports([1, 3, 8]), strict=True):
        single = TSPSelector(k).fit(X, TWO)
        assert np.array_equal(single.get_support(), mask)
        assert np.array_equal(single.transform(X), X[:, mask])
    several = TSPSelector(2).fit(X, THREE)
    assert several.pairs_.shape == (3, 2, 2)
    assert set(several.get_support(indices=True)) == set(several.pairs_.ravel())
    assert TSPSelector(3, disjoint=True).fit(X, TWO).get_support().sum() == 6
    with pytest.raises(ValueError, match="ks names 9 pairs"):
        selector.supports([9])


def test_selector_in_a_grid_search():
    model = make_pipeline(TSPSelector(), SVC(kernel=KendallKernel()))
    search = GridSearchCV(model, {"tspselector__k": [1, 4]}, cv=StratifiedKFold(3)).fit(X, TWO)
    assert search.predict(NEW).shape == (7,)


@pytest.mark.parametrize(
    ("kernel", "gram"),
    [
        ("kendall", kendall_gram),
        (KendallKernel(), kendall_gram),
        ("rbf", lambda A, B: rbf_kernel(A, B, gamma=0.3)),
        (lambda A, B: A @ B.T, lambda A, B: A @ B.T),
    ],
)
def test_fisher_discriminant_with_any_kernel(kernel, gram):
    params = {"gamma": 0.3} if kernel == "rbf" else None
    options = {"ridge": 0.2, "ridge_on": "scatter", "threshold": "zero"}
    model = KernelFisherDiscriminant(kernel=kernel, kernel_params=params, **options).fit(X, TWO)
    expected = fisher_discriminant(gram(X, X), TWO == "b", **options).decision(gram(NEW, X))
    np.testing.assert_allclose(model.decision_function(NEW), expected, rtol=1e-12)
    precomputed = KernelFisherDiscriminant(kernel="precomputed", **options).fit(gram(X, X), TWO)
    np.testing.assert_allclose(precomputed.decision_function(gram(NEW, X)), expected, rtol=1e-12)


FEATURES, NEW_FEATURES = RNG.normal(size=(9, 4)) + 2, RNG.normal(size=(5, 4)) + 2


def prepared(features, center, scale):
    """Explicit feature vectors, centered by the training samples and of unit length."""
    result = features - FEATURES.mean(0) if center else features
    return result / np.linalg.norm(result, axis=1, keepdims=True) if scale else result


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_gram_normalizer_does_what_happens_to_explicit_features(center, scale):
    K, K_new = FEATURES @ FEATURES.T, NEW_FEATURES @ FEATURES.T
    before = K.copy()
    normalizer = GramNormalizer(center=center, scale=scale).fit(K)
    train, new = prepared(FEATURES, center, scale), prepared(NEW_FEATURES, center, scale)
    np.testing.assert_allclose(normalizer.transform(K), train @ train.T, rtol=0, atol=1e-13)
    block = normalizer.transform(K_new, self_kernel=(NEW_FEATURES**2).sum(1))
    np.testing.assert_allclose(block, new @ train.T, rtol=0, atol=1e-13)
    assert np.array_equal(normalizer.fit_transform(K), normalizer.transform(K))
    some = normalizer.transform(K[2:5], self_kernel=K.diagonal()[2:5])
    np.testing.assert_allclose(some, (train @ train.T)[2:5], rtol=0, atol=1e-13)
    assert np.array_equal(K, before)
    if scale:
        assert (normalizer.transform(K).diagonal() == 1).all()


def test_gram_normalizer_of_feature_vectors_at_the_mean():
    features = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])  # the last is the mean of the first two, and of all
    normalizer = GramNormalizer().fit(features @ features.T)
    assert np.array_equal(normalizer.transform(features @ features.T)[2], [0, 0, 0])
    assert np.array_equal(normalizer.transform(np.zeros((1, 3)), self_kernel=0.0), [[0, 0, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_normalizer_does_not_blow_up_rounding(dtype):
    features = RNG.normal(size=(7, 3)).astype(dtype)
    features[-1] = features[:-1].mean(0)
    K = features @ features.T
    normalizer = GramNormalizer().fit(K)
    assert np.array_equal(normalizer.transform(K)[-1], np.zeros(7))
    assert (normalizer.transform(K).diagonal()[:-1] == 1).all()
    assert np.array_equal(normalizer.transform(K[:3], K.diagonal()[:3])[:, -1], np.zeros(3))
    constant = np.full((7, 7), 0.1, dtype)  # what equal samples have; their mean is not exact
    assert not GramNormalizer().fit_transform(constant).any()


def test_gram_normalizer_names_its_columns():
    pytest.importorskip("pandas")
    frame = GramNormalizer().set_output(transform="pandas").fit_transform(kendall_gram(X))
    assert list(frame.columns) == [f"gramnormalizer{i}" for i in range(18)]


def test_fisher_discriminant_ranks_long_integers_exactly():
    small = RNG.permuted(np.tile(np.arange(6), (18, 1)), axis=1)
    for kernel in ("kendall", KendallKernel()):
        expected = KernelFisherDiscriminant(kernel=kernel).fit(small, TWO).decision_function(small)
        found = KernelFisherDiscriminant(kernel=kernel).fit(small + 2**60, TWO).decision_function(small + 2**60)
        assert np.array_equal(found, expected)


def test_fisher_discriminant_of_partial_rankings():
    partial = np.where(X > 1, np.nan, X)
    gram = kendall_gram(partial, missing="interleaving")
    expected = fisher_discriminant(gram, TWO == "b").decision(gram)
    for options in ({"kernel_params": {"missing": "interleaving"}}, {"kernel": KendallKernel(missing="interleaving")}):
        model = KernelFisherDiscriminant(**options).fit(partial, TWO)
        np.testing.assert_allclose(model.decision_function(partial), expected, rtol=1e-12)


def test_arguments_of_a_function_as_kernel():
    model = KernelFisherDiscriminant(kernel=laplacian_kernel, kernel_params={"gamma": 0.3}).fit(X, TWO)
    named = KernelFisherDiscriminant(kernel="laplacian", kernel_params={"gamma": 0.3}).fit(X, TWO)
    assert np.array_equal(model.decision_function(NEW), named.decision_function(NEW))


def test_gram_normalizer_in_a_pipeline_cuts_both_sides():
    K = kendall_gram(X)
    model = make_pipeline(GramNormalizer(self_kernel=1.0), SVC(kernel="precomputed"))
    search = GridSearchCV(model, {"svc__C": [0.1, 10.0]}, cv=StratifiedKFold(3)).fit(K, TWO)
    errors = []
    for train, test in StratifiedKFold(3).split(K, TWO):
        K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
        norms = 1 - 2 * K_test.mean(1) + K_train.mean()
        centered = center_gram(K_train)
        machine = SVC(C=0.1, kernel="precomputed").fit(normalize_gram(centered), TWO[train])
        block = normalize_gram(center_gram(K_test, K_train), norms, centered.diagonal())
        errors.append(machine.score(block, TWO[test]))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][0], np.mean(errors), rtol=1e-12)
    assert search.predict(kendall_gram(NEW, X)).shape == (7,)


K = kendall_gram(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TopScoringPairs().fit(X, np.zeros(18, int)), "y has one class only, 0;"),
        (lambda: TopScoringPairs(16).fit(X, TWO), "k=16"),
        (lambda: TSPSelector(16).fit(X, TWO), "k=16"),
        (lambda: TopScoringPairs().fit(np.where(X > 2, np.nan, X), TWO), r"X has NaN .* at row"),
        (lambda: AllPairsMajorityVote(ties="no").fit(X, TWO), "ties='no'"),
        (lambda: KernelFisherDiscriminant().fit(X, ["x"] * 18), "y has one class only, 'x'"),
        (
            lambda: KernelFisherDiscriminant(kernel="kendal").fit(X, TWO),
            "kernel='kendal'",
        ),
        (lambda: KernelFisherDiscriminant(kernel="precomputed").fit(K[:4], TWO[:4]), "expected a square matrix"),
        (lambda: KernelFisherDiscriminant(kernel="precomputed").fit(K, TWO).predict(K[:, :5]), "X has 5 features, but"),
        (lambda: GramNormalizer().fit(K[:4]), r"K has shape \(4, 18\)"),
        (lambda: GramNormalizer().fit(K + np.eye(18, k=1)), "K is not symmetric"),
        (lambda: GramNormalizer().fit(K).transform(K[:, :5]), "X has 5 features, but GramNormalizer is expecting 18"),
        (lambda: GramNormalizer().fit(K).transform(K[:4]), "scaling rows that are not the training samples needs self"),
        (lambda: GramNormalizer().fit(K).transform(K[:4], np.ones(3)), r"self_kernel has shape \(3,\)"),
        (lambda: GramNormalizer().fit(K).transform(K[:4], np.nan), "self_kernel has NaN or infinite entries"),
        (lambda: GramNormalizer().fit(K).transform(K[:4], 0.0), "self_kernel of row 0 is 0, too small beside"),
        (lambda: GramNormalizer(center=False).fit(K).transform(K[:4], -1.0), "self_kernel of row 0 is -1, too small"),
        (lambda: GramNormalizer().fit(-K), "K of sample 0 is -1, too small beside"),
        (
            lambda: KernelFisherDiscriminant(kernel=lambda A, B: A[:2] @ B[:2].T).fit(X, TWO),
            r"kernel gave a matrix of shape \(2, 2\)",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_class_of_one_sample():
    y = np.arange(18) == 4
    for estimator in (TopScoringPairs(), AllPairsMajorityVote(), KernelFisherDiscriminant()):
        assert clone(estimator).fit(X, y).predict(X)[4]


def test_modules_of_the_estimators_are_torch_modules():
    assert isinstance(TopScoringPairs().fit(X, TWO).model_, torch.nn.Module)
    assert isinstance(AllPairsMajorityVote().fit(X, TWO).model_, torch.nn.Module)
