"""Rankings prepared once: accepted wherever scores are, and never ranked again."""

import copy
import pickle

import numpy as np
import pytest
import torch
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.svm import SVC

import torchrank as tr
from torchrank import aggregation, classification
from torchrank.rankings.orders import scores_of_order

RNG = np.random.default_rng(0)
TOTAL = RNG.permuted(np.tile(np.arange(6.0), (14, 1)), axis=1)
TIED = RNG.integers(0, 4, (14, 6)).astype(float)
HOLES = np.where(RNG.random((14, 6)) < 0.3, np.nan, TIED)
WORDS = ["topk", "interleaving"] * 7


def same(found, expected):
    """Equal, in the same kind of container, dtype and shape."""
    if isinstance(expected, tuple):
        for one, two in zip(found, expected, strict=True):
            same(one, two)
    elif isinstance(expected, (torch.Tensor, np.ndarray)):
        assert type(found) is type(expected)
        assert found.dtype == expected.dtype
        found, expected = (x.detach() if isinstance(x, torch.Tensor) else x for x in (found, expected))
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor, lambda X: torch.as_tensor(X).float()])
@pytest.mark.parametrize(
    "call",
    [
        tr.kendall_gram,
        lambda X: tr.kendall_gram(X, X[3:5]),
        tr.kendall_distance,
        tr.pair_counts,
        lambda X: tr.mallows_gram(X, lam=0.1),
        tr.kendall_features,
        lambda X: tr.weighted_kendall_gram(X, pairs=np.ones((6, 6)) - np.eye(6)),
        tr.borda,
        tr.copeland,
        tr.kemeny,
        aggregation.pair_preferences,
        tr.to_positions,
        lambda X: tr.KendallKernel()(X),
        lambda X: tr.MallowsKernel(lam=0.3)(X, X[:3]),
    ],
)
def test_results_are_those_of_scores(call, convert):
    X = convert(TIED)
    same(call(tr.rank(X)), call(X))


@pytest.mark.parametrize(
    "call",
    [
        tr.to_orders,
        lambda X: tr.diffusion_gram(X, beta=0.1),
        tr.fit_mallows,
        lambda X: tr.fit_plackett_luce(X, prior=1.0)[:4],
        lambda X: tr.KernelKMeans(2, n_init=2).fit(X, generator=torch.Generator().manual_seed(0)).labels,
        lambda X: tr.RankingKMeans(2, n_init=2).fit(X, generator=torch.Generator().manual_seed(0)).labels,
        lambda X: tr.MallowsMixture(6, 2, n_init=2).fit(X, generator=torch.Generator().manual_seed(0)).objective,
        lambda X: tr.KernelMallowsMixture(6, 1).fit(X, generator=torch.Generator().manual_seed(0)).objective,
        lambda X: tr.KernelGaussianMixture(1).fit(X, generator=torch.Generator().manual_seed(0)).objective,
        lambda X: classification.top_scoring_pairs(X, np.arange(14) % 2, 2),
    ],
)
@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor])
def test_results_of_total_rankings_are_those_of_scores(call, convert):
    X = convert(TOTAL)
    same(call(tr.rank(X)), call(X))


@pytest.mark.parametrize("missing", ["interleaving", "topk", "pairwise", WORDS])
@pytest.mark.parametrize("call", [tr.kendall_gram, tr.kendall_distance, aggregation.pair_preferences, tr.kemeny])
def test_what_unranked_items_mean_is_said_once(call, missing):
    same(call(tr.rank(HOLES, missing)), call(HOLES, missing=missing))
    same(call(tr.rank(HOLES, "pairwise"), missing=missing), call(HOLES, missing=missing))


def test_words_are_cut_with_the_rows():
    rankings = tr.rank(HOLES, WORDS)
    rows = np.array([1, 4, 5])
    expected = tr.kendall_gram(HOLES[rows], HOLES[:2], missing=[WORDS[k] for k in rows], missing_y=WORDS[:2])
    same(tr.kendall_gram(rankings[rows], rankings[:2]), expected)
    same(tr.borda(rankings[rows]), tr.borda(HOLES[rows], missing=[WORDS[k] for k in rows]))


@pytest.mark.parametrize(
    "rows", [slice(2, 9), slice(None, None, 3), [4, 1], np.array([0, 0, 13]), torch.arange(14) % 3 == 0, 5, -1]
)
def test_rows_are_cut_as_of_an_array(rows):
    rankings = tr.rank(TIED)
    places = [rows] if isinstance(rows, int) else rows if isinstance(rows, slice) else np.asarray(rows)
    expected = TIED[places]
    same(tr.kendall_gram(rankings[rows]), tr.kendall_gram(expected))
    assert len(rankings[rows]) == len(expected)


def test_cutting_does_not_copy():
    rankings = tr.rank(TIED)
    assert rankings[3:9].ranks.data_ptr() == rankings.ranks[3].data_ptr()


def test_columns_are_not_cut():
    with pytest.raises(IndexError, match="cut by rows alone"):
        tr.rank(TIED)[:, 2]


def test_they_do_not_change():
    rankings = tr.rank(TIED)
    with pytest.raises(AttributeError):
        rankings.ranks = rankings.ranks + 1


def test_what_is_known():
    assert (tr.rank(TOTAL).complete, tr.rank(TOTAL).untied) == (True, True)
    assert (tr.rank(TIED).complete, tr.rank(TIED).untied) == (True, False)
    holes = tr.rank(HOLES, "topk")
    assert (holes.complete, holes.untied) == (False, False)
    full = np.flatnonzero(~np.isnan(HOLES).any(1))
    assert holes[full].complete is None  # some rows of an incomplete set may be complete
    assert holes[full].known().complete
    assert tr.rank(TOTAL)[:3].untied
    assert tr.rank(HOLES, "topk").missing == "topk"


def test_unranked_items_are_refused_once_more_where_they_were_allowed():
    rankings = tr.rank(HOLES, "topk")
    for call in (tr.kendall_gram, tr.kendall_distance, tr.borda, tr.kemeny):
        with pytest.raises(ValueError, match="X has NaN"):
            call(rankings, missing="raise")
    with pytest.raises(ValueError, match="Y has NaN"):
        tr.kendall_gram(TOTAL, tr.rank(HOLES, "topk"), missing_y="raise")
    with pytest.raises(ValueError, match="X has NaN"):
        tr.rank(HOLES)
    with pytest.raises(ValueError, match="X has NaN"):
        tr.rank(rankings, "raise")
    with pytest.raises(ValueError, match="X was ranked with missing='pairwise'"):
        tr.borda(tr.rank(HOLES, "pairwise"))


def test_differences_of_scores_are_gone():
    rankings = tr.rank(TIED)
    for call in (
        lambda: tr.smoothed_kendall_gram(rankings, window=1.0),
        lambda: tr.smoothed_features(rankings, window=1.0),
        lambda: tr.SmoothedKendallKernel()(rankings),
        lambda: tr.monte_carlo_kendall_gram(rankings, window=1.0, n_samples=2),
        lambda: tr.from_positions(rankings),
        lambda: tr.KernelKMeans(2, kernel=tr.SmoothedKendallKernel()).fit(rankings),
    ):
        with pytest.raises(TypeError, match="prepared rankings"):
            call()


def test_as_an_array():
    array = np.asarray(tr.rank(HOLES, "topk"))
    assert array.dtype == np.float64
    assert np.array_equal(np.isnan(array), np.isnan(HOLES))
    same(tr.kendall_gram(array, missing="topk"), tr.kendall_gram(HOLES, missing="topk"))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_pickles_and_copies(duplicate):
    again = duplicate(tr.rank(HOLES, WORDS))
    same(tr.kendall_gram(again), tr.kendall_gram(HOLES, missing=WORDS))
    assert repr(again) == repr(tr.rank(HOLES, WORDS)) == "Rankings(shape=(14, 6), missing='interleaving', device='cpu')"


@pytest.mark.parametrize("missing", ["interleaving", "topk", WORDS])
def test_parts_of_multivariate_rankings_keep_what_unranked_items_mean(missing):
    kernel = tr.kernels.MultivariateKernel([tr.KendallKernel(), tr.MallowsKernel()], sizes=[2, 4])
    parts = [tr.rank(HOLES[:, :2], missing), tr.rank(HOLES[:, 2:], missing)]
    same(kernel(tr.rank(HOLES, missing)), kernel(parts))
    expected = (tr.kendall_gram(HOLES[:, :2], missing=missing) + tr.mallows_gram(HOLES[:, 2:], missing=missing)) / 2
    np.testing.assert_allclose(kernel(tr.rank(HOLES, missing)), expected, rtol=0, atol=1e-15)


def test_parts_of_multivariate_rankings_have_no_differences_of_scores_either():
    kernel = tr.kernels.MultivariateKernel([tr.KendallKernel(), tr.SmoothedKendallKernel()], sizes=[2, 4])
    with pytest.raises(TypeError, match="prepared rankings"):
        kernel(tr.rank(TIED))


@pytest.mark.parametrize("convert", [np.asarray, lambda X: torch.as_tensor(X).half()])
def test_parts_of_multivariate_rankings_have_the_dtype_of_the_scores(convert):
    kernel = tr.kernels.MultivariateKernel([tr.KendallKernel(), tr.KendallKernel()], sizes=[2, 4])
    same(kernel(tr.rank(convert(TIED))), kernel(convert(TIED)))


def test_derivatives_in_parts_are_refused():
    kernel = tr.kernels.MultivariateKernel([tr.KendallKernel(), tr.KendallKernel()], sizes=[2, 4])
    with pytest.raises(RuntimeError, match="piecewise constant"):
        kernel(tr.rank(torch.as_tensor(TIED).requires_grad_())).sum().backward()


def test_batches_broadcast():
    many = tr.rank(TIED[:12].reshape(3, 4, 6))
    same(tr.kendall_gram(many, tr.rank(TIED[:2])), tr.kendall_gram(TIED[:12].reshape(3, 4, 6), TIED[:2]))
    same(tr.kendall_gram(many[1]), tr.kendall_gram(TIED[4:8]))


def test_numbers_that_no_float_tells_apart_keep_their_order():
    X = np.array([[2**53, 2**53 + 1, 0], [1, 2, 3]])
    same(tr.kendall_gram(tr.rank(X)), tr.kendall_gram(X))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int64])
def test_dtypes_of_results(dtype):
    X, Y = torch.as_tensor(TIED).to(dtype), torch.as_tensor(TIED[:3])
    for one, two in ((tr.rank(X), tr.rank(Y)), (tr.rank(X), Y), (X, tr.rank(Y))):
        same(tr.kendall_gram(one, two), tr.kendall_gram(X, Y))
    same(tr.kendall_gram(tr.rank(X), TIED), tr.kendall_gram(X, TIED))
    same(tr.kendall_distance(tr.rank(X)), tr.kendall_distance(X))


def test_derivatives_in_the_scores_are_refused():
    X = torch.as_tensor(TIED).requires_grad_()
    with pytest.raises(RuntimeError, match="piecewise constant"):
        tr.kendall_gram(tr.rank(X)).sum().backward()
    lam = torch.tensor(0.2, requires_grad=True)
    tr.mallows_gram(tr.rank(X.detach()), lam=lam).sum().backward()
    assert lam.grad.isfinite()


def test_under_compile():
    @torch.compile(backend="eager", fullgraph=True)
    def gram(X):
        rankings = tr.rank(X)
        return tr.kendall_gram(rankings, rankings)

    X = torch.as_tensor(TIED)
    assert torch.equal(gram(X), tr.kendall_gram(X))
    with pytest.raises(ValueError, match="X has NaN"):
        gram(torch.as_tensor(HOLES))


def test_under_vmap():
    X = torch.as_tensor(TIED[:12].reshape(3, 4, 6))
    assert torch.equal(torch.func.vmap(lambda x: tr.kendall_gram(tr.rank(x, "pairwise")))(X), tr.kendall_gram(X))


@pytest.mark.parametrize("missing", ["raise", "interleaving", "topk", "pairwise"])
@pytest.mark.parametrize("prepare", [lambda X, missing: X, tr.rank])
def test_no_rows(prepare, missing):
    none, some = prepare(np.empty((0, 6)), missing), prepare(TIED, missing)
    for call in (tr.kendall_gram, tr.kendall_distance, lambda *sides, **word: tr.mallows_gram(*sides, lam=1.0, **word)):
        assert call(none, missing=missing).shape == (0, 0)
        assert call(some, none, missing=missing).shape == (14, 0)
        assert call(none, some, missing=missing).shape == (0, 14)


def test_no_rows_with_a_word_for_each():
    assert tr.kendall_gram(HOLES, np.empty((0, 6)), missing=WORDS, missing_y="topk").shape == (14, 0)
    assert tr.kendall_gram(tr.rank(HOLES, WORDS), tr.rank(HOLES, WORDS)[:0]).shape == (14, 0)
    assert tr.rank(np.empty((0, 4))).untied


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_cuda():
    rankings = tr.rank(torch.as_tensor(HOLES), WORDS)
    moved = rankings.to("cuda")
    assert moved.ranks.device.type == "cuda"
    torch.testing.assert_close(tr.kendall_gram(moved).cpu(), tr.kendall_gram(rankings), rtol=0, atol=1e-15)


def test_scores_of_an_order():
    assert scores_of_order(torch.tensor([[2, 0, 1]])).tolist() == [[2.0, 1.0, 3.0]]


def test_scikit_learn_cuts_folds():
    y = np.arange(14) % 2
    machine, rankings = SVC(kernel=tr.KendallKernel()), tr.rank(TIED)
    assert cross_val_score(machine, rankings, y, cv=3).tolist() == cross_val_score(machine, TIED, y, cv=3).tolist()
    train, test = train_test_split(rankings, random_state=0)
    assert (type(train), len(train) + len(test)) == (tr.Rankings, 14)


@pytest.mark.parametrize("rows", [slice(None, None, -1), [], np.array([1, 2], np.int16), np.array(3), torch.tensor(3)])
def test_other_indices_are_those_of_arrays(rows):
    rows_of_array = np.asarray(rows, dtype=int) if isinstance(rows, list) else rows
    places = np.atleast_1d(np.arange(14)[rows_of_array])
    same(tr.rank(TIED)[rows].ranks, tr.rank(TIED).ranks[torch.from_numpy(places.copy())])


@pytest.mark.parametrize("row", [14, -15, [0, 99]])
def test_rows_that_are_not_there(row):
    with pytest.raises(IndexError):
        tr.rank(TIED)[row]


def test_what_rankings_say_reaches_kernels_and_learners():
    rankings = tr.rank(HOLES, "topk")
    same(tr.KendallKernel()(rankings), tr.kendall_gram(HOLES, missing="topk"))
    same(tr.KendallKernel(missing="pairwise")(rankings), tr.kendall_gram(HOLES, missing="pairwise"))
    assert len(tr.KernelKMeans(2).fit(rankings, generator=torch.Generator().manual_seed(0)).labels) == 14
    assert len(tr.RankingKMeans(2).fit(tr.rank(HOLES, "pairwise")).labels) == 14
    untied = np.where(np.isnan(HOLES), np.nan, TOTAL)
    features, labels = torch.from_numpy(RNG.normal(size=(14, 2))), torch.from_numpy(untied)
    model = tr.MMPL(2, 6, 2, 2, dtype=torch.float64)
    same(model.log_prob(features, tr.rank(labels, "topk")), model.log_prob(features, labels, missing="topk"))
    same(model.log_prob(features, tr.rank(labels, WORDS)), model.log_prob(features, labels, missing=WORDS))
    with pytest.raises(ValueError, match="expected one word, or one for each ranking"):
        model.log_prob(features, labels, missing=[WORDS])


def test_rankings_are_no_features():
    with pytest.raises(TypeError, match="X are prepared rankings, which are no features"):
        tr.rank_tree(tr.rank(TIED), torch.from_numpy(TOTAL), 2)


@pytest.mark.parametrize("missing", [None, "raise"])
def test_gaps_that_are_refused_say_what_losses_take(missing):
    """Targets of losses need no preparation."""
    with pytest.raises(ValueError, match="losses take targets with NaN as they are, and mask= for items"):
        tr.rank(HOLES, missing)
