"""The Kendall kernel of uncertain scores: expected over independent jitters, smooth in the scores and the window."""

from __future__ import annotations

import math
from typing import Any, overload

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.batches import one_batch
from torchrank.kernels.out import into, refuse_without_out
from torchrank.kernels.smoothed_stream import SmoothedStream
from torchrank.linalg.precision import given_number
from torchrank.ops.checks import checked_smoothing, complete_scores, exact_differences, positive_window
from torchrank.ops.memory import FEATURES, explaining, feature_size
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.smoothed import METHODS
from torchrank.ops.smoothed import smoothed_gram as smoothed_gram_op
from torchrank.ops.units import in_common_unit
from torchrank.processes import ARGUMENTS as OF_PROCESSES
from torchrank.processes import Group
from torchrank.rankings.isolation import isolated
from torchrank.rankings.noises import NOISES, expected_signs
from torchrank.rankings.pairs import item_pairs, n_pairs
from torchrank.rankings.validate import (
    ScorePair,
    Scores,
    as_float,
    as_scores,
    check_choice,
    check_positive,
    check_workspace,
    real_dtype,
    score_pair,
)
from torchrank.typing import Array, Noise, SmoothedMethod


@overload
def smoothed_kendall_gram(
    X: Scores[Array],
    Y: Scores[Array] | None = None,
    *,
    window: float | Tensor,
    noise: Noise = "uniform",
    method: SmoothedMethod = "exact",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> Array: ...
@overload
def smoothed_kendall_gram(
    X: Scores,
    Y: Scores | None = None,
    *,
    out: Any,
    window: float | Tensor,
    noise: Noise = "uniform",
    method: SmoothedMethod = "exact",
    workspace: int = WORKSPACE,
    progress: bool = False,
    block: int | None = None,
    resume: bool = False,
    group: Group = None,
) -> Any: ...
@isolated
@shares_arguments(ARGUMENTS, OF_PROCESSES)
def smoothed_kendall_gram(
    X: Scores,
    Y: Scores | None = None,
    *,
    window: float | Tensor,
    noise: Noise = "uniform",
    method: SmoothedMethod = "exact",
    workspace: int = WORKSPACE,
    progress: bool = False,
    out: Any = None,
    block: int | None = None,
    resume: bool = False,
    group: Group = None,
) -> Any:
    r"""Smoothed Kendall kernel between all score vectors: the Kendall kernel expected over independent jitters.

    Near-ties count little: with :math:`\tilde x = x + \epsilon`, every score with a jitter of its own,

    .. math:: G(x, y) = E\, K_a(\tilde x, \tilde y)
              = \binom{n}{2}^{-1} \sum_{i<j} g(x_i - x_j)\, g(y_i - y_j), \qquad
              g(t) = E \operatorname{sign}(t + \epsilon_i - \epsilon_j)

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equations 11 to 13). Positive semi-definite, in [-1, 1], and G(x, x) < 1
    where scores lie within a window of each other. A small window gives ``kendall_gram(X, Y, variant="a")``.

    Args:
        X: {uncertain}
        Y: {others}
        window: {window}
        noise: {noise}
        method: "exact" multiplies features, O(n^2) a pair. "sweep" is exact too, O(n log n) a pair (CPU, uniform
            noise; computed in float64), and better for few pairs of long rankings. "auto" takes the faster of the two.
            "reference" is "exact" in plain torch. :func:`monte_carlo_kendall_gram` draws jitters instead.
        workspace: {workspace}
        progress: {progress}
        out: {out} Products of features are rounded by the shape of a block, so that "exact" gives one call's values
            but for the last digits, and other ones with other blocks; "sweep" gives the bits of one call.
        block: {out_block}
        resume: {resume} For this "exact" and "reference" need the same ``workspace``, version of torch, kind of
            processor or card and, on a CPU, number of torch's threads, and refuse others. Libraries that multiply
            matrices do not all promise the same last digits in every run.
        group: for ``out`` that is a name, {group}

    Returns:
        ``(..., m, m2)`` in the dtype of the scores if that is floating, else in the default dtype (torch's for tensors,
        float64 for NumPy); a NumPy array, without gradient, for NumPy input. Integers are computed in float64,
        floating-point scores of up to 32 bits in float32: against float64, errors of up to 4e-7 on the diagonal and
        6e-8 off it were measured on a CPU for normal scores and n from 10 to 3000. On CUDA, Triton kernels multiply
        float32 as pairs of half-precision numbers, with the same bits in every run: errors stay below 1e-6, and 2e-7
        was the largest measured on an H100. float64, "reference", and all else where Triton is missing are
        multiplied by torch, where float32 is that precise without TensorFloat-32, which is torch's default. Scores
        of any size will do, since ratios to the window alone count.

        The result of "exact" and "sweep" has gradients for scores and window (the backward pass costs O(n^2) a pair
        and bounded workspace), and forward-mode and second ones, sums over all pairs of items in float64. Under
        torch.compile it has first ones, backwards.

    Raises:
        ValueError: NaN among the scores (naming row and item); a window that is not positive and finite; fewer than two
            items; shapes, devices or words that do not fit.
        TypeError: scores or a window that are not real numbers; prepared rankings, which have no differences.
        RuntimeError: "sweep" where it has no engine.

    Example:
        >>> X = np.array([[1.0, 1.1, 3.0], [1.0, 0.9, 3.0]])
        >>> smoothed_kendall_gram(X, window=1.0).round(3).tolist()
        [[0.679, 0.655], [0.655, 0.679]]
    """
    if out is not None:
        words = {"noise": noise, "method": method, "block": block, "workspace": workspace}
        return into(
            out,
            lambda: _stream(X, Y, window, **words),
            resume=resume,
            group=group,
            title="smoothed_kendall_gram",
            progress=bool(progress),
        )
    refuse_without_out(block, resume, group)
    workspace = _checked(noise, method, workspace)
    pair, x, y, width = _sides(X, Y, window)
    x, y, width = in_common_unit(x, y, width)
    flat_x, flat_y, shape = one_batch(x, y)
    result = smoothed_gram_op(flat_x, flat_y, width, noise, method, workspace, progress)
    return pair.origin.gram(result.reshape(shape).to(pair.dtype), symmetric=pair.Y is None)


def _checked(noise: str, method: str, workspace: int) -> int:
    check_choice(noise, "noise", tuple(NOISES))
    check_choice(method, "method", METHODS)
    return check_workspace(workspace)


def _sides(X: Scores, Y: Scores | None, window: Any) -> tuple[ScorePair, Tensor, Tensor | None, Tensor]:
    """The scores as they came, in the dtype to compute in, and the window."""
    pair = score_pair(X, Y)
    width = one_window(window, check=False)
    dtype = _working_dtype(pair.X, pair.X if pair.Y is None else pair.Y)
    x = exact_differences(pair.X, "X").to(dtype)
    y = None if pair.Y is None else exact_differences(pair.Y, "Y").to(dtype)
    return pair, *checked_smoothing(x, y, width)


def _stream(
    X: Scores, Y: Scores | None, window: Any, *, noise: str, method: str, block: int | None, workspace: int
) -> SmoothedStream:
    workspace = _checked(noise, method, workspace)
    pair, x, y, width = _sides(X, Y, window)
    return SmoothedStream.of(
        x, y, window=width, noise=noise, method=method, block=block, workspace=workspace, dtype=pair.dtype
    )


@isolated
@shares_arguments(ARGUMENTS)
def smoothed_features(X: Scores[Array], *, window: float | Tensor, noise: Noise = "uniform") -> Array:
    r"""Explicit feature map of the smoothed Kendall kernel: expected signs of all item pairs, scaled.

    .. math:: \Psi(x) = \binom{n}{2}^{-1/2} \bigl(g(x_i - x_j)\bigr)_{i < j}

    with g as in :func:`smoothed_kendall_gram` (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 13), so that
    ``smoothed_features(X, window=a) @ smoothed_features(Y, window=a).T`` is ``smoothed_kendall_gram(X, Y, window=a)``
    up to rounding. Columns are in the order of ``torch.triu_indices(n, n, 1)``. Differentiable in scores and window.

    Args:
        X: {uncertain}
        window: {window}
        noise: {noise}

    Returns:
        ``(..., m, n(n-1)/2)`` in dtype and kind as for :func:`smoothed_kendall_gram`.

    Raises:
        ValueError, TypeError: as :func:`smoothed_kendall_gram`.
    """
    check_choice(noise, "noise", tuple(NOISES))
    scores, origin = as_scores(X, "X", apart=True)
    width = one_window(window).to(scores.device)
    x = complete_scores(exact_differences(scores, "X").to(_working_dtype(scores)), "X")
    x, _, width = in_common_unit(x, None, width)
    width = width.to(x.dtype).clamp(min=torch.finfo(x.dtype).tiny)
    return origin.wrap(_features(x, width, noise).to(real_dtype(scores, origin)))


@explaining(feature_size, FEATURES)
def _features(x: Tensor, width: Tensor, noise: Noise) -> Tensor:
    n = x.shape[-1]
    i, j = item_pairs(n, x.device)
    left, right = x[..., i], x[..., j]
    tied_infinities = (left == right) & left.isinf()  # finite ties have a slope
    difference = torch.where(tied_infinities, 0, left - right)
    return expected_signs(difference, width, noise) / math.sqrt(n_pairs(n))


def one_window(window: float | Tensor, *, check: bool = True, name: str = "window") -> Tensor:
    """The window as a tensor of shape (), by default checked by value; ``name`` is that in messages."""
    if isinstance(window, Tensor):
        if window.numel() != 1 or not window.is_floating_point():
            raise ValueError(
                f"{name} has shape {tuple(window.shape)} and dtype {window.dtype}; expected one floating-point number "
                "(for several windows call once for each)"
            )
        return positive_window(window.reshape(()), name) if check else window.reshape(())
    check_positive(window, name)
    return given_number(as_float(window))


def _working_dtype(*sides: Tensor) -> torch.dtype:
    """float32 for floating-point scores of up to 32 bits, else float64."""
    wide = any(side.dtype == torch.float64 or not side.is_floating_point() for side in sides)
    return torch.float64 if wide else torch.float32
