"""Kernels as modules: callable on rankings, learnable where they have parameters, accepted by scikit-learn."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import override

from torchrank.kernels.kendall import kendall_gram
from torchrank.kernels.kendall_arguments import VARIANTS
from torchrank.kernels.mallows import mallows_gram
from torchrank.kernels.multivariate import Parts, as_parts, log_weights, simplex, weighted_sum
from torchrank.kernels.smoothed import smoothed_kendall_gram
from torchrank.kernels.windows import LogWindow, log_window
from torchrank.linalg.precision import KeepsPrecision, one_number
from torchrank.ops.pair_counts import METHODS
from torchrank.ops.rank import of_items
from torchrank.ops.smoothed import METHODS as SMOOTHED_METHODS
from torchrank.rankings.arrays import as_array
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import MISSING
from torchrank.rankings.noises import NOISES
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.validate import Scores, check_at_least, check_choice, check_count, check_positive
from torchrank.typing import Array, MissingWord, Noise, PairMethod, SmoothedMethod, Variant


@isolated
class RankKernel(KeepsPrecision, ABC):
    """A kernel on rankings.

    Called with score matrices it returns their Gram matrix, called with two vectors one number, so that it can be
    handed to scikit-learn as it is: ``SVC(kernel=kernel)`` calls it with matrices, ``KernelRidge(kernel=kernel)`` with
    pairs of vectors. Elsewhere, and wherever speed matters, compute the matrix once and pass ``kernel="precomputed"``.
    """

    _settings: tuple[str, ...]

    @abstractmethod
    def gram(self, X: Scores[Array], Y: Scores[Array] | None) -> Array:
        """The Gram matrix ``(..., m, m2)`` of score matrices."""

    def forward(self, X: Scores[Array], Y: Scores[Array] | None = None) -> Array:
        """The Gram matrix of ``X`` ``(..., m, n)`` and ``Y`` ``(..., m2, n)``, or a number for two vectors ``(n,)``."""
        if _is_vector(X) and (Y is None or _is_vector(Y)):
            return self.gram(_one_row(X, "X"), None if Y is None else _one_row(Y, "Y"))[0, 0]
        return self.gram(X, Y)

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Scores[Array], Y: Scores[Array] | None = None) -> Array: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments with their present values, in the manner of scikit-learn."""
        return {name: getattr(self, name) for name in self._settings}

    def set_params(self, **params: Any) -> RankKernel:
        """Set constructor arguments by name, in the manner of scikit-learn.

        Raises:
            ValueError: an argument that the kernel does not have.
        """
        for name in params:
            if name not in self._settings:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(self._settings)}")
        fresh = type(self)(**{**self.get_params(), **params})
        for name in params:
            setattr(self, name, getattr(fresh, name))
        return self

    def __sklearn_clone__(self) -> RankKernel:
        return copy.deepcopy(self)

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        return ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())


@isolated
class KendallKernel(RankKernel):
    """Kendall kernel as a module without parameters; see :func:`torchrank.kendall_gram` for what it computes.

    Args:
        variant: "a" or "b"; None is the function's default, "b", and "a" for "interleaving" and "topk".
        missing: "raise", "interleaving", "topk" or "pairwise"; None leaves it to prepared rankings, and is "raise" for
            scores.
        method: "auto", "signs", "inversions" or "reference".

    Raises:
        ValueError: unknown words.
    """

    _settings = ("variant", "missing", "method")

    def __init__(
        self, *, variant: Variant | None = None, missing: MissingWord | None = None, method: PairMethod = "auto"
    ) -> None:
        super().__init__()
        if variant is not None:
            check_choice(variant, "variant", VARIANTS)
        _check_words(missing, method)
        self.variant: Variant | None = variant
        self.missing: MissingWord | None = missing
        self.method: PairMethod = method

    def gram(self, X: Scores[Array], Y: Scores[Array] | None) -> Array:
        """See :func:`torchrank.kendall_gram`."""
        return kendall_gram(X, Y, variant=self.variant, missing=self.missing, method=self.method)


@isolated
class MallowsKernel(RankKernel):
    """Mallows kernel with a learnable concentration; :func:`torchrank.mallows_gram` has the equation and its source.

    The parameter is ``log_lam``, so that no step of an optimizer makes ``lam`` negative. It is kept in float64,
    since a rounded ``lam`` is multiplied by large distances; a scalar does not change the dtype of the result.

    Args:
        lam: concentration to start from, greater than 0.
        tie_penalty: cost of a pair tied in exactly one ranking, at least 1/4.
        normalize: count distances as shares of all pairs.
        missing: "raise", "interleaving", "topk" or "pairwise"; None leaves it to prepared rankings, and is "raise" for
            scores.
        method: "auto", "signs", "inversions" or "reference".

    Raises:
        ValueError: ``lam`` not positive, ``tie_penalty`` below 1/4, unknown words.
    """

    _settings = ("lam", "tie_penalty", "normalize", "missing", "method")

    def __init__(
        self,
        *,
        lam: float = 1.0,
        tie_penalty: float = 0.25,
        normalize: bool = False,
        missing: MissingWord | None = None,
        method: PairMethod = "auto",
    ) -> None:
        super().__init__()
        check_at_least(tie_penalty, "tie_penalty", 0.25, why=": below, the exponential of the distance is not a kernel")
        _check_words(missing, method)
        self.log_lam = nn.Parameter(one_number(_log_concentration(lam)))
        self.tie_penalty, self.normalize = tie_penalty, normalize
        self.missing: MissingWord | None = missing
        self.method: PairMethod = method

    @property
    def lam(self) -> float:
        """The present concentration."""
        return float(self.log_lam.detach().exp())

    @lam.setter
    def lam(self, value: float) -> None:
        with torch.no_grad():
            self.log_lam.fill_(_log_concentration(value))

    def gram(self, X: Scores[Array], Y: Scores[Array] | None) -> Array:
        """See :func:`torchrank.mallows_gram`; differentiable in ``log_lam``."""
        return mallows_gram(
            X,
            Y,
            lam=self.log_lam.reshape(()).exp(),
            tie_penalty=self.tie_penalty,
            normalize=self.normalize,
            missing=self.missing,
            method=self.method,
        )


@isolated
class SmoothedKendallKernel(LogWindow, RankKernel):
    """Smoothed Kendall kernel with a learnable window; see :func:`torchrank.smoothed_kendall_gram`.

    The parameter is ``log_window``, so that ``window`` stays positive whatever an optimizer does. It is kept in
    float64; a scalar does not change the dtype of the result.

    Args:
        window: scale of the jitter to start from, greater than 0, in the unit of the scores.
        noise: "uniform" or "gaussian".
        method: "exact", "sweep", "auto" or "reference".

    Raises:
        ValueError: ``window`` not positive and finite, unknown words.
    """

    _settings = ("window", "noise", "method")

    def __init__(self, *, window: float = 1.0, noise: Noise = "uniform", method: SmoothedMethod = "exact") -> None:
        super().__init__()
        check_choice(noise, "noise", tuple(NOISES))
        check_choice(method, "method", SMOOTHED_METHODS)
        self.noise: Noise = noise
        self.method: SmoothedMethod = method
        self.log_window = nn.Parameter(log_window(window))

    def gram(self, X: Scores[Array], Y: Scores[Array] | None) -> Array:
        """See :func:`torchrank.smoothed_kendall_gram`; differentiable in ``log_window`` and in the scores."""
        return smoothed_kendall_gram(X, Y, window=self._window(), noise=self.noise, method=self.method)


@isolated
class MultivariateKernel(RankKernel):
    """Weighted mean of kernels on the parts of multivariate rankings, with learnable weights.

    Called with lists of score matrices as :func:`torchrank.multivariate_gram`; with ``sizes`` also with matrices, or
    vectors, in which the parts stand side by side, which is what scikit-learn and data loaders pass. The parameters are
    ``logits``, of which the weights are the softmax, and those of the kernels.

    Args:
        kernels: a kernel module for every part.
        weights: numbers above 0 that add up to 1, to start from; None means 1/p each.
        sizes: numbers of items of the parts, to cut matrices into parts.

    Raises:
        ValueError: no kernels, weights that are not positive or do not add up to 1, lengths that differ; when called,
            as :func:`torchrank.multivariate_gram`, and for a matrix with other than ``sum(sizes)`` columns.
        TypeError: kernels that are not modules; when called, a matrix although ``sizes`` is None.

    Example:
        Learn the weights, and the windows of both parts, so that the kernel agrees with labels y in {-1, 1}::

            parts = [SmoothedKendallKernel(window=1.0), SmoothedKendallKernel(window=1.0)]
            kernel = MultivariateKernel(parts)
            optimizer = torch.optim.Adam(kernel.parameters(), lr=0.05)
            target = y[:, None] * y
            for _ in range(100):
                K = center_gram(kernel([music, films]))
                loss = -(K * target).sum() / (K.norm() * target.norm())  # kernel-target alignment
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        ``python -m benchmarks.learn_kernel`` of the repository runs this beside a fixed kernel, on rankers held out.
    """

    _settings = ("kernels", "weights", "sizes")

    def __init__(
        self,
        kernels: Iterable[nn.Module],
        *,
        weights: Sequence[float] | Tensor | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        kernels = [*kernels]
        for index, kernel in enumerate(kernels):
            if not isinstance(kernel, nn.Module):
                raise TypeError(f"kernels[{index}] is {kernel!r}; expected a kernel module such as KendallKernel()")
        self.kernels = nn.ModuleList(kernels)
        if not self.kernels:
            raise ValueError("kernels is empty; expected one kernel for every part")
        if sizes is not None and len(sizes) != len(self.kernels):
            raise ValueError(f"sizes has {len(sizes)} entries for {len(self.kernels)} kernels; pass one for each")
        for index, size in enumerate(sizes or ()):
            check_count(size, f"sizes[{index}]", least=1, unit="items")
        self.sizes = None if sizes is None else [int(size) for size in sizes]
        self.logits = nn.Parameter(log_weights(simplex(weights, len(self.kernels))))

    @property
    def weights(self) -> list[float]:
        """The present weights."""
        return self.logits.detach().softmax(0).tolist()

    @weights.setter
    def weights(self, values: Sequence[float]) -> None:
        with torch.no_grad():
            self.logits.copy_(log_weights(simplex(values, len(self.kernels))))

    def forward(self, X: Parts[Array], Y: Parts[Array] | None = None) -> Array:
        """The Gram matrix of lists of parts or, with ``sizes``, of matrices; a number for two vectors."""
        if isinstance(X, (list, tuple)):
            return self.gram(X, Y)
        x: Any = X
        y: Any = Y
        return super().forward(x, y)

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Parts[Array], Y: Parts[Array] | None = None) -> Array: ...

    def gram(self, X: Parts[Array], Y: Parts[Array] | None) -> Array:
        """See :func:`torchrank.multivariate_gram`; differentiable in ``logits`` and the kernels' parameters."""
        parts = self._cut(X, "X")
        others = [None] * len(parts) if Y is None else self._cut(Y, "Y")
        return weighted_sum([*self.kernels], parts, others, self.logits.softmax(0))

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them; the kernels follow as children."""
        return f"weights={self.weights!r}, sizes={self.sizes!r}"

    def _cut(self, X: Any, name: str) -> list[Scores]:
        if isinstance(X, (list, tuple)):
            return as_parts(X, name)
        if self.sizes is None:
            raise TypeError(
                f"{name} is one matrix; pass a list of parts, or construct the kernel with sizes=[n_1, ..., n_p]"
            )
        sizes = self.sizes
        if X.shape[-1] != sum(sizes):
            raise ValueError(f"{name} has {X.shape[-1]} columns; sizes={sizes} needs {sum(sizes)}")
        ends = list(accumulate(sizes))
        items = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        return [of_items(X, part) if isinstance(X, Rankings) else X[..., part] for part in items]


def _is_vector(scores: Any) -> bool:
    if hasattr(scores, "ndim"):  # a tensor, an array, a data frame
        return scores.ndim == 1
    return isinstance(scores, (list, tuple)) and len(scores) > 0 and all(np.ndim(part) == 0 for part in scores)


def _one_row(scores: Scores, name: str) -> Scores:
    """A vector as a matrix."""
    return scores[None] if isinstance(scores, Tensor) else as_array(scores, name)[None]


def _check_words(missing: str | None, method: str) -> None:
    if missing is not None:
        check_choice(missing, "missing", MISSING)
    check_choice(method, "method", METHODS)


def _log_concentration(lam: float) -> float:
    check_positive(lam, "lam")
    return math.log(lam)
