"""Every public name in every circumstance, each against the plain call."""

import importlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

import torchrank
from tests.contract.call import Call, assert_same, batched, doubles, flat, rows_of, turned
from tests.contract.circumstances import ARRAYS, LISTS, TENSORS, Circumstance
from tests.contract.table import CALLS, ESTIMATORS, EXEMPT, ROOMS, TIED

EVERYTHING = {**CALLS, **{f"estimators.{name}": call for name, call in ESTIMATORS.items()}}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning:sklearn")


def circumstances(call: Call) -> dict[str, Circumstance]:
    """Those that apply to a call."""
    chosen = dict(ARRAYS) if call.arrays else dict(TENSORS) if call.tensors else TENSORS | ARRAYS | LISTS
    return {name: c for name, c in chosen.items() if c.applies(call)}


def plain_inputs(call: Call) -> dict[str, Any]:
    return {n.rstrip("_"): torch.from_numpy(a) if call.tensors else a for n, a in call.inputs.items()}


_PLAIN: dict[int, Any] = {}


def plain_call(call: Call) -> Any:
    if id(call) not in _PLAIN:
        _PLAIN[id(call)] = call.function(**plain_inputs(call))
    return _PLAIN[id(call)]


CELLS = [
    pytest.param(call, c, id=f"{name}-{circumstance}")
    for name, call in EVERYTHING.items()
    for circumstance, c in circumstances(call).items()
]


@pytest.mark.parametrize(("call", "circumstance"), CELLS)
def test_circumstances_change_nothing(call, circumstance):
    expected = plain_call(call)
    before = {name: array.copy() for name, array in call.inputs.items()}
    inputs = circumstance.inputs(call)
    with circumstance.around():
        got = call.function(**inputs)
    rough = any(
        "32" in str(getattr(value, "dtype", "")) or "int" in str(getattr(value, "dtype", ""))
        for value in inputs.values()
    )
    assert_same(got, expected, max(circumstance.slack, call.slack if rough else 0))
    if circumstance.bits:
        reference = call.function(**inputs)
        for one, two in zip(flat(got), flat(reference), strict=True):
            np.testing.assert_array_equal(doubles(one), doubles(two))
    for name, array in call.inputs.items():
        np.testing.assert_array_equal(array, before[name])
    if not call.tensors and not any(isinstance(value, torch.Tensor) for value in inputs.values()):
        assert not any(isinstance(part, torch.Tensor) for part in flat(got)), "arrays in, arrays out"


BOOLS = [
    pytest.param(call, tensors, id=f"{name}-{'tensors' if tensors else 'arrays'}")
    for name, call in EVERYTHING.items()
    if "X" in call.inputs and np.array_equal(call.inputs["X"], TIED)
    for tensors in ((True,) if call.tensors else (False,) if call.arrays else (True, False))
]


@pytest.mark.parametrize(("call", "tensors"), BOOLS)
def test_bool_scores_are_0_and_1(call, tensors):
    bools = call.inputs["X"] > 1
    others = {n.rstrip("_"): torch.from_numpy(a) if tensors else a for n, a in call.inputs.items()}
    got, expected = (
        call.function(**others | {"X": torch.from_numpy(X) if tensors else X}) for X in (bools, bools.astype(float))
    )
    assert_same(got, expected, call.slack)


FORMS = {
    "masked": lambda a: np.ma.masked_array(a, mask=np.zeros(a.shape)),
    "masked in a list": lambda a: list(np.ma.masked_array(a, mask=np.zeros(a.shape))),
    "complex": lambda a: a.astype(complex),
    "words": lambda a: np.full(a.shape, "word"),
    "dates": lambda a: np.full(a.shape, "2026-01-01", dtype="M8[D]"),
    "complex tensor": lambda a: torch.from_numpy(a).to(torch.complex64),
}


def _stored(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places ``(2, N)`` and values of what is ranked, zeros among them."""
    places = np.stack(np.nonzero(scores == scores))
    return places, scores[places[0], places[1]]


def _as_sparse_matrix(scores: np.ndarray) -> Any:
    places, values = _stored(scores)
    return scipy.sparse.csr_array((values, (places[0], places[1])), shape=scores.shape)


def _as_sparse_tensor(scores: np.ndarray) -> torch.Tensor:
    places, values = map(torch.from_numpy, _stored(scores))
    return torch.sparse_coo_tensor(places, values, scores.shape, check_invariants=True)


SPARSE = {"sparse": _as_sparse_matrix, "sparse tensor": _as_sparse_tensor}
TAKE_SPARSE = {
    *("kendall_gram", "kendall_gram of partial rankings", "kendall_distance", "mallows_gram", "pair_counts"),
    *("spearman_gram", "kendall_blocks", "kendall_neighbors", "kendall_test"),
    *("weighted_kendall_gram", "kendall_features", "diffusion_gram", "multivariate_gram"),
    *("KendallKernel", "MallowsKernel", "MultivariateKernel", "KernelFisherDiscriminant", "LandmarkFeatures"),
    "LandmarkFeatures of some rows",
    *("borda", "copeland", "kemeny", "aggregation.pair_preferences", "fit_mallows", "fit_plackett_luce"),
    *("kendall_loss", "KendallLoss", "spearman_loss"),
    *("PlackettLuceRegression", "fit_mallows of top lists", "fit_mallows of sub-rankings"),
    *("MallowsMixture of sub-rankings", "fit_mixtures"),
    *("KernelKMeans", "RankingKMeans", "MallowsMixture", "KernelMallowsMixture", "KernelGaussianMixture"),
}
FORMS_OF_X = [
    (name, call, form)
    for name, call in EVERYTHING.items()
    for form in (*FORMS, *SPARSE)
    if any(key[0] == "X" for key in call.inputs)
    and not call.columns
    and not (call.tensors and "tensor" not in form)
    and not (call.arrays and "tensor" in form)
]
REFUSED = [
    pytest.param(call, form, id=f"{name}-{form}")
    for name, call, form in FORMS_OF_X
    if form in FORMS or name not in TAKE_SPARSE
]
TAKEN = [
    pytest.param(call, form, id=f"{name}-{form}")
    for name, call, form in FORMS_OF_X
    if form in SPARSE and name in TAKE_SPARSE
]


@pytest.mark.parametrize(("call", "form"), REFUSED)
def test_what_is_no_ranking_is_refused(call, form):
    inputs = plain_inputs(call)
    inputs["X"] = (FORMS | SPARSE)[form](call.inputs["X"])
    with pytest.raises((TypeError, ValueError)):
        call.function(**inputs)


@pytest.mark.parametrize(("call", "form"), TAKEN)
def test_sparse_rankings_are_the_same_as_dense_ones(call, form):
    inputs = plain_inputs(call)
    inputs["X"] = SPARSE[form](call.inputs["X"])
    assert_same(call.function(**inputs), plain_call(call))


def _permuted(array: np.ndarray, axes: str, rows: np.ndarray, items: np.ndarray) -> np.ndarray:
    for axis, letter in enumerate(axes):
        if letter in "mn":
            array = np.take(array, rows if letter == "m" else items, axis)
    return array


MOVED = [
    pytest.param(call, id=name)
    for name, call in EVERYTHING.items()
    if call.axes and call.reordered and any(map(rows_of, call.inputs))
]


@pytest.mark.parametrize("call", MOVED)
def test_rows_in_another_order_give_the_same(call):
    rng = np.random.default_rng(1)
    m = len(next(array for name, array in call.inputs.items() if rows_of(name)))
    rows = rng.permutation(m)
    inputs = {n: a[rows] if rows_of(n) else a for n, a in call.inputs.items()}
    moved = call.function(**plain_inputs(_with(call, inputs)))
    for got, expected, axes in zip(flat(moved), flat(plain_call(call)), call.axes, strict=True):
        if axes is not None:
            np.testing.assert_allclose(
                doubles(got), _permuted(doubles(expected), axes.replace("n", "k"), rows, rows), rtol=1e-6, atol=1e-7
            )


RENAMED = [
    pytest.param(call, id=name)
    for name, call in EVERYTHING.items()
    if call.items
    and any(axes and "p" not in axes for axes in call.axes)
    and not any(key[0] in "KFz" or (key[0] == "V" and array.shape[1] != 5) for key, array in call.inputs.items())
]


@pytest.mark.parametrize("call", RENAMED)
def test_items_in_another_order_give_the_same(call):
    items = np.random.default_rng(2).permutation(5)
    inputs = {n: a[:, items] if n[0] in "XYV" else a for n, a in call.inputs.items()}
    moved = call.function(**plain_inputs(_with(call, inputs)))
    for got, expected, axes in zip(flat(moved), flat(plain_call(call)), call.axes, strict=True):
        if axes is not None and "p" not in axes:
            rows = np.arange(len(doubles(expected))) if "m" in axes else np.arange(0)
            np.testing.assert_allclose(
                doubles(got), _permuted(doubles(expected), axes, rows, items), rtol=1e-6, atol=1e-7
            )


def _with(call: Call, inputs: dict[str, np.ndarray]) -> Call:
    return Call(call.function, inputs, call.axes, call.tensors, call.arrays)


WEIGHED = [pytest.param(call, id=name) for name, call in EVERYTHING.items() if "w" in call.inputs]
UNSCALED = [param for param in WEIGHED if not param.values[0].scales]


@pytest.mark.parametrize("call", WEIGHED)
def test_rows_of_weight_0_are_rows_left_out(call):
    m = len(call.inputs["w"])
    kept = np.arange(m) != 2
    zero = {n: a * kept if n == "w" else a for n, a in call.inputs.items()}
    out = {n: a[kept] if rows_of(n) else a for n, a in call.inputs.items()}
    with_zero = call.function(**plain_inputs(_with(call, zero)))
    without = call.function(**plain_inputs(_with(call, out)))
    for got, expected, axes in zip(flat(with_zero), flat(without), call.axes, strict=True):
        if axes is not None:
            got = _permuted(doubles(got), axes.replace("n", "k"), np.flatnonzero(kept), np.arange(0))
            np.testing.assert_allclose(got, doubles(expected), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("call", WEIGHED)
def test_whole_weights_are_repeated_rows(call):
    counts = call.inputs["w"].astype(int)
    times = np.repeat(np.arange(len(counts)), counts)
    repeated = {n: np.ones(len(times)) if n == "w" else a[times] if rows_of(n) else a for n, a in call.inputs.items()}
    result = call.function(**plain_inputs(_with(call, repeated)))
    for got, expected, axes in zip(flat(result), flat(plain_call(call)), call.axes, strict=True):
        if axes is not None:
            expected = _permuted(doubles(expected), axes.replace("n", "k"), times, np.arange(0))
            np.testing.assert_allclose(doubles(got), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("power", [-60, 60])
@pytest.mark.parametrize("call", UNSCALED)
def test_weights_times_a_power_of_two_change_no_bit(call, power):
    scaled = {n: a * 2.0**power if n == "w" else a for n, a in call.inputs.items()}
    result = call.function(**plain_inputs(_with(call, scaled)))
    for got, expected in zip(flat(result), flat(plain_call(call)), strict=True):
        np.testing.assert_array_equal(doubles(got), doubles(expected))


POINTWISE = [pytest.param(call, id=name) for name, call in EVERYTHING.items() if call.pointwise]


@pytest.mark.parametrize("m", [0, 1, 2])
@pytest.mark.parametrize("call", POINTWISE)
def test_few_rows_and_none(call, m):
    few = {n: a[:m] if rows_of(n) else a for n, a in call.inputs.items()}
    result = call.function(**plain_inputs(_with(call, few)))
    for got, expected, axes in zip(flat(result), flat(plain_call(call)), call.axes, strict=True):
        if axes is not None:
            first = tuple(slice(0, m) if letter == "m" else slice(None) for letter in axes)
            np.testing.assert_allclose(doubles(got), doubles(expected)[first], rtol=1e-9, atol=1e-12)


OF_TWO = [  # without laws and parts of a fixed number of items
    pytest.param(call, id=name)
    for name, call in EVERYTHING.items()
    if call.pointwise and "X" in call.inputs and call.items and not call.tensors
]


@pytest.mark.parametrize("call", OF_TWO)
def test_two_items_are_enough(call):
    two = {n: a[:, :2] if n in "XYV" else a[:2, :2] if n == "K" else a for n, a in call.inputs.items()}
    expected = call.function(**plain_inputs(_with(call, two)))
    assert all(np.isfinite(doubles(part)).all() for part in flat(expected))
    assert_same(call.function(**{n: torch.from_numpy(a.copy()) for n, a in two.items()}), expected)
    assert_same(call.function(**{n: a.tolist() for n, a in two.items()}), expected)


BATCHES = [
    pytest.param(call, tensors, id=f"{name}-{'tensors' if tensors else 'arrays'}")
    for name, call in EVERYTHING.items()
    if call.batches
    for tensors in ((True,) if call.tensors else (False, True))
]


def _assert_stacked(got: Any, calls: list[Any]) -> None:
    """The results of a batch are those of the calls, integers and words of truth exactly."""
    parts, others = flat(got), [flat(one) for one in calls]
    assert len(parts) == len(others[0])
    for part, *expected in zip(parts, *others, strict=True):
        wanted = np.stack([doubles(one) for one in expected])
        near = 1e-12 if _has_floats(part) else 0
        np.testing.assert_allclose(doubles(part).reshape(wanted.shape), wanted, rtol=near, atol=near)


def _has_floats(part: Any) -> bool:
    return part.is_floating_point() if isinstance(part, torch.Tensor) else np.asarray(part).dtype.kind == "f"


@pytest.mark.parametrize(("call", "tensors"), BATCHES)
def test_a_batch_is_a_stack_of_calls(call, tensors):
    wrap = torch.from_numpy if tensors else np.asarray
    one, other = dict(call.inputs), {n: turned(n, a) if n in batched(call) else a for n, a in call.inputs.items()}
    calls = [call.function(**{n.rstrip("_"): wrap(a) for n, a in inputs.items()}) for inputs in (one, other)]
    both = {n: np.stack([a, other[n]]) if n in batched(call) else a for n, a in one.items()}
    for batch in (both, {n: a[None] if n in batched(call) else a for n, a in both.items()}):
        _assert_stacked(call.function(**{n.rstrip("_"): wrap(a) for n, a in batch.items()}), calls)


TENSOR_CALLS = [pytest.param(call, id=name) for name, call in CALLS.items()]


@pytest.mark.parametrize("call", TENSOR_CALLS)
def test_vmap_is_a_stack_of_calls_or_refused(call):
    names = [name.rstrip("_") for name in call.inputs]
    plain = [torch.from_numpy(a) for a in call.inputs.values()]
    many = [torch.stack([torch.from_numpy(a), torch.from_numpy(turned(n, a))]) for n, a in call.inputs.items()]
    over = [not (call.vmap and call.batched) or n in call.batched for n in call.inputs]

    def function(*args: torch.Tensor) -> Any:
        return tuple(flat(call.function(**dict(zip(names, args, strict=True)))))

    def mapped(in_dims: list[int | None], levels: int = 1) -> Any:
        args, nested = [], function
        for one, stack, dim in zip(plain, many, in_dims, strict=True):
            stacked = stack if levels == 1 else torch.stack([stack, stack.flip(0)])
            args.append(one if dim is None else stacked.movedim(0, dim))
        for _ in range(levels):
            nested = torch.func.vmap(nested, tuple(in_dims), randomness="same")
        return nested(*args)

    every = [0 if is_over else None for is_over in over]
    if not call.vmap:
        with pytest.raises(RuntimeError, match=r"torch\.func\.vmap cannot go through"):
            mapped(every)
        return
    in_one = [0 if k == over.index(True) else None for k in range(len(over))]
    for in_dims in (every, [1 if is_over else None for is_over in over], in_one):
        calls = [
            call.function(
                **{
                    name: one if dim is None else stack[k]
                    for name, one, stack, dim in zip(names, plain, many, in_dims, strict=True)
                }
            )
            for k in range(2)
        ]
        _assert_stacked(mapped(in_dims), calls)
        if in_dims is every:
            _assert_stacked([part[0] for part in mapped(every, levels=2)], calls)
            _assert_stacked([part[1] for part in mapped(every, levels=2)], calls[::-1])


DIFFERENTIATED = [pytest.param(call, id=name) for name, call in EVERYTHING.items() if call.derivative]


@pytest.mark.parametrize("call", DIFFERENTIATED)
def test_forward_mode_and_its_refusal(call):
    name = next(n for n in call.inputs if n[0] in "XVK")
    rest = {n: torch.from_numpy(a) for n, a in call.inputs.items() if n != name}
    X = torch.from_numpy(call.inputs[name])

    def function(x):
        parts = [part for part in flat(call.function(**{name: x}, **rest)) if part.is_floating_point()]
        return sum(part.sum() * (k + 1) for k, part in enumerate(parts))

    towards = torch.randn(X.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    towards = towards + towards.mT if name == "K" else towards
    if call.derivative == "refused":
        for ask in (torch.func.jvp, lambda f, x, t: torch.func.grad(f)(*x)):
            with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
                ask(function, (X,), (towards,))
        return
    step = 1e-6
    difference = (function(X + step * towards) - function(X - step * towards)) / (2 * step)
    derivative = torch.func.jvp(function, (X,), (towards,))[1]
    gradient = torch.func.grad(function)(X)
    torch.testing.assert_close(derivative, difference, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close((gradient * towards).sum(), derivative, rtol=1e-6, atol=1e-9)


COMPILED = [pytest.param(call, id=name) for name, call in EVERYTHING.items() if call.compiles]


@pytest.mark.slow
@pytest.mark.parametrize("call", COMPILED)
def test_compiled_it_is_the_same(call):
    torch.compiler.reset()
    inputs = {n: torch.from_numpy(a) for n, a in call.inputs.items()}
    compiled = torch.compile(lambda **kwargs: flat(call.function(**kwargs)), fullgraph=True, backend="aot_eager")
    assert_same(compiled(**inputs), flat(call.function(**inputs)))


def test_every_public_name_is_in_the_table():
    listed = {name.split(" ")[0] for name in CALLS} | set(EXEMPT)
    for room, prefix in ROOMS.items():
        exported = importlib.import_module(room).__all__
        missing = [
            name
            for name in exported
            if f"{prefix}{name}" not in listed and name not in listed and not hasattr(torchrank, name)
        ]
        missing += [name for name in exported if room == "torchrank" and name not in listed]
        assert not missing, f"{room} exports {missing}, which tests/contract/table.py does not call"
    missing = set(importlib.import_module("torchrank.estimators").__all__) - set(ESTIMATORS) - set(EXEMPT)
    assert not missing, f"torchrank.estimators exports {missing}, which tests/contract/table.py does not call"


def test_the_documentation_tells_the_number_of_cells():
    from pathlib import Path

    cells = sum(
        len(group)
        for group in (
            CELLS,
            BOOLS,
            REFUSED,
            TAKEN,
            MOVED,
            RENAMED,
            WEIGHED * 2,
            UNSCALED * 2,
            POINTWISE * 3,
            OF_TWO,
            BATCHES,
            TENSOR_CALLS,
            DIFFERENTIATED,
            COMPILED,
        )
    )
    text = (Path(torchrank.__file__).parent.parent / "docs" / "exactness.md").read_text()
    assert f"{cells:,} cells" in text, f"docs/exactness.md should say {cells:,} cells"


NOT_FOLLOWED = {"linalg.psd_eigh", "linalg.centered_eigh", "linalg.cg", "linalg.bicgstab"}  # as their docstrings say
WITHOUT_FLOATS = {  # integers, words of truth and numbers of Python have no derivatives in torch
    "RankingKMeans", "linalg.check_psd", "linalg.check_symmetric", "metrics.concordance_index",
    "metrics.silhouette_score", "metrics.conditional_ranking_error", "metrics.label_ranking_loss",
    "metrics.label_ranking_tau", "pair_counts", "to_orders",
}  # fmt: skip
SILENT = [
    pytest.param(call, id=name)
    for name, call in CALLS.items()
    if not call.derivative and name not in NOT_FOLLOWED | WITHOUT_FLOATS and any(n[0] in "XYK" for n in call.inputs)
]


@pytest.mark.parametrize("call", SILENT)
def test_no_derivative_is_a_silent_zero(call):
    name = next(n for n in call.inputs if n[0] in "XYK")
    rest = {n.rstrip("_"): torch.from_numpy(a) for n, a in call.inputs.items() if n != name}
    X = torch.from_numpy(call.inputs[name].astype(float))
    towards = torch.randn(X.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    towards = towards + towards.mT if name == "K" else towards
    weights = torch.Generator()

    def function(x):
        weights.manual_seed(0)
        results = flat(call.function(**{name.rstrip("_"): x}, **rest))
        parts = [part for part in results if isinstance(part, torch.Tensor) and part.is_floating_point()]
        assert parts
        return sum((part * torch.randn(part.shape, generator=weights)).sum() for part in parts)

    for ask in (lambda: torch.func.jvp(function, (X,), (towards,))[1], lambda: torch.func.grad(function)(X)):
        found = _or_refusal(ask)
        if isinstance(found, str):
            assert re.search(_REFUSALS, found), found
        else:
            assert found.any()


_REFUSALS = "piecewise constant in the scores|no derivative follows it|no derivative in the rows"


def _or_refusal(ask: Callable[[], torch.Tensor]) -> torch.Tensor | str:
    try:
        return ask()
    except RuntimeError as error:
        return str(error)
