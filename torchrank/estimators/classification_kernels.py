"""Kernel Fisher discriminants, and the centering and scaling of precomputed kernels, as scikit-learn estimators."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from typing_extensions import Self

from torchrank._docs import shares_arguments
from torchrank.classification import FisherDiscriminant, fisher_discriminant
from torchrank.estimators.border import check_features, check_precomputed, check_scores, takes_unranked
from torchrank.estimators.classification import DecisionMixin, encode_classes
from torchrank.estimators.data_sets import refuse_data_set, refuse_weights
from torchrank.estimators.fitting import SETTINGS, all_or_nothing, module_on_device, on_device, usable
from torchrank.estimators.named_kernels import named_kernel
from torchrank.kernels.kendall import kendall_gram
from torchrank.kernels.modules import RankKernel
from torchrank.kernels.normalize import center_gram, normalize_gram
from torchrank.kernels.points import CHOOSE_KERNEL
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import refuse_masks, to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.typing import RidgeOn, Threshold


@isolated
@shares_arguments(SETTINGS)
class KernelFisherDiscriminant(DecisionMixin, BaseEstimator):
    """Kernel Fisher discriminant; several classes by the nearest class mean in the metric of the within-class scatter.

    See :func:`torchrank.classification.fisher_discriminant` for the equations and sources. The decision values are not
    probabilities; for those wrap it in ``sklearn.calibration.CalibratedClassifierCV``.

    Args:
        ridge: above 0, on the scale of the kernel; see :class:`GramNormalizer`.
        kernel: "kendall", "precomputed", a name that ``sklearn.metrics.pairwise.pairwise_kernels`` knows, or a function
            of ``(r, d)`` and ``(s, d)`` giving ``(r, s)``, such as the kernels of this library. Where a kernel of
            rankings has a rule for unranked items (``missing``), NaN is legal. With ``device`` functions get tensors,
            and named kernels other than "kendall" are computed on the CPU.
        kernel_params: further arguments of the kernel.
        ridge_on: "kernel" or "scatter".
        threshold: "midpoint" between the projected class means, or "zero".
        verbose: show a progress bar of pairs of samples while the "kendall" kernel is computed.
        device: {device}

    Attributes:
        classes_: class labels, sorted.
        discriminant_: duals ``(m, classes)`` and offsets ``(classes,)`` of the discriminant functions.
        X_fit_: the training samples; None for ``kernel="precomputed"``.
        n_features_in_: columns of ``X``.
    """

    def __init__(
        self,
        ridge: float = 1e-3,
        *,
        kernel: str | Callable[[Any, Any], Any] = "kendall",
        kernel_params: dict[str, Any] | None = None,
        ridge_on: RidgeOn = "kernel",
        threshold: Threshold = "midpoint",
        verbose: bool = False,
        device: Any = None,
    ) -> None:
        self.ridge = ridge
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.ridge_on: RidgeOn = ridge_on
        self.threshold: Threshold = threshold
        self.verbose = verbose
        self.device = device

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from samples ``(m, n)``, or their kernel matrix ``(m, m)``, and classes ``(m,)``; a data set has both.

        Raises:
            ValueError: NaN, weights of a data set, only one class, a kernel matrix that is not square and symmetric, or
                an unknown choice.
        """
        with all_or_nothing(self):
            refuse_weights(self, X)
            X, y = self._checked(X, y)
            self.classes_, numbers = encode_classes(y)
            self.X_fit_ = None if self.kernel == "precomputed" else X
            discriminant = fisher_discriminant(
                self._gram(X),
                numbers,
                n_classes=len(self.classes_),
                ridge=self.ridge,
                ridge_on=self.ridge_on,
                threshold=self.threshold,
            )
            self.discriminant_ = FisherDiscriminant(*map(to_numpy, discriminant))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Discriminant functions ``(m2, classes)``; for two classes that of the second minus that of the first."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        parts = (on_device(part, self.device) for part in self.discriminant_)
        return to_numpy(FisherDiscriminant(*parts).decision(self._gram(X)))

    def _gram(self, X: np.ndarray) -> Tensor:
        """The kernel ``(m2, m)`` float64 of samples against those of the fit."""
        gram = X if self.X_fit_ is None else self._kernel_values(X, self.X_fit_)
        return on_device(gram, self.device, "kernel").to(torch.float64).detach()

    def _kernel_values(self, X: np.ndarray, Y: np.ndarray) -> Any:
        params = self.kernel_params or {}
        if self.kernel == "kendall":
            ranked = (as_rankings(side, missing=params.get("missing")).in_float64() for side in (X, Y))
            ranked = (rankings.to(usable(self.device)) for rankings in ranked)
            return kendall_gram(*ranked, **{"progress": bool(self.verbose), **params})
        if not callable(self.kernel):
            if self.kernel not in PAIRWISE_KERNEL_FUNCTIONS:
                known = ", ".join(map(repr, sorted(PAIRWISE_KERNEL_FUNCTIONS)))
                raise ValueError(
                    f"kernel={self.kernel!r} is unknown; choose 'kendall', 'precomputed', a function or kernel such as "
                    f"torchrank.MallowsKernel(), or one of scikit-learn's: {known}"
                )
            return named_kernel(X, Y, self.kernel, params)
        kernel = module_on_device(self.kernel, self.device)
        sides = (X, Y) if self.device is None else (on_device(side, self.device) for side in (X, Y))
        gram = kernel(*sides, **params)
        gram = gram if isinstance(gram, Tensor) else np.asarray(gram, dtype=np.float64)
        if tuple(gram.shape) != (len(X), len(Y)):
            raise ValueError(f"kernel gave a matrix of shape {tuple(gram.shape)}; expected {(len(X), len(Y))}")
        return gram

    @property
    def _on_rankings(self) -> bool:
        return self.kernel == "kendall" or isinstance(self.kernel, RankKernel) or takes_unranked(self.kernel)

    @property
    def _takes_unranked(self) -> bool:
        """Whether NaN, an unranked item, is legal."""
        if self.kernel == "kendall":
            return (self.kernel_params or {}).get("missing", "raise") != "raise"
        return takes_unranked(self.kernel)

    def _checked(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """Samples in float64, those of rankings also as integers that it would round to ties."""
        if self._on_rankings:
            remedy = None if self._takes_unranked else CHOOSE_KERNEL
            return check_scores(self, X, *y, reset=reset, remedy=remedy, dtype=np.float64)
        refuse_data_set(X, "X", "features, or a Gram matrix", "pass data.X, data.scores, or a kernel of rankings")
        check = check_precomputed if self.kernel == "precomputed" else check_features
        return check(self, X, *y, reset=reset, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.allow_nan = self._takes_unranked
        return tags


@isolated
class GramNormalizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Center a precomputed kernel on the training samples and scale its feature vectors to unit norm.

    Fit it to the square matrix of the training samples and transform that or a block of other against training samples;
    in a pipeline before an estimator with ``kernel="precomputed"`` cross-validation cuts both sides of the matrix. The
    squared norm k(x, x) of other samples is not in the block, and has to be known to scale them::

        # for the Kendall kernel, variant "b"
        make_pipeline(GramNormalizer(self_kernel=1.0), SVC(kernel="precomputed"))

    Args:
        center: subtract the mean feature vector of the training samples.
        scale: divide feature vectors by their norm; those of norm 0, but for rounding, become 0.
        self_kernel: k(x, x) where it is the same for all x, as 1 for the Kendall kernel of samples that are not
            constant, and for RBF kernels. None: give it to :meth:`transform`.

    Attributes:
        K_fit_: the training matrix as it was given.
        n_features_in_: number of training samples.
    """

    def __init__(self, *, center: bool = True, scale: bool = True, self_kernel: float | None = None) -> None:
        self.center = center
        self.scale = scale
        self.self_kernel = self_kernel

    def fit(self, K: Any, y: Any = None) -> Self:
        """Keep the kernel matrix ``(m, m)`` of the training samples; ``y`` is not used.

        Raises:
            ValueError: not square, not symmetric, not finite, or, to scale, not the inner products of any feature
                vectors, which would have a negative squared norm.
        """
        with all_or_nothing(self):
            refuse_masks(K, "K")
            refuse_data_set(K, "K", "a kernel matrix", "pass kernel(data, data)")
            K = check_precomputed(self, K, dtype=[np.float64, np.float32])
            if K.shape[0] != K.shape[1]:
                raise ValueError(
                    f"K has shape {K.shape}; fit takes the square kernel matrix of the training samples, transform "
                    "also blocks of other samples (rows) against those"
                )
            self.K_fit_ = K.copy()
            centered = center_gram(K)  # refuses a matrix that is not symmetric
            self._train = centered if self.center else self.K_fit_
            if self.scale:
                self._train_norms = self._without_rounding(self._train.diagonal(), K.diagonal(), "K", "sample")
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.K_fit_)

    def transform(self, K: Any, self_kernel: Any = None) -> np.ndarray:
        """Centered and scaled block.

        Args:
            K: ``(m2, m)`` kernel of any samples against the training samples. The training matrix itself is recognized
                by its entries, and has k(x, x) on its diagonal.
            self_kernel: ``(m2,)`` or a number, k(x, x) of the rows; None: the estimator's.

        Raises:
            ValueError: other columns than training samples, or k(x, x) that is missing, of another length, negative, or
                so small that the centered feature vector would have a negative squared norm.
        """
        check_is_fitted(self)
        refuse_masks(K, "K")
        K = check_precomputed(self, K, reset=False, dtype=[np.float64, np.float32])
        if np.array_equal(K, self.K_fit_):
            return normalize_gram(self._train, self._train_norms) if self.scale else self._train.copy()
        block = center_gram(K, self.K_fit_) if self.center else K
        if not self.scale:
            return block
        given = self._norms(K, self.self_kernel if self_kernel is None else self_kernel)
        norms = self._without_rounding(self._centered_norms(given, K), given, "self_kernel", "row")
        return normalize_gram(block, norms, self._train_norms)

    def _norms(self, K: np.ndarray, given: Any) -> np.ndarray:
        """Squared norms of the rows' feature vectors before centering, as they were given."""
        if given is None:
            raise ValueError(
                "scaling rows that are not the training samples needs self_kernel, their k(x, x): pass it to "
                "transform, or to the constructor where it is the same for all samples"
            )
        norms = np.asarray(given, dtype=np.float64)
        if norms.shape not in ((), (len(K),)):
            raise ValueError(f"self_kernel has shape {norms.shape}; K has {len(K)} rows")
        if not np.isfinite(norms).all():
            raise ValueError("self_kernel has NaN or infinite entries; k(x, x) is a finite number")
        return np.broadcast_to(norms, len(K))

    def _centered_norms(self, norms: np.ndarray, K: np.ndarray) -> np.ndarray:
        """Squared norms after the mean of the training samples has been subtracted.

        |x - mean|^2 = k(x, x) - 2 mean_i k(x, x_i) + mean_ij k(x_i, x_j)
        """
        if not self.center:
            return norms
        return norms - 2 * K.mean(axis=1, dtype=np.float64) + self.K_fit_.mean(dtype=np.float64)

    def _without_rounding(self, norms: np.ndarray, given: np.ndarray, name: str, unit: str) -> np.ndarray:
        """Squared norms with 0 for those that are 0 but for rounding, which ``given``, not centered, bounds."""
        dtype = self.K_fit_.dtype
        size = np.abs(given) + abs(self.K_fit_.mean(dtype=np.float64)) if self.center else 0
        tolerance = np.broadcast_to(100 * np.finfo(dtype).eps * size, norms.shape)
        if (norms < -tolerance).any():
            row = int((norms < -tolerance).argmax())
            raise ValueError(
                f"{name} of {unit} {row} is {given[row]:.6g}, too small beside its kernel with the training samples: "
                f"its {'centered ' if self.center else ''}feature vector would have the squared norm {norms[row]:.3g}"
            )
        return np.where(norms > tolerance, norms, 0).astype(dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags
