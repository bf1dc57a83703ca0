"""Features from the kernel with a few landmarks, for linear models on more rows than a Gram matrix has room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from torchrank._docs import shares_arguments
from torchrank._warnings import warn
from torchrank.evidence import Evidence
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.modules import KendallKernel, MallowsKernel, RankKernel, SmoothedKendallKernel
from torchrank.kernels.points import (
    CHOOSE_KERNEL,
    Kernel,
    Points,
    as_points,
    check_kernel,
    gram,
    grouped,
    row_weights,
    scores_of_points,
)
from torchrank.linalg.inverse_root import inverse_root
from torchrank.linalg.state import GrowingBuffers
from torchrank.linalg.symmetric import as_double, check_symmetric
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import Origin
from torchrank.rankings.derivatives import needs_derivative, without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.prepared import weights_said
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import Scores, as_gram, check_count, check_generator, check_workspace, real_dtype
from torchrank.typing import Array, Values

_ENTRY_BYTES = 24  # a kernel value, the same in float64, and a feature
_GRAM = "the kernel's Gram matrix of the landmarks"


class _Rows(NamedTuple):
    """Rankings to make features of."""

    points: Points
    dtype: torch.dtype  # of their features
    origin: Origin
    scores: Tensor | None  # in which a derivative would be asked for in vain


class _Kept(NamedTuple):
    """The inverse root of the landmarks' Gram matrix, and what it was computed from."""

    landmarks: Tensor
    settings: str
    parameters: list[Tensor]
    root: Tensor


@isolated
@shares_arguments(ARGUMENTS)
class LandmarkFeatures(GrowingBuffers, nn.Module):
    r"""The Nyström method: features whose products approximate a kernel, from its values with q landmarks.

    .. math:: \phi(x) = K_{LL}^{-1/2}\, k_L(x), \qquad
              \phi(x)^\top \phi(y) = k_L(x)^\top K_{LL}^{+}\, k_L(y) \approx k(x, y)

    with the kernel values :math:`k_L(x)` of a ranking with the landmarks, and those of the landmarks,
    :math:`K_{LL}` (Williams and Seeger, Using the Nyström method to speed up kernel machines, NIPS 13, 2001). The
    products are the kernel itself where one of the two rankings is a landmark, or lies in the span of their feature
    vectors; everywhere else k(x, x) is too small. A linear model on them costs m q^2 in place of m^2::

        features = LandmarkFeatures(MallowsKernel(lam=5.0, normalize=True), 200)
        features.fit(X)
        classifier = LinearSVC().fit(features(X), y)

    The inverse root is computed in float64. Eigenvalues up to q eps of the largest, with eps of the dtype of the
    kernel's values, count as 0, so that :math:`K_{LL}` need not be invertible. It is computed again where the kernel's
    settings, parameters or buffers have changed; what else a function depends on has to stay as it is.

    Features have first derivatives in what the kernel is differentiable in, ``lam`` or ``window`` for instance, through
    the landmarks' own values too, and with the smoothed kernel in the scores. For that the kernel values of all rows
    are kept: call under ``torch.no_grad()`` where nothing is learned.

    Args:
        kernel: a kernel module such as :class:`torchrank.MallowsKernel`, or a function ``kernel(X, Y)`` such as
            :func:`torchrank.kendall_gram`. None means :class:`torchrank.KendallKernel`.
        n_landmarks: q, the number of features.
        workspace: bytes that kernel values and features of a block of rows may take, beside what the kernel takes.

    Attributes:
        landmarks: ``(u, n)`` the landmarks, u = q but for fewer different rankings.

    Raises:
        ValueError, TypeError: settings out of range; ``kernel="precomputed"``, which has no rankings to keep.
    """

    kernel: Kernel
    landmarks: Tensor
    _fed = ("landmarks",)
    _kept: _Kept | None = None

    def __init__(self, kernel: Kernel | None, n_landmarks: int, *, workspace: int = WORKSPACE) -> None:
        super().__init__()
        check_count(n_landmarks, "n_landmarks", least=1)
        self.kernel = check_kernel(kernel)
        if self.kernel == "precomputed":
            raise ValueError("kernel='precomputed' has no rankings that could be landmarks; pass the kernel itself")
        self.n_landmarks, self.workspace = int(n_landmarks), check_workspace(workspace)
        self.register_growing(landmarks=torch.empty(0, 0))

    @unmapped(SEARCHES)
    @torch.no_grad()
    def fit(
        self, X: Scores[Array], weights: Values | None = None, *, generator: torch.Generator | None = None
    ) -> Evidence:
        """Draw the landmarks: different rows, each next one with a chance in proportion to its weight.

        Args:
            X: ``(m, n)`` rankings.
            weights: ``(m,)`` how much each row counts, at least 0; None means those of a data set, or 1 each. An
                integer weight is the same as that many equal rows, and a row of weight 0 is none.
            generator: source of the draw; None is torch's own.

        Returns:
            Evidence of a closed form, without iterations and without a loss.

        Raises:
            ValueError: no rows; weights that are negative or all 0; a kernel whose Gram matrix of the landmarks is not
                symmetric, finite and positive semi-definite; and what the kernel raises.
            TypeError: scores that are not real numbers; rows in batches.

        Warns:
            UserWarning: fewer different rows than landmarks; all of them are taken, and the other features are 0.
        """
        check_generator(generator)
        points, rows, origin = as_points(self.kernel, X)
        groups = grouped(rows, row_weights(weights_said(X, weights), rows))
        u = len(groups.first)
        if u < self.n_landmarks:
            warn(f"X has {u} distinct rows for n_landmarks={self.n_landmarks}: the features beyond {u} are 0")
        chosen = _drawn(groups.weights, min(u, self.n_landmarks), generator)
        landmarks = scores_of_points(points[groups.first[chosen]])
        root = self._inverse_root(as_points(self.kernel, landmarks, "landmarks")[0])
        self.landmarks = landmarks
        self._kept = _Kept(landmarks, *_state_of(self.kernel), root)
        self.remember(origin.items)
        return Evidence.closed_form()

    def forward(self, X: Scores[Array]) -> Array:
        """Features of rankings, ``(m, n_landmarks)``.

        Args:
            X: ``(m, n)`` scores, or prepared rankings, of the items fitted.

        Returns:
            In the dtype of the scores if that is floating, else in the default dtype (torch's for tensors, float64 for
            NumPy); a NumPy array, without gradient, for NumPy input.

        Raises:
            ValueError: no landmarks yet; other items; and what the kernel raises.
            TypeError: scores that are not real numbers.
        """
        u = len(self.landmarks)
        if u == 0:
            raise ValueError("this feature map has no landmarks yet; call fit first")
        if u > self.n_landmarks:
            raise ValueError(
                f"landmarks has {u} rows, loaded into a map of n_landmarks={self.n_landmarks}; make one of {u}"
            )
        rows = self._rows(X)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not rows.origin.numpy):
            features = self._features(rows, u)
        return rows.origin.wrap(without_gradient(features, rows.scores))

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Scores[Array]) -> Array: ...

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them; a kernel that is a module follows."""
        kernel = "" if isinstance(self.kernel, nn.Module) else f"kernel={self.kernel!r}, "
        return f"{kernel}n_landmarks={self.n_landmarks}"

    def _rows(self, X: Scores) -> _Rows:
        scores = dtype = None
        if isinstance(self.kernel, (KendallKernel, MallowsKernel)):
            X = as_rankings(X, missing=self.kernel.missing, remedy=CHOOSE_KERNEL)
            scores, dtype = X.scores, X.result_dtype
        points, _, origin = as_points(self.kernel, X, derivative=True)
        self.check_items(origin.items)
        if points.shape[1] != self.landmarks.shape[1]:
            raise ValueError(
                f"X has shape {tuple(points.shape)}; expected (rankings, {self.landmarks.shape[1]}), the items fitted"
            )
        if isinstance(points, Tensor):
            dtype = real_dtype(points, origin)
            if isinstance(self.kernel, SmoothedKendallKernel) and not points.is_floating_point():
                points = points.double()  # as the kernel computes with integers
        assert dtype is not None
        return _Rows(points, dtype, origin, scores)

    def _features(self, rows: _Rows, u: int) -> Tensor:
        known = as_points(self.kernel, self.landmarks, "landmarks")[0]
        root = nn.functional.pad(self._root(known), (0, self.n_landmarks - u))
        m, step = len(rows.points), max(1, self.workspace // (_ENTRY_BYTES * self.n_landmarks))
        if 0 < m <= step:
            return (as_double(gram(self.kernel, rows.points, known)) @ root).to(rows.dtype)
        features = torch.empty(m, self.n_landmarks, dtype=rows.dtype, device=self.landmarks.device)
        for start in range(0, m, step):
            block = slice(start, min(start + step, m))
            features[block] = as_double(gram(self.kernel, rows.points[block], known)) @ root
        return features

    def _root(self, known: Points) -> Tensor:
        """The inverse root, kept as long as nothing that it depends on has changed."""
        kernel, kept = self.kernel, self._kept
        if isinstance(kernel, nn.Module) and any(map(needs_derivative, kernel.parameters())):
            return self._inverse_root(known)
        settings, parameters = _state_of(kernel)
        if (
            kept is None
            or kept.landmarks is not self.landmarks
            or kept.settings != settings
            or not all(map(torch.equal, kept.parameters, parameters))
        ):
            kept = self._kept = _Kept(self.landmarks, settings, parameters, self._inverse_root(known).detach())
        return kept.root

    def _inverse_root(self, known: Points) -> Tensor:
        other = None if isinstance(self.kernel, RankKernel) else known  # functions need not know what None means
        values = as_gram(gram(self.kernel, known, other), _GRAM, square=True)[0]
        check_symmetric(values, _GRAM)
        return inverse_root(values, _GRAM)


def _state_of(kernel: Any) -> tuple[str, list[Tensor]]:
    """Settings and numbers of a kernel, to see whether they have changed."""
    if not isinstance(kernel, nn.Module):
        return "", []
    return repr(kernel), [value.detach().clone() for value in (*kernel.parameters(), *kernel.buffers())]


def _drawn(weights: Tensor, size: int, generator: torch.Generator | None) -> Tensor:
    """Indices of ``size`` of the rows, in order, drawn one after another by their weights without putting any back.

    The first of exponential waiting times is that of a row with a chance in proportion to its rate, and so are the next
    ones among the rows that are left.
    """
    source = weights.device if generator is None else generator.device
    waiting = torch.empty_like(weights, device=source).exponential_(generator=generator).to(weights.device) / weights
    return waiting.topk(size, largest=False).indices.sort().values
