"""Every refusal says which argument it means and what came; docs/errors.md holds what else it says."""

import math

import numpy as np
import pytest
import torch

import torchrank.ops.pair_counts as op
from torchrank import (
    KendallKernel,
    MallowsKernel,
    SmoothedKendallKernel,
    kendall_distance,
    kendall_features,
    kendall_gram,
    mallows_gram,
    multivariate_gram,
    pair_counts,
    polynomial_gram,
    smoothed_features,
    smoothed_kendall_gram,
)

GRAMS = [kendall_gram, kendall_distance, mallows_gram, pair_counts]
X = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (np.ones((2, 3), complex), TypeError, "X has dtype complex128"),
        (
            torch.ones(2, 3, dtype=torch.complex64),
            TypeError,
            r"X has dtype torch.complex64",
        ),
        (
            np.array([[1, None]], object),
            TypeError,
            r"X has dtype object, with None at \(0, 1\)",
        ),
        ([["a", "b"]], TypeError, "X has dtype <U1"),
        (np.array([["2026-01-01", "2027-01-01"]], "M8[D]"), TypeError, r"X has dtype datetime64\[D\]"),
        (None, TypeError, "X has dtype object"),
        (torch.eye(3).to_sparse(), ValueError, r"X leaves items of row 0 unranked: 1 of 3"),
        ([1.0, 2, 3], ValueError, r"X has shape \(3,\)"),
        (3.0, ValueError, r"X has shape \(\)"),
        (np.zeros((2, 1)), ValueError, r"X has shape \(2, 1\), 1 item\(s\) a row"),
    ],
)
@pytest.mark.parametrize("function", [*GRAMS, kendall_features])
def test_scores_that_are_no_rankings(function, scores, error, message):
    with pytest.raises(error, match=message):
        function(scores)


@pytest.mark.parametrize("function", GRAMS)
def test_second_argument_is_named(function):
    with pytest.raises(TypeError, match="Y has dtype complex128"):
        function(X, X.astype(complex))
    with pytest.raises(ValueError, match=r"Y has shape \(3,\)"):
        function(X, X[0])


@pytest.mark.parametrize("function", GRAMS)
def test_sides_that_do_not_fit(function):
    with pytest.raises(ValueError, match="X ranks 3 items and Y ranks 2"):
        function(X, X[:, :2])
    with pytest.raises(ValueError, match=r"\(2,\) of X and \(3,\) of Y"):
        function(np.zeros((2, 1, 4)), np.zeros((3, 1, 4)))
    with pytest.raises(ValueError, match="X is on cpu and Y on meta"):
        function(torch.zeros(2, 4), torch.zeros(2, 4, device="meta"))


@pytest.mark.parametrize("value", ["c", "", ["b"], 1])
def test_unknown_words_list_the_legal_ones(value):
    for function in (kendall_gram, kendall_features):
        with pytest.raises(ValueError, match="variant="):
            function(X, variant=value)
    for function in GRAMS:
        with pytest.raises(ValueError, match="missing"):
            function(X, missing=value)
        legal = "'auto', 'signs', 'inversions', 'reference'"
        with pytest.raises(ValueError, match=f"method=.* is unknown; choose one of {legal}"):
            function(X, method=value)


@pytest.mark.parametrize(
    ("lam", "error", "message"),
    [
        (-1, ValueError, "lam=-1"),
        (-1e-300, ValueError, "lam=-1e-300"),
        (math.nan, ValueError, "lam=nan"),
        (torch.tensor(-2.0), ValueError, r"lam=-2.0"),
        (torch.tensor([[1.0], [math.nan]]), ValueError, "lam=nan"),
        ("1", TypeError, r"lam must .* '1'"),
        (None, TypeError, r"lam must .* None"),
        (True, TypeError, r"lam must .* True"),
        (torch.tensor(True), TypeError, r"lam has dtype torch.bool"),
        (torch.tensor(1j), TypeError, r"lam has dtype torch.complex64"),
        (torch.ones(5), ValueError, r"lam has shape \(5,\), which does not broadcast with \(2, 2\)"),
    ],
)
def test_concentration_out_of_range(lam, error, message):
    with pytest.raises(error, match=message):
        mallows_gram(X, lam=lam)


@pytest.mark.parametrize("tie_penalty", [0.2499, 0, -1, math.nan])
def test_tie_penalty_below_a_quarter_is_no_kernel(tie_penalty):
    message = "tie_penalty="
    for function in (lambda: mallows_gram(X, tie_penalty=tie_penalty), lambda: MallowsKernel(tie_penalty=tie_penalty)):
        with pytest.raises(ValueError, match=message):
            function()


def test_tie_penalty_of_a_distance():
    for value in (-0.1, math.nan):
        with pytest.raises(ValueError, match=f"tie_penalty={value}"):
            kendall_distance(X, tie_penalty=value)
    with pytest.raises(TypeError, match=r"tie_penalty must .* 'half'"):
        kendall_distance(X, tie_penalty="half")


@pytest.mark.parametrize("function", GRAMS)
def test_workspace(function):
    with pytest.raises(ValueError, match="workspace=3"):
        function(X, workspace=3)
    with pytest.raises(TypeError, match=r"workspace must .* 1000000\.0"):
        function(X, workspace=1e6)


def test_unranked_items_have_no_features():
    with pytest.raises(ValueError, match=r"X has NaN .* at row 1, item 0"):
        kendall_features([[1.0, 2.0], [math.nan, 1.0]])


def test_unranked_items_in_a_batch_are_named_by_batch():
    scores = torch.zeros(2, 3, 4, 5)
    scores[1, 2, 3, 4] = math.nan
    with pytest.raises(ValueError, match=r"X has NaN .* at batch \(1, 2\), row 3, item 4"):
        kendall_gram(scores)


@pytest.mark.parametrize("function", [kendall_gram, kendall_distance, mallows_gram, kendall_features])
def test_gradients_of_scores_are_refused_with_the_remedy(function):
    scores = torch.tensor(X, requires_grad=True)
    result = function(scores)
    assert result.requires_grad
    with pytest.raises(RuntimeError, match=r"piecewise constant.*X\.detach"):
        result.sum().backward()
    assert not function(scores.detach()).requires_grad


def test_gradients_of_the_second_side_are_refused_too():
    with pytest.raises(RuntimeError, match="piecewise constant"):
        kendall_gram(torch.tensor(X), torch.tensor(X, requires_grad=True)).sum().backward()


@pytest.mark.parametrize("function", GRAMS)
def test_an_engine_that_the_device_lacks(function, monkeypatch):
    reason = "numba cannot be imported (gone); install it with: pip install numba"
    monkeypatch.setattr(op, "why_missing", lambda device_type: reason)
    monkeypatch.setattr("torchrank.ops.engines._warned", {"cpu"})
    for method in ("signs", "inversions"):
        with pytest.raises(RuntimeError, match=f"method='{method}' has no engine on cpu: "):
            function(X, method=method)
    function(X, method="auto")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: MallowsKernel(lam=0),
            ValueError,
            "lam=0",
        ),
        (lambda: MallowsKernel(lam=math.inf), ValueError, "lam=inf"),
        (lambda: MallowsKernel(lam=math.nan), ValueError, "lam=nan"),
        (lambda: MallowsKernel().set_params(lam=-1), ValueError, "lam=-1"),
        (lambda: setattr(MallowsKernel(), "lam", -1), ValueError, "lam=-1"),
        (lambda: setattr(MallowsKernel(), "lam", math.nan), ValueError, "lam=nan"),
        (
            lambda: MallowsKernel().set_params(beta=1),
            ValueError,
            "MallowsKernel has no parameter 'beta'",
        ),
        (
            lambda: KendallKernel().set_params(lam=1),
            ValueError,
            "KendallKernel has no parameter 'lam'",
        ),
        (lambda: KendallKernel(variant="c"), ValueError, "variant='c'"),
        (lambda: KendallKernel(missing="c"), ValueError, "missing='c'"),
        (lambda: KendallKernel(method="c"), ValueError, "method='c'"),
        (lambda: MallowsKernel(missing="c"), ValueError, "missing='c'"),
        (lambda: MallowsKernel(method="c"), ValueError, "method='c'"),
    ],
)
def test_kernel_modules(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("value", [math.inf, 10**400])
@pytest.mark.parametrize("function", [kendall_distance, mallows_gram])
def test_infinite_tie_penalty(function, value):
    with pytest.raises(ValueError, match="tie_penalty="):
        function([[1, 2, 3]], tie_penalty=value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: mallows_gram(X, lam=10**400),
        lambda: MallowsKernel(lam=10**400),
        lambda: SmoothedKendallKernel(window=10**400),
        lambda: smoothed_kendall_gram(X, window=10**400),
        lambda: smoothed_features(X, window=10**400),
        lambda: multivariate_gram([X, X], weights=[10**400, 1]),
        lambda: polynomial_gram(np.eye(2), degree=10**400, scale=1),
        lambda: polynomial_gram(np.eye(2), degree=1, scale=10**400),
    ],
)
def test_integers_beyond_the_largest_float(make):
    with pytest.raises(ValueError, match=r"=10{400}"):
        make()


def test_parameters_that_an_optimizer_made_infinite_can_be_shown():
    mallows, smoothed = MallowsKernel(), SmoothedKendallKernel()
    with torch.no_grad():
        mallows.log_lam.fill_(800.0)
        smoothed.log_window.fill_(800.0)
    assert "lam=inf" in repr(mallows)
    assert "window=inf" in repr(smoothed)
    with pytest.raises(ValueError, match="window=inf"):
        smoothed(X)
    with pytest.raises(ValueError, match="lam=inf"):
        mallows(X)


def test_masks_are_not_lost():
    X = np.ma.masked_array([[1.0, 2.0, 3.0]], mask=[[False, True, False]])
    with pytest.raises(TypeError, match=r"X is a masked array, .* pass X.astype\(float\).filled\(np.nan\)"):
        kendall_gram(X)


def test_distances_of_half_precision_scores_do_not_overflow():
    X = torch.stack([torch.arange(1000), torch.arange(1000).flip(0)]).to(torch.float16)
    D = kendall_distance(X)
    assert D.dtype == torch.float32
    assert D[0, 1] == 999 * 1000 / 2


def test_a_data_frame_may_have_an_item_called_scores():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["scores", "b", "c"])
    np.testing.assert_array_equal(kendall_gram(frame), kendall_gram(X))
