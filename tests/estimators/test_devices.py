"""Where estimators compute: models and data go there, NumPy arrays come back."""

import inspect
import pickle

import numpy as np
import pytest
import torch

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import nn

from tests.estimators.cases import CASES, classes, gram, outputs, rankings
from torchrank import MallowsKernel, estimators

pytestmark = pytest.mark.filterwarnings("ignore:components .* hold equal rankings only")
ON_THE_CPU = {"GramNormalizer", "KMeansRank", "NaiveKMeans", "OneRank", "RankClusteringTree", "RankTree"}
MOVED = [case for case in CASES if case.name not in ON_THE_CPU]
every_case = pytest.mark.parametrize("case", MOVED, ids=lambda case: case.name)
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")


class Place(str):
    """The CPU by a name that is told apart from "cpu" elsewhere."""


@pytest.fixture
def moves(monkeypatch):
    """Shapes of tensors, and kinds of modules, that are moved to the place of an estimator."""
    found = []
    for kind, seen in ((torch.Tensor, lambda tensor: tuple(tensor.shape)), (nn.Module, type)):

        def move(self, *args, to=kind.to, seen=seen, **options):
            if args and isinstance(args[0], Place):
                found.append(seen(self))
            return to(self, *args, **options)

        monkeypatch.setattr(kind, "to", move)
    return found


def on(case, device):
    return clone(case.estimator).set_params(device=device)


def assert_same(one, other):
    assert one.keys() == other.keys() != set()
    for name in one:
        assert isinstance(one[name], np.ndarray)
        np.testing.assert_array_equal(one[name], other[name])


def learned(model):
    """What a fit leaves as arrays."""
    return {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}


def test_which_estimators_compute_elsewhere():
    for case in CASES:
        assert ("device" in case.estimator.get_params()) == (case.name not in ON_THE_CPU)
        if case.name not in ON_THE_CPU:
            assert list(inspect.signature(type(case.estimator)).parameters)[-1] == "device"


@every_case
def test_the_cpu_by_name_gives_the_same_bits(case):
    X, y = case.data()
    expected, found = on(case, None).fit(X, y), on(case, "cpu").fit(X, y)
    assert_same(outputs(found, X), outputs(expected, X))
    if case.name != "KendallFeatures":  # which learn no numbers
        assert_same(learned(found), learned(expected))
    assert not [name for name, value in vars(found).items() if isinstance(value, torch.Tensor)]
    assert found.device == "cpu"
    assert clone(found).get_params()["device"] == "cpu"
    assert_same(outputs(pickle.loads(pickle.dumps(found)), X), outputs(expected, X))
    if hasattr(expected, "score"):
        assert found.score(X, y) == expected.score(X, y)


@every_case
def test_data_and_models_are_moved(case, moves):
    X, y = case.data()
    model = on(case, Place("cpu")).fit(X, y)
    shape = (6, 6) if case.name.startswith("Kronecker") else X.shape  # the kernel of the start nodes
    assert case.name == "KendallFeatures" or shape in moves  # those have nothing to compute in a fit
    if hasattr(model, "model_") and case.name != "AllPairsMajorityVote":  # which is made of samples that are there
        assert type(model.model_) in moves
    moves.clear()
    outputs(model, X[:-1])
    rows = [shape[0] for shape in moves if isinstance(shape, tuple) and shape]
    assert case.name == "TSPSelector" or len(X) - 1 in rows or case.name.startswith("Kronecker")
    assert case.name == "TSPSelector" or moves


@every_case
def test_a_device_that_is_not_there_is_named_by_the_fit(case):
    X, y = case.data()
    places = ["nowhere", 3.5] if torch.cuda.is_available() else ["nowhere", 3.5, "cuda"]
    for place in places:
        model = on(case, place)
        with pytest.raises(RuntimeError, match=f"device={place!r} cannot be used here"):
            model.fit(X, y)
        with pytest.raises(NotFittedError):
            next(iter(outputs(model, X).values()))


@pytest.mark.parametrize(
    "model",
    [estimators.KernelKMeans(2, random_state=0), estimators.KernelGaussianMixture(2, dimension=10, random_state=0)],
)
def test_the_kernel_of_the_caller_stays_where_it_is(model, moves):
    X, _ = rankings()
    kernel = MallowsKernel(lam=0.3)
    fitted = model.set_params(kernel=kernel, device=Place("cpu")).fit(X)
    assert fitted.kernel is kernel
    assert fitted.model_.kernel is not kernel
    assert fitted.model_.kernel.lam == kernel.lam
    assert type(fitted.model_) in moves


def test_kernels_of_a_discriminant():
    X, y = classes()
    kernel, kinds = MallowsKernel(normalize=True), []

    def products(X, Y):
        kinds.append(type(X))
        return X @ Y.T

    for kernels, plain in ((kernel, kernel), (products, "linear")):
        found = estimators.KernelFisherDiscriminant(kernel=kernels, device="cpu").fit(X, y)
        expected = estimators.KernelFisherDiscriminant(kernel=plain).fit(X, y)
        np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-9)
    assert set(kinds) == {torch.Tensor}
    kinds.clear()
    estimators.KernelFisherDiscriminant(kernel=products).fit(X, y)
    assert set(kinds) == {np.ndarray}


def test_gram_matrices_are_moved(moves):
    K, y = gram()
    model = estimators.KernelKMeans(2, kernel="precomputed", random_state=0)
    found, expected = clone(model).set_params(device=Place("cpu")).fit(K), clone(model).fit(K)
    assert K.shape in moves
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    found = estimators.KernelFisherDiscriminant(kernel="precomputed", device="cpu").fit(K, y)
    expected = estimators.KernelFisherDiscriminant(kernel="precomputed").fit(K, y)
    np.testing.assert_array_equal(found.decision_function(K), expected.decision_function(K))


def test_integers_beyond_floats_stay_apart_on_a_device():
    scores, y = 2**60 + classes()[0].argsort(1).argsort(1), classes()[1]
    for model in (estimators.KernelFisherDiscriminant(), estimators.TopScoringPairs(2)):
        found = clone(model).set_params(device="cpu").fit(scores, y)
        expected = clone(model).fit(scores - 2**60, y)
        np.testing.assert_array_equal(found.decision_function(scores), expected.decision_function(scores - 2**60))


@needs_cuda
@every_case
def test_cuda_gives_what_the_cpu_gives(case):
    X, y = case.data()
    expected, found = on(case, None).fit(X, y), on(case, "cuda").fit(X, y)
    there, here = outputs(found, X), outputs(expected, X)
    assert there.keys() == here.keys() != set()
    for name, value in there.items():
        assert isinstance(value, np.ndarray)
        if case.name == "MMPL":  # updated by several rows at a time there
            assert value.shape == here[name].shape
        else:
            np.testing.assert_allclose(value, here[name], rtol=1e-6, atol=1e-8)
    if hasattr(found, "model_") and isinstance(found.model_, nn.Module):
        parts = [*found.model_.parameters(), *found.model_.buffers()]
        assert {part.device.type for part in parts} == {"cuda"}


@needs_cuda
def test_kernels_stay_where_they_are():
    X, _ = rankings()
    kernel = MallowsKernel(lam=0.3)
    estimators.KernelKMeans(2, kernel=kernel, device="cuda", random_state=0).fit(X)
    assert {part.device.type for part in kernel.parameters()} == {"cpu"}
