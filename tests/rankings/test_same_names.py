"""Columns and rows that have names are never compared by their place where these differ."""

import pickle
from array import array
from collections import deque

import numpy as np
import pandas as pd
import pytest
import torch

import torchrank as tr
from torchrank import classification, distributions, estimators, kernels, metrics, mixtures
from torchrank.datasets import RankingData, from_comparisons, from_ranking_strings, ranking_data

RNG = np.random.default_rng(0)
VALUES = RNG.permuted(np.tile(np.arange(4.0), (12, 1)), axis=1)
FRAME = pd.DataFrame(VALUES, index=[f"r{k}" for k in range(12)], columns=list("abcd"))
SWAPPED = FRAME[list("bacd")]
DATA = RankingData(VALUES, tuple("abcd"), np.ones(12), rankers=tuple(FRAME.index))
OTHERS = {
    "another order": SWAPPED,
    "another name": FRAME.rename(columns={"a": "z"}),
    "data set": RankingData(VALUES, tuple("abdc"), np.ones(12)),
    "rankings": tr.rank(SWAPPED),
    "numbers": pd.DataFrame(VALUES)[[1, 0, 2, 3]],
}
LABELS = np.arange(12) % 2
TWO_SIDES = {
    "kendall": tr.kendall_gram,
    "distance": tr.kendall_distance,
    "mallows": lambda X, Y: tr.mallows_gram(X, Y, lam=0.5),
    "pairwise": lambda X, Y: tr.kendall_gram(X, Y, missing="pairwise", missing_y="pairwise"),
    "counts": kernels.pair_counts,
    "smoothed": lambda X, Y: kernels.smoothed_kendall_gram(X, Y, window=1.0),
    "monte carlo": lambda X, Y: kernels.monte_carlo_kendall_gram(X, Y, window=1.0, n_samples=3),
    "weighted": lambda X, Y: kernels.weighted_kendall_gram(X, Y, pairs=1 - np.eye(4)),
    "diffusion": lambda X, Y: kernels.diffusion_gram(X, Y, beta=0.3),
    "parts": lambda X, Y: kernels.multivariate_gram([X, X], [X, Y]),
    "module": lambda X, Y: tr.KendallKernel()(X, Y),
    "metric": metrics.label_ranking_tau,
    "centers": lambda X, Y: metrics.delta_rank(X, LABELS, Y),
    "votes": lambda X, Y: classification.all_pairs_margins(X, LABELS, Y),
    "center": lambda X, Y: tr.fit_mallows(X, center=Y.iloc[0] if isinstance(Y, pd.DataFrame) else Y),
}
FITTED = {
    "k-means": lambda X: fitted(tr.RankingKMeans(2), X).predict,
    "kernel k-means": lambda X: fitted(tr.KernelKMeans(2), X).predict,
    "distances": lambda X: fitted(tr.KernelKMeans(2), X),
    "Mallows": lambda X: fitted(tr.MallowsMixture(4, 2), X).log_prob,
    "kernel Mallows": lambda X: fitted(tr.KernelMallowsMixture(4, 2), X).predict_proba,
    "kernel Gaussian": lambda X: fitted(tr.KernelGaussianMixture(2, max_lam=3.0), X).bic,
    "pairs": lambda X: fitted(classification.TopScoringPairs(), X, LABELS).predict,
    "all pairs": lambda X: classification.AllPairsMajorityVote(X, LABELS).predict,
}


def fitted(model, *arguments):
    model.fit(*arguments)
    return model


def numbers(found):
    return np.asarray(found[0] if isinstance(found, tuple) else found)


def refused():
    return pytest.raises(ValueError, match=r"(the same names in another order|other names) than .* number \d is '?\w")


@pytest.mark.parametrize("other", [word for word in OTHERS if word != "numbers"])
@pytest.mark.parametrize("name", TWO_SIDES)
def test_two_sides_of_other_items_are_refused(name, other):
    if other == "rankings" and name in ("smoothed", "monte carlo"):
        with pytest.raises(TypeError, match="prepared rankings"):
            TWO_SIDES[name](FRAME, OTHERS[other])
        return
    with refused():
        TWO_SIDES[name](FRAME, OTHERS[other])


@pytest.mark.parametrize("name", TWO_SIDES)
def test_names_that_agree_or_are_not_there_change_nothing(name):
    expected = numbers(TWO_SIDES[name](VALUES, VALUES[:12] if name != "center" else pd.DataFrame(VALUES)))
    named = DATA if name not in ("center",) else FRAME
    for X, Y in ((FRAME, FRAME.copy()), (FRAME, named), (FRAME, pd.DataFrame(VALUES)), (pd.DataFrame(VALUES), FRAME)):
        np.testing.assert_array_equal(numbers(TWO_SIDES[name](X, Y)), expected)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of concentrations at their caps
@pytest.mark.parametrize("other", [word for word in OTHERS if word != "numbers"])
@pytest.mark.parametrize("name", FITTED)
def test_models_take_no_other_items_than_those_fitted(name, other):
    use = FITTED[name](FRAME)
    with refused():
        use(OTHERS[other])
    use(FRAME)
    use(VALUES)
    use(DATA)


def test_numbers_that_pandas_counts_by_are_names_among_themselves():
    with refused():
        tr.kendall_gram(pd.DataFrame(VALUES), OTHERS["numbers"])


def test_a_loaded_model_has_no_names():
    model = fitted(tr.RankingKMeans(2), FRAME)
    copy = pickle.loads(pickle.dumps(model))
    with refused():
        copy.predict(SWAPPED)
    model.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(model.predict(SWAPPED), model.predict(SWAPPED.to_numpy()))


def test_columns_of_a_precomputed_matrix_are_the_rows_fitted():
    gram = tr.kendall_gram(FRAME)
    model = fitted(tr.KernelKMeans(2, kernel="precomputed"), gram)
    with refused():
        model.predict(gram[gram.columns[::-1]])
    np.testing.assert_array_equal(model.predict(gram), model.predict(gram.to_numpy()))


WEIGHED = {
    "borda": tr.borda,
    "kemeny": lambda X, weights: tr.kemeny(X, weights).scores,
    "worths": lambda X, weights: tr.fit_plackett_luce(X, weights, prior=1.0).logits,
    "Mallows": lambda X, weights: tr.fit_mallows(X, weights).lam,
    "k-means": lambda X, weights: tr.RankingKMeans(2, init=LABELS).fit(X, weights).objective,
    "kernel k-means": lambda X, weights: tr.KernelKMeans(2, init=LABELS).fit(X, weights).objective,
    "mixture": lambda X, weights: tr.MallowsMixture(4, 1).fit(X, weights).objective,
    "criterion": lambda X, weights: fitted(tr.MallowsMixture(4, 1), X).bic(X, weights),
    "kernel mixture": lambda X, weights: tr.KernelGaussianMixture(1).fit(X, weights).objective,
    "range": lambda X, weights: (
        mixtures.fit_mixtures(lambda k: tr.MallowsMixture(4, k), X, [1], weights).best.criterion
    ),
    "estimator": lambda X, weights: estimators.RankingKMeans(2, init=LABELS).fit(X, None, weights).objective_,
    "score": lambda X, weights: estimators.MallowsMixture(1).fit(X).score(X, None, weights),
}


@pytest.mark.parametrize("name", WEIGHED)
def test_series_of_weights_are_of_their_rows(name):
    weights = pd.Series(np.arange(1.0, 13), index=FRAME.index)
    expected = WEIGHED[name](VALUES, weights.to_numpy())
    for X in (FRAME, DATA):
        np.testing.assert_allclose(WEIGHED[name](X, weights), expected, rtol=1e-12)
        np.testing.assert_allclose(WEIGHED[name](X, weights.reset_index(drop=True)), expected, rtol=1e-12)
        with pytest.raises(ValueError, match="rows of weights have the same names in another order"):
            WEIGHED[name](X, weights[::-1])
        with pytest.raises(ValueError, match="rows of weights have other names"):
            WEIGHED[name](X, weights.rename({"r3": "r33"}))
    np.testing.assert_allclose(WEIGHED[name](VALUES, weights[::-1][::-1]), expected, rtol=1e-12)


def test_features_of_items_are_those_of_the_items_ranked():
    features = pd.DataFrame(RNG.normal(size=(4, 2)), index=list("abcd"))
    model = distributions.PlackettLuceRegression(2)
    for X in (FRAME, DATA, tr.rank(FRAME)):
        for use in (model.fit, model.log_prob):
            use(X, features)
            with pytest.raises(
                ValueError, match=r"rows of features have the same names in another order .* features\.loc"
            ):
                use(X, features[::-1])
    estimator = estimators.PlackettLuceRegression()
    estimator.fit(features.add_prefix("f"), FRAME.T)
    for y in (FRAME.T[::-1], FRAME.iloc[0][::-1], RankingData(VALUES[:, ::-1].copy(), tuple("dcba"), np.ones(12))):
        with pytest.raises(ValueError, match="the items of y have the same names in another order"):
            estimator.fit(features.add_prefix("f"), y)


def test_columns_of_features_are_those_that_were_fitted():
    features = pd.DataFrame(RNG.normal(size=(4, 2)), index=list("abcd"), columns=["size", "price"])
    model = fitted(distributions.PlackettLuceRegression(2), FRAME, features)
    swapped = features[["price", "size"]]
    for use in (model, model.distribution, lambda table: model.log_prob(FRAME, table)):
        use(features)
        with pytest.raises(ValueError, match="columns of features have the same names in another order"):
            use(swapped)
    weights = pd.Series(np.arange(1.0, 13), index=FRAME.index)
    estimator = estimators.PlackettLuceRegression().fit(features, FRAME.T, weights)
    for y in (FRAME.T, DATA):
        with pytest.raises(ValueError, match="rows of weights have the same names in another order"):
            estimator.fit(features, y, weights[::-1])


NUMBERED = FRAME.set_axis([10, 20, 30, 40], axis=1)
ESTIMATORS = {
    "k-means": lambda X: estimators.RankingKMeans(2, random_state=0).fit(X).predict,
    "kernel k-means": lambda X: estimators.KernelKMeans(2, random_state=0).fit(X).predict,
    "mixture": lambda X: estimators.MallowsMixture(2, random_state=0).fit(X).predict,
    "pairs": lambda X: estimators.TopScoringPairs().fit(X, LABELS).predict,
    "features": lambda X: estimators.KendallFeatures().fit(X).transform,
    "landmarks": lambda X: estimators.LandmarkFeatures(n_landmarks=3, random_state=0).fit(X).transform,
    "label ranking": lambda X: estimators.OneRank().fit(X, FRAME).predict,
    "labels": lambda X: lambda Y: estimators.OneRank().fit(FRAME, X).score(FRAME, Y),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # of concentrations at their caps
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_compare_numbers_of_columns_too(name):
    use = ESTIMATORS[name](NUMBERED)
    use(NUMBERED)
    use(VALUES)
    with refused():
        use(NUMBERED[[20, 10, 30, 40]])
    plain = ESTIMATORS[name](pd.DataFrame(VALUES))
    plain(pd.DataFrame(VALUES))
    with refused():
        plain(pd.DataFrame(VALUES)[[1, 0, 2, 3]])


def test_series_beside_matrices_of_a_kernel():
    gram = tr.kendall_gram(FRAME)
    weights = pd.Series(np.arange(1.0, 13), index=gram.index)
    for fit in (
        tr.KernelKMeans(2, kernel="precomputed").fit,
        tr.KernelGaussianMixture(1, kernel="precomputed", dimension=6).fit,
    ):
        fit(gram, weights)
        with pytest.raises(ValueError, match="rows of weights have the same names in another order"):
            fit(gram, weights[::-1])
    new = tr.kendall_gram(FRAME[:3], FRAME)
    np.testing.assert_array_equal(tr.center_gram(new, gram), tr.center_gram(new.to_numpy(), gram.to_numpy()))
    with refused():
        tr.center_gram(new[new.columns[::-1]], gram)


def test_norms_and_weights_of_pairs():
    gram = tr.kendall_gram(FRAME, variant="a")
    norms = pd.Series(np.arange(1.0, 13), index=gram.index)
    tr.normalize_gram(gram)
    tr.normalize_gram(gram, norms, norms)
    for call in (
        lambda: tr.normalize_gram(gram[gram.columns[::-1]]),
        lambda: tr.normalize_gram(gram, norms[::-1]),
        lambda: tr.normalize_gram(gram, norms, norms[::-1]),
    ):
        with pytest.raises(ValueError, match="have the same names in another order"):
            call()
    pairs = pd.DataFrame(1 - np.eye(4), index=list("abcd"), columns=list("abcd"))
    tr.weighted_kendall_gram(FRAME, pairs=pairs)
    for wrong in (pairs[::-1], pairs[list("dcba")]):
        with pytest.raises(ValueError, match="of pairs have the same names in another order"):
            tr.weighted_kendall_gram(FRAME, pairs=wrong)
    with pytest.raises(ValueError, match=r"rows of part 1 have the same names in another order .* of part 0"):
        kernels.multivariate_gram([FRAME, FRAME[::-1]])


def test_estimators_of_matrices_compare_their_columns():
    gram = tr.kendall_gram(FRAME.set_axis(range(10, 22)))
    for model in (
        estimators.KernelKMeans(2, kernel="precomputed", random_state=0).fit(gram),
        estimators.KernelFisherDiscriminant(kernel="precomputed").fit(gram, LABELS),
    ):
        model.predict(gram)
        with refused():
            model.predict(gram[gram.columns[::-1]])


def test_parts_of_a_data_set():
    ones, features = np.ones(12), pd.DataFrame({"age": np.arange(12.0)}, index=FRAME.index)
    data = RankingData(FRAME, tuple("abcd"), ones, rankers=tuple(FRAME.index), features=features)
    assert isinstance(data.scores, np.ndarray)
    assert isinstance(data.features, np.ndarray)
    for settings in (
        {"items": tuple("dcba")},
        {"scores": FRAME[::-1]},
        {"features": features[::-1]},
        {"classes": pd.Series(LABELS, index=FRAME.index[::-1])},
    ):
        plain = {"scores": FRAME, "items": tuple("abcd"), "weights": ones, "rankers": tuple(FRAME.index)}
        with pytest.raises(ValueError, match="have the same names in another order"):
            RankingData(**plain | settings)


def test_covariances_of_items_of_a_data_set():
    found = tr.fit_plackett_luce(DATA, prior=1.0, covariance=["d", "b"])
    whole = tr.fit_plackett_luce(VALUES, prior=1.0).covariance
    np.testing.assert_allclose(found.covariance, whole[np.ix_([3, 1], [3, 1])], rtol=1e-9)


def test_whole_numbers_in_floating_point_are_numbers():
    weights = pd.Series(np.arange(1.0, 13), index=np.arange(12.0))
    tr.borda(FRAME.reset_index(drop=True), weights)
    with pytest.raises(ValueError, match="rows of weights have the same names in another order"):
        tr.borda(FRAME.reset_index(drop=True), weights[::-1])


@pytest.mark.parametrize("weights", [range(1, 13), array("d", range(1, 13)), deque(range(1, 13)), tuple(range(1, 13))])
def test_sequences_have_no_names(weights):
    expected = tr.borda(VALUES, np.arange(1.0, 13))
    for X in (FRAME, DATA, VALUES):
        np.testing.assert_array_equal(tr.borda(X, weights), expected)
    np.testing.assert_array_equal(ranking_data(FRAME, form="scores", weights=weights).weights, np.arange(1.0, 13))


def test_words_for_each_row():
    words = pd.Series(["topk", "interleaving"] * 6, index=FRAME.index)
    np.testing.assert_array_equal(tr.borda(FRAME, missing=words), tr.borda(FRAME, missing=words.tolist()))
    with pytest.raises(ValueError, match="rows of missing have the same names in another order"):
        tr.borda(FRAME, missing=words[::-1])


READ = {
    "scores": lambda table, weights: ranking_data(table, form="scores", weights=weights),
    "ballots": lambda table, weights: ranking_data(
        pd.DataFrame({"b": "a>b"}, table.index), ballot="b", weights=weights
    ),
    "strings": lambda table, weights: from_ranking_strings(pd.Series("a>b", table.index), weights=weights),
    "pairs": lambda table, weights: from_comparisons(pd.DataFrame({"w": "a", "l": "b"}, table.index), weights=weights),
    "data": lambda table, weights: RankingData(table.to_numpy(), tuple("abcd"), weights, rankers=tuple(table.index)),
}


@pytest.mark.parametrize("name", READ)
def test_readers_compare_rows_of_weights(name):
    weights = pd.Series(np.arange(1.0, 13), index=FRAME.index)
    found = READ[name](FRAME, weights)
    assert isinstance(found.weights, np.ndarray)
    np.testing.assert_array_equal(found.weights, READ[name](FRAME, weights.tolist()).weights)
    with pytest.raises(ValueError, match="rows of weights have the same names in another order"):
        READ[name](FRAME, weights[::-1])


def test_rows_of_data_sets_keep_their_names():
    rankings = tr.rank(DATA)
    assert rankings[[3, 1]].origin.rows.tolist() == ["r3", "r1"]
    assert isinstance(tr.kendall_gram(rankings), np.ndarray)
    assert isinstance(tr.kendall_gram(torch.from_numpy(VALUES), FRAME), torch.Tensor)


@pytest.mark.parametrize(
    "take",
    [
        tr.kendall_gram,
        tr.kendall_distance,
        tr.kendall_test,
        tr.borda,
        tr.rank,
        lambda rows: tr.mallows_gram(rows, lam=0.5),
        lambda rows: tr.smoothed_kendall_gram(rows, window=1.0),
        lambda rows: tr.fit_mallows(rows),
        lambda rows: tr.KernelKMeans(2).fit(rows),
        lambda rows: estimators.KernelKMeans(2).fit(rows),
        lambda rows: estimators.OneRank().fit(VALUES[:3, :2], rows),
        lambda rows: tr.kendall_gram(rows[:1], rows[1:2]),
        lambda rows: tr.kendall_gram(FRAME, rows[1:2]),
    ],
)
def test_series_in_a_list_have_the_same_names(take):
    rows = [FRAME.iloc[0], SWAPPED.iloc[1], FRAME.iloc[2]]
    with pytest.raises(ValueError, match=r"the same names in another order.* number 0 is 'b' and not 'a'"):
        take(rows)


def test_series_in_a_list_are_rows():
    rows = [FRAME.iloc[place] for place in range(3)]
    np.testing.assert_array_equal(tr.kendall_gram(rows), tr.kendall_gram(VALUES[:3]))
    np.testing.assert_array_equal(tr.kendall_gram(FRAME, rows), tr.kendall_gram(VALUES, VALUES[:3]))
    unnamed = [row.reset_index(drop=True) for row in rows]
    np.testing.assert_array_equal(tr.kendall_gram(FRAME, unnamed), tr.kendall_gram(VALUES, VALUES[:3]))
