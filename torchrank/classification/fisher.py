"""Kernel Fisher discriminants: a function of a Gram matrix, and a module with a kernel inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, get_args

import torch
from torch import Tensor, nn
from typing_extensions import NamedTuple, override

from torchrank.classification.labels import class_numbers, decided_class
from torchrank.evidence import Evidence
from torchrank.linalg import as_double, check_symmetric
from torchrank.linalg.precision import KeepsPrecision, kernel_values, one_number
from torchrank.rankings.isolation import isolated
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.unmapped import COUNTS, unmapped
from torchrank.rankings.validate import as_gram, check_choice, check_count, check_number
from torchrank.typing import Array, Kind, RidgeOn, Threshold, Values

RIDGES = get_args(RidgeOn)
THRESHOLDS = get_args(Threshold)


class FisherDiscriminant(NamedTuple, Generic[Kind]):
    """Discriminant functions of all classes: class c has the value ``K_new @ duals[:, c] - offsets[c]``."""

    duals: Kind  # (m, n_classes)
    offsets: Kind  # (n_classes,)

    def decision(self, K_new: Kind) -> Kind:
        """Values ``(m2, n_classes)`` from the kernel ``(m2, m)`` of new against training samples.

        Two classes have one value instead, ``(m2,)``, that of class 1 minus that of class 0.

        Raises:
            ValueError: other columns than training samples.
        """
        new: Any = K_new
        duals: Any = self.duals
        if new.shape[-1] != len(duals):
            raise ValueError(
                f"K_new has shape {tuple(new.shape)}; expected (m2, {len(duals)}), "
                "new samples (rows) against training samples"
            )
        values = new @ duals - self.offsets
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values


@isolated
@unmapped(COUNTS)
def fisher_discriminant(
    K: Values[Array],
    y: Values,
    *,
    n_classes: int | None = None,
    ridge: float | Tensor = 1e-3,
    ridge_on: RidgeOn = "kernel",
    threshold: Threshold = "midpoint",
) -> FisherDiscriminant[Array]:
    r"""Fisher's discriminant in the feature space of a kernel, by one linear solve.

    With the mean mu_c of class c, the mean mu of all m samples and the within-class scatter S (a sum, not a mean) of
    the features, class c has the discriminant function

    .. math:: f_c(x) = (\phi(x) - \mu)^\top S_r^{-1} (\mu_c - \mu)
        - \tfrac{1}{2} (\mu_c - \mu)^\top S_r^{-1} (\mu_c - \mu)

    and the largest one wins: the class whose mean is nearest in the metric of the regularized scatter S_r. For two
    classes f_1 - f_0 is a multiple of the discriminant of Mika et al. (1999), with the threshold half way between the
    projected class means. Without its constant term this is the kernel's expansion ``k(x)^T a_c``.

    In the sample matrix let C subtract from each row the mean of its class and u_c be the weights of mu_c - mu. The
    ridge r then keeps the solve regular in one of two ways:

    * "kernel": S_r = S + r I, a penalty on the length of the discriminant: ``(C K + r I) a_c = u_c``. Equal to least
      squares on labels with r on the diagonal of the kernel matrix and a free intercept, and so what Jiao and Vert
      (2018) write.
    * "scatter": r on the diagonal of the scatter of projections, ``(K C K + r I) a_c = K u_c``, a penalty on the length
      of ``a_c``: Mika et al.'s other proposal, and what Jiao and Vert's published accuracies come from.

    Args:
        K: ``(m, m)`` positive semi-definite kernel matrix of the training samples; where a ridge such as 1e-3 is to
            mean anything, centered and scaled, see :func:`torchrank.center_gram` and :func:`torchrank.normalize_gram`.
        y: ``(m,)`` class numbers.
        n_classes: None means one more than the largest number in ``y``.
        ridge: above 0; as a tensor it may carry a gradient.
        ridge_on: "kernel" or "scatter".
        threshold: "midpoint" as above, or "zero" to leave the constant terms of f_c out and compare ``k(x)^T a_c``,
            as the published accuracies do. That sways decisions towards one class unless all classes are of one size.

    Returns:
        Discriminant functions, solved in float64, of the kind and dtype of ``K``; gradients pass to ``K`` and
        ``ridge``.

    Raises:
        ValueError: ``K`` not square, symmetric and finite, or so far from positive semi-definite that the discriminant
            would be upside down; labels that do not fit; a class without samples; ``ridge`` not one finite number
            above 0; an unknown choice.
        TypeError: not floating-point numbers, or labels that are no integers.

    References:
        Mika, Rätsch, Weston, Schölkopf and Müller, Fisher discriminant analysis with kernels, Neural Networks for
        Signal Processing IX, 1999, doi:10.1109/NNSP.1999.788121.
        Jiao and Vert, The Kendall and Mallows kernels for permutations, IEEE TPAMI 40(7), 2018,
        doi:10.1109/TPAMI.2017.2719680.
    """
    check_choice(ridge_on, "ridge_on", RIDGES)
    check_choice(threshold, "threshold", THRESHOLDS)
    gram, origin = as_gram(K, "K", square=True)
    check_symmetric(gram, "K")
    _check_ridge(ridge)
    labels, n_classes = class_numbers(y, len(gram), n_classes, gram.device)
    duals, offsets = _solve(as_double(gram), labels, n_classes, ridge, ridge_on, threshold)
    parts = (part.to(device=gram.device, dtype=gram.dtype) for part in (duals, offsets))
    return FisherDiscriminant(*(origin.wrap(part) for part in parts))


def _solve(
    K: Tensor, labels: Tensor, n_classes: int, ridge: float | Tensor, ridge_on: str, threshold: str
) -> tuple[Tensor, Tensor]:
    m, labels = len(K), labels.to(K.device)
    member = torch.nn.functional.one_hot(labels, n_classes).to(K.dtype)  # (m, n_classes)
    mean = member / member.sum(0)
    weights = mean - 1 / m
    within = K - member @ (mean.mT @ K)  # C K
    identity = torch.eye(m, dtype=K.dtype, device=K.device)
    if ridge_on == "kernel":
        duals = torch.linalg.solve(within + ridge * identity, weights)
    else:
        duals = torch.linalg.solve(K @ within + ridge * identity, K @ weights)
    projected = K @ duals
    lengths = (weights * projected).sum(0)  # (mu_c - mu) S^-1 (mu_c - mu)
    rounding = 1e-6 * K.detach().abs().max() * duals.detach().abs().sum(0)  # of a matrix in single precision
    if bool((lengths < -rounding).any()):
        raise ValueError(
            "K is so far from positive semi-definite, or its rounding so far above ridge, that a class mean would be "
            "on the wrong side of its own discriminant; take another kernel, a larger ridge, or ridge_on='scatter'"
        )
    if threshold == "zero":
        return duals, duals.new_zeros(n_classes)
    # (phi(x) - mu) S^-1 (mu_c - mu) is k(x) a_c minus its mean over the training samples
    return duals, projected.mean(0) + lengths / 2


def _check_ridge(ridge: Any) -> None:
    if isinstance(ridge, Tensor):
        if ridge.numel() != 1:
            raise ValueError(f"ridge has shape {tuple(ridge.shape)}; expected one number")
        ridge = ridge.item()
    check_number(ridge, "ridge")
    if not 0 < ridge < math.inf:
        raise ValueError(
            f"ridge={ridge!r} is out of range; the scatter has no inverse without a ridge that is positive and finite"
        )


@isolated
class KernelFisherDiscriminant(KeepsPrecision):
    """Kernel Fisher discriminant whose kernel may be learned with it.

    A copy of the training samples is a buffer and so are the discriminant functions, so ``state_dict`` is the whole
    model. ``.float()`` or ``.half()`` leave them as they are, but for samples that a network takes, which follow it.
    Two ways to use it: :meth:`fit` and call; or, to learn the parameters of the kernel and the ridge, differentiate
    through the solve::

        scores = model.class_scores(x_new, model.solve(y))
        loss = torch.nn.functional.cross_entropy(scores, y_new)

    Kernel values enter as they are: a kernel of centered, scaled features is the kernel's business.

    Args:
        kernel: maps ``(r, d)`` and ``(s, d)`` to the kernel matrix ``(r, s)``, for example
            :class:`torchrank.KendallKernel`; an ``nn.Module`` brings its parameters.
        x_train: ``(m, d)`` training samples.
        n_classes: number of classes.
        ridge: above 0; its logarithm is a parameter.
        ridge_on: "kernel" or "scatter"; see :func:`fisher_discriminant`.
        threshold: "midpoint" or "zero"; see :func:`fisher_discriminant`.

    Raises:
        ValueError: ``ridge`` not above 0, fewer than two classes, or an unknown choice.
    """

    x_train: Tensor
    duals: Tensor
    offsets: Tensor
    _fed = ("x_train",)

    def __init__(
        self,
        kernel: Callable[[Tensor, Tensor], Any],
        x_train: Tensor,
        *,
        n_classes: int = 2,
        ridge: float = 1e-3,
        ridge_on: RidgeOn = "kernel",
        threshold: Threshold = "midpoint",
    ) -> None:
        super().__init__()
        check_choice(ridge_on, "ridge_on", RIDGES)
        check_choice(threshold, "threshold", THRESHOLDS)
        check_count(n_classes, "n_classes", least=2)
        _check_ridge(ridge)
        self.kernel, self.n_classes = kernel, n_classes
        self.ridge_on: RidgeOn = ridge_on
        self.threshold: Threshold = threshold
        self.log_ridge = nn.Parameter(one_number(math.log(ridge)))
        x_train = x_train.as_scores() if isinstance(x_train, Rankings) else x_train
        self.register_buffer("x_train", x_train.clone())  # loading a state writes into it
        self.register_buffer("duals", torch.zeros(len(x_train), n_classes, dtype=torch.float64, device=x_train.device))
        self.register_buffer("offsets", torch.zeros(n_classes, dtype=torch.float64, device=x_train.device))

    @property
    def ridge(self) -> Tensor:
        """The ridge."""
        return self.log_ridge.reshape(()).exp()

    @unmapped(COUNTS)
    def solve(self, y: Any) -> FisherDiscriminant[Tensor]:
        """Discriminant functions for class numbers ``(m,)``, with gradients for the kernel and ``log_ridge``."""
        return fisher_discriminant(
            as_double(kernel_values(self.kernel, self.x_train, self.x_train)),
            y,
            n_classes=self.n_classes,
            ridge=self.ridge,
            ridge_on=self.ridge_on,
            threshold=self.threshold,
        )

    @unmapped(COUNTS)
    @torch.no_grad()
    def fit(self, y: Any) -> Evidence:
        """Solve for class numbers ``(m,)`` of the training samples and keep the discriminant functions.

        Returns:
            Evidence of a closed form, without iterations and without a loss.
        """
        discriminant = self.solve(y)
        self.duals.copy_(discriminant.duals)
        self.offsets.copy_(discriminant.offsets)
        return Evidence.closed_form()

    def class_scores(self, X: Tensor, discriminant: FisherDiscriminant[Tensor] | None = None) -> Tensor:
        """Discriminant functions ``(m2, n_classes)`` at ``(m2, d)``: those of :meth:`solve`, or the fitted ones."""
        duals, offsets = discriminant or self._fitted
        return as_double(kernel_values(self.kernel, X, self.x_train)) @ duals - offsets

    def forward(self, X: Tensor) -> Tensor:
        """Decision values of samples ``(m2, d)``: ``(m2,)``, positive for class 1, or ``(m2, n_classes)``."""
        return self._fitted.decision(as_double(kernel_values(self.kernel, X, self.x_train)))

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Tensor) -> Tensor: ...

    def predict(self, X: Tensor) -> Tensor:
        """Class numbers ``(m2,)`` int64; the lowest one among equals."""
        return decided_class(self(X))

    @property
    def _fitted(self) -> FisherDiscriminant[Tensor]:
        return FisherDiscriminant(self.duals, self.offsets)

    def extra_repr(self) -> str:
        """What ``print`` shows beside the kernel."""
        return f"samples={len(self.x_train)}, ridge_on={self.ridge_on!r}, threshold={self.threshold!r}"
