"""Kernels between multivariate rankings: several rankings of different item sets by the same person."""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from torchrank.kernels.kendall import kendall_gram
from torchrank.kernels.modules import RankKernel
from torchrank.ops.checks import simplex_weights
from torchrank.rankings.arrays import Matrix, as_tensor, to_numpy
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import Scores, check_count, check_finite

Kernel = Callable[[Scores, Scores | None], Matrix]
Parts: TypeAlias = Any  # a list of score matrices or, where a kernel knows how to cut it, one matrix


@in_plain_surroundings
def multivariate_gram(
    X: Sequence[Scores],
    Y: Sequence[Scores] | None = None,
    *,
    weights: Sequence[float] | Tensor | None = None,
    kernel: Kernel | Sequence[Kernel] | None = None,
) -> Matrix:
    r"""Weighted mean of kernels on the parts of multivariate rankings.

    .. math:: K(x, y) = \sum_{j=1}^{p} \mu_j\, K_j(x_j, y_j), \qquad \sum_j \mu_j = 1, \quad \mu_j \ge 0

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 8, which leaves the sign of the weights unsaid: with a negative one
    the sum need not be positive semi-definite).

    Args:
        X: p parts, part j being scores ``(..., m, n_j)`` of its own items, for the same m rankers in the same order.
        Y: p parts ``(..., m2, n_j)``; None means ``X``.
        weights: p numbers, at least 0 and adding up to 1; a tensor may require a gradient. None means 1/p each.
        kernel: called as ``kernel(X_j, Y_j)`` with ``Y_j=None`` for ``Y=None``, one for all parts or a list of p: a
            function, for example ``functools.partial(mallows_gram, lam=0.1)``, or a kernel module. None means
            :func:`torchrank.kendall_gram`.

    Returns:
        ``(..., m, m2)``, a NumPy array if all kernels return arrays, else a tensor. Gradients pass to ``weights`` and
        to whatever the kernels are differentiable in.

    Raises:
        ValueError: no parts, numbers of parts that differ, parts with different numbers of rankers, weights that are
            negative or do not add up to 1; and what the kernels raise.
        TypeError: something else than a list of parts.

    Example:
        >>> music, films = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
        >>> multivariate_gram([music, films], weights=[0.25, 0.75]).tolist()
        [[1.0, 0.5], [0.5, 1.0]]
    """
    parts = _as_parts(X, "X")
    others = [None] * len(parts) if Y is None else _as_parts(Y, "Y")
    kernel = kendall_gram if kernel is None else kernel
    if isinstance(kernel, str) or not isinstance(kernel, (Callable, Iterable)):
        raise TypeError(f"kernel is {kernel!r}; expected a function of two sets of scores, or a list of them")
    kernels = [*kernel] if isinstance(kernel, Iterable) else [kernel] * len(parts)
    for index, one in enumerate(kernels):
        if not callable(one):
            raise TypeError(f"kernel has {one!r} for part {index}; expected a function of two sets of scores")
    return _weighted_sum(kernels, parts, others, _as_weights(weights, len(parts)))


@in_plain_surroundings
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

            kernel = MultivariateKernel([SmoothedKendallKernel(window=1.0), SmoothedKendallKernel(window=1.0)])
            optimiser = torch.optim.Adam(kernel.parameters(), lr=0.05)
            target = y[:, None] * y
            for _ in range(100):
                K = center_gram(kernel([music, films]))
                loss = -(K * target).sum() / (K.norm() * target.norm())  # kernel-target alignment
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()

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
        self.logits = nn.Parameter(_logits(_as_weights(weights, len(self.kernels))))

    @property
    def weights(self) -> list[float]:
        """The present weights."""
        return self.logits.detach().softmax(0).tolist()

    @weights.setter
    def weights(self, values: Sequence[float]) -> None:
        with torch.no_grad():
            self.logits.copy_(_logits(_as_weights(values, len(self.kernels))))

    def forward(self, X: Parts, Y: Parts | None = None) -> Matrix:
        """The Gram matrix of lists of parts or, with ``sizes``, of matrices; a number for two vectors."""
        if isinstance(X, (list, tuple)):
            return self.gram(X, Y)
        return super().forward(X, Y)

    def gram(self, X: Parts, Y: Parts | None) -> Matrix:
        """See :func:`torchrank.multivariate_gram`; differentiable in ``logits`` and the kernels' parameters."""
        parts = self._cut(X, "X")
        others = [None] * len(parts) if Y is None else self._cut(Y, "Y")
        return _weighted_sum([*self.kernels], parts, others, self.logits.softmax(0))

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them; the kernels follow as children."""
        return f"weights={self.weights!r}, sizes={self.sizes!r}"

    def _cut(self, X: Parts, name: str) -> list[Scores]:
        if isinstance(X, (list, tuple)):
            return _as_parts(X, name)
        if self.sizes is None:
            raise TypeError(
                f"{name} is one matrix; pass a list of parts, or construct the kernel with sizes=[n_1, ..., n_p]"
            )
        sizes = self.sizes
        if X.shape[-1] != sum(sizes):
            raise ValueError(f"{name} has {X.shape[-1]} columns; sizes={sizes} needs {sum(sizes)}")
        ends = list(accumulate(sizes))
        return [X[..., end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _as_parts(X: Sequence[Scores], name: str) -> list[Scores]:
    if not isinstance(X, (list, tuple)):
        raise TypeError(f"{name} is a {type(X).__name__}; expected a list of p parts, each a matrix of scores")
    if not X:
        raise ValueError(f"{name} has no parts; expected at least one")
    return [*X]


def _as_weights(weights: Sequence[float] | Tensor | None, p: int) -> Tensor:
    """``(p,)`` floating-point weights on the simplex."""
    if weights is None:
        return torch.full((p,), 1 / p, dtype=torch.float64)
    if isinstance(weights, (list, tuple)):
        for part, weight in enumerate(weights):
            check_finite(weight, f"weights[{part}]", 0)
        given = torch.tensor(weights, dtype=torch.float64)
    else:
        given = as_tensor(weights, "weights")[0]
    if given.shape != (p,) or given.is_complex():
        raise ValueError(
            f"weights has shape {tuple(given.shape)} and dtype {given.dtype}; expected {p} real numbers, one for each "
            "part"
        )
    return simplex_weights(given if given.is_floating_point() else given.to(torch.float64))


def _logits(weights: Tensor) -> Tensor:
    if not bool((weights > 0).all()):
        raise ValueError(f"weights={weights.tolist()} has a zero; a learnable weight has to be above 0")
    return weights.detach().double().log()


def _weighted_sum(
    kernels: Sequence[Kernel], X: Sequence[Scores], Y: Sequence[Scores | None], weights: Tensor
) -> Matrix:
    """The sum of ``weights[j] * kernels[j](X[j], Y[j])``."""
    for count, what in ((len(Y), "parts of Y"), (len(kernels), "kernels")):
        if count != len(X):
            raise ValueError(f"{len(X)} parts of X and {count} {what}; expected one for each, in the same order")
    grams = [_of_part(part, *arguments) for part, arguments in enumerate(zip(kernels, X, Y, strict=True))]
    foreign = all(isinstance(gram, np.ndarray) for gram in grams)
    tensors = [torch.as_tensor(gram) for gram in grams]
    for part, gram in enumerate(tensors):
        if gram.ndim < 2:
            raise ValueError(
                f"the kernel of part {part} gives shape {tuple(gram.shape)}, not (..., m, m2); parts are matrices of "
                "scores, one row for each person"
            )
        if gram.shape[-2:] != tensors[0].shape[-2:]:
            raise ValueError(
                f"part {part} compares {gram.shape[-2]} with {gram.shape[-1]} rankings, part 0 {tensors[0].shape[-2]} "
                f"with {tensors[0].shape[-1]}; all parts rank the same people, in the same order"
            )
    weights = weights.to(tensors[0].device)
    total = weights[0] * tensors[0]
    for weight, gram in zip(weights[1:], tensors[1:], strict=True):
        total = total + weight * gram
    return to_numpy(total) if foreign else total


def _of_part(part: int, kernel: Kernel, x: Scores, y: Scores | None) -> Matrix:
    try:
        return kernel(x, y)
    except ValueError as error:
        raise ValueError(f"part {part}: {error}") from error
