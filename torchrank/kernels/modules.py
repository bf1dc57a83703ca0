"""Kernels as modules: callable on rankings, learnable where they have parameters, accepted by scikit-learn."""

import copy
import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from torchrank.kernels.all_pairs import MISSING
from torchrank.kernels.kendall import VARIANTS, kendall_gram
from torchrank.kernels.mallows import mallows_gram
from torchrank.linalg.precision import KeepsPrecision
from torchrank.ops.pair_counts import METHODS
from torchrank.rankings.arrays import Matrix, as_array
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import Scores, check_at_least, check_choice, check_positive


@in_plain_surroundings
class RankKernel(KeepsPrecision, ABC):
    """A kernel on rankings.

    Called with score matrices it returns their Gram matrix, called with two vectors one number, so that it can be
    handed to scikit-learn as it is: ``SVC(kernel=kernel)`` calls it with matrices, ``KernelRidge(kernel=kernel)`` with
    pairs of vectors. Elsewhere, and wherever speed matters, compute the matrix once and pass ``kernel="precomputed"``.
    """

    _settings: tuple[str, ...]

    @abstractmethod
    def gram(self, X: Scores, Y: Scores | None) -> Matrix:
        """The Gram matrix ``(..., m, m2)`` of score matrices."""

    def forward(self, X: Scores, Y: Scores | None = None) -> Matrix:
        """The Gram matrix of ``X`` ``(..., m, n)`` and ``Y`` ``(..., m2, n)``, or a number for two vectors ``(n,)``."""
        if _is_vector(X) and (Y is None or _is_vector(Y)):
            return self.gram(_one_row(X, "X"), None if Y is None else _one_row(Y, "Y"))[0, 0]
        return self.gram(X, Y)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments with their present values, in the manner of scikit-learn."""
        return {name: getattr(self, name) for name in self._settings}

    def set_params(self, **params: Any) -> "RankKernel":
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

    def __sklearn_clone__(self) -> "RankKernel":
        return copy.deepcopy(self)

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        return ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())


@in_plain_surroundings
class KendallKernel(RankKernel):
    """Kendall kernel as a module without parameters; see :func:`torchrank.kendall_gram` for what it computes.

    Args:
        variant: "a" or "b"; None is the function's default, "b", and "a" for "interleaving" and "topk".
        missing: "raise", "interleaving", "topk" or "pairwise".
        method: "auto", "signs", "inversions" or "reference".

    Raises:
        ValueError: unknown words.
    """

    _settings = ("variant", "missing", "method")

    def __init__(self, *, variant: str | None = None, missing: str = "raise", method: str = "auto") -> None:
        super().__init__()
        if variant is not None:
            check_choice(variant, "variant", VARIANTS)
        _check_words(missing, method)
        self.variant, self.missing, self.method = variant, missing, method

    def gram(self, X: Scores, Y: Scores | None) -> Matrix:
        """See :func:`torchrank.kendall_gram`."""
        return kendall_gram(X, Y, variant=self.variant, missing=self.missing, method=self.method)


@in_plain_surroundings
class MallowsKernel(RankKernel):
    """Mallows kernel with a learnable concentration; :func:`torchrank.mallows_gram` has the equation and its source.

    The parameter is ``log_lam``, so that no step of an optimiser makes ``lam`` negative. It is kept in float64,
    since a rounded ``lam`` is multiplied by large distances; a scalar does not change the dtype of the result.

    Args:
        lam: concentration to start from, greater than 0.
        tie_penalty: cost of a pair tied in exactly one ranking, at least 1/4.
        normalize: count distances as shares of all pairs.
        missing: "raise", "interleaving", "topk" or "pairwise".
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
        missing: str = "raise",
        method: str = "auto",
    ) -> None:
        super().__init__()
        check_at_least(tie_penalty, "tie_penalty", 0.25, why=": below, the exponential of the distance is not a kernel")
        _check_words(missing, method)
        self.log_lam = nn.Parameter(torch.tensor(_log_concentration(lam), dtype=torch.float64))
        self.tie_penalty, self.normalize, self.missing, self.method = tie_penalty, normalize, missing, method

    @property
    def lam(self) -> float:
        """The present concentration."""
        return float(self.log_lam.detach().exp())

    @lam.setter
    def lam(self, value: float) -> None:
        with torch.no_grad():
            self.log_lam.fill_(_log_concentration(value))

    def gram(self, X: Scores, Y: Scores | None) -> Matrix:
        """See :func:`torchrank.mallows_gram`; differentiable in ``log_lam``."""
        return mallows_gram(
            X,
            Y,
            lam=self.log_lam.exp(),
            tie_penalty=self.tie_penalty,
            normalize=self.normalize,
            missing=self.missing,
            method=self.method,
        )


def _is_vector(scores: Scores) -> bool:
    if hasattr(scores, "ndim"):  # a tensor, an array, a data frame
        return scores.ndim == 1  # type: ignore[union-attr]
    return isinstance(scores, (list, tuple)) and len(scores) > 0 and all(np.ndim(part) == 0 for part in scores)


def _one_row(scores: Scores, name: str) -> Scores:
    """A vector as a matrix."""
    return scores[None] if isinstance(scores, Tensor) else as_array(scores, name)[None]


def _check_words(missing: str, method: str) -> None:
    check_choice(missing, "missing", MISSING)
    check_choice(method, "method", METHODS)


def _log_concentration(lam: float) -> float:
    check_positive(lam, "lam")
    return math.log(lam)
