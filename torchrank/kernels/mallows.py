"""Mallows kernel between all rankings of two sets."""

from __future__ import annotations

from typing import Any, overload

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.kernels.all_pairs import all_pairs
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.out import into, refuse_without_out
from torchrank.kernels.pair_stream import PairStream
from torchrank.linalg.precision import given_number
from torchrank.ops.checks import checked_concentration
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.quantities import Quantity
from torchrank.ops.rank import Pair, SparsePair, sides_to_count
from torchrank.processes import ARGUMENTS as OF_PROCESSES
from torchrank.processes import Group
from torchrank.rankings.derivatives import needs_derivative
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.validate import Scores, as_float, check_at_least, check_finite
from torchrank.typing import Array, PairMethod


@overload
def mallows_gram(
    X: Scores[Array],
    Y: Scores[Array] | None = None,
    *,
    lam: float | Tensor = 1.0,
    tie_penalty: float = 0.25,
    normalize: bool = False,
    missing: Missing = None,
    missing_y: Missing = None,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> Array: ...
@overload
def mallows_gram(
    X: Scores,
    Y: Scores | None = None,
    *,
    out: Any,
    lam: float | Tensor = 1.0,
    tie_penalty: float = 0.25,
    normalize: bool = False,
    missing: Missing = None,
    missing_y: Missing = None,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
    block: int | None = None,
    resume: bool = False,
    group: Group = None,
) -> Any: ...
@isolated
@shares_arguments(ARGUMENTS, OF_PROCESSES)
def mallows_gram(
    X: Scores,
    Y: Scores | None = None,
    *,
    lam: float | Tensor = 1.0,
    tie_penalty: float = 0.25,
    normalize: bool = False,
    missing: Missing = None,
    missing_y: Missing = None,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
    out: Any = None,
    block: int | None = None,
    resume: bool = False,
    group: Group = None,
) -> Any:
    r"""Mallows kernel between all rankings, in (0, 1], 1 on the diagonal.

    .. math:: K(x, y) = e^{-\lambda\, d(x, y)}, \qquad d = n_d + p\, t

    with the distance of :func:`torchrank.kendall_distance` (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 2). With
    ties the exponential of the bare discordance count is not positive definite: a pair tied in exactly one ranking has
    to count at least 1/4, for which d belongs to the Kendall kernel's own feature space.

    Distances grow as n^2: for n = 1000 random rankings differ in about 250,000 pairs, and exp(-0.01 d) is 0 off the
    diagonal. With ``normalize=True`` the distance is a share of the n(n-1)/2 pairs, and ``lam`` of order 1 to 10 is
    useful for every n.

    Args:
        X: {scores}
        Y: {others}
        lam: at least 0; a tensor may require a gradient, for which all distances are kept in float64, and may have any
            shape that broadcasts with the result.
        tie_penalty: p, at least 1/4.
        normalize: divide distances by n(n-1)/2, or by the number of pairs of common items.
        missing: {missing} With "interleaving" and "topk" this is the exponential of the distance of mean feature
            vectors. That is a kernel, but not the convolution Mallows kernel, the mean over the total rankings that
            agree with the rows.
        missing_y: {missing_y}
        method: {method}
        workspace: {workspace}
        progress: {progress}
        out: {out}
        block: {out_block}
        resume: {resume}
        group: for ``out`` that is a file, {group}

    Returns:
        ``(..., m, m2)``, dtype and kind as for :func:`torchrank.kendall_gram`. NumPy output carries no gradient.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`torchrank.kendall_gram`, for ``lam`` negative, infinite or NaN,
            and for a ``tie_penalty`` below 1/4.
    """
    asked = X, Y, missing, missing_y, lam, tie_penalty, normalize
    if out is not None:
        return into(
            out,
            lambda: _stream(*_kernel(*asked), block, method, workspace),
            resume=resume,
            group=group,
            title="mallows_gram",
            progress=bool(progress),
        )
    refuse_without_out(block, resume, group)
    pair, quantity, concentration = _kernel(*asked)
    direct = quantity.name == "mallows"
    result = all_pairs(
        pair,
        quantity,
        method=method,
        workspace=workspace,
        progress=progress,
        dtype=None if direct else torch.float64,  # a rounded distance would be multiplied by lam
        lam=concentration if direct else None,
    )[0]
    if direct:
        return pair.origin.gram(result, symmetric=pair.Y is None)
    _check_broadcasts(concentration, result)
    return pair.origin.gram(
        torch.mul(result, -concentration.to(torch.float64)).exp().to(pair.dtype), symmetric=pair.Y is None
    )


def _kernel(
    X: Scores,
    Y: Scores | None,
    missing: Missing,
    missing_y: Missing,
    lam: object,
    tie_penalty: float,
    normalize: bool,
) -> tuple[Pair | SparsePair, Quantity, Tensor]:
    """Checked rankings, what is wanted of them, and ``lam``: kernels at once, or distances where it is no number."""
    check_at_least(tie_penalty, "tie_penalty", 0.25, why=": below, the exponential of the distance is not a kernel")
    check_finite(tie_penalty, "tie_penalty", 0.25)
    concentration = _as_concentration(lam)
    direct = concentration.ndim == 0 and not torch.compiler.is_compiling() and not needs_derivative(concentration)
    pair = sides_to_count(X, Y, missing, missing_y)
    return pair, Quantity("mallows" if direct else "distance", as_float(tie_penalty), bool(normalize)), concentration


def _stream(
    pair: Pair | SparsePair, quantity: Quantity, lam: Tensor, block: int | None, method: str, workspace: int
) -> PairStream:
    if quantity.name != "mallows":
        raise ValueError("lam is not one number without a gradient, which out takes; leave out away")
    return PairStream.of(pair, quantity, block=block, method=method, workspace=workspace, lam=lam)


def _as_concentration(lam: object) -> Tensor:
    if not isinstance(lam, Tensor):
        check_finite(lam, "lam", 0)
        return given_number(as_float(lam))
    if lam.is_complex() or lam.dtype == torch.bool:
        raise TypeError(f"lam has dtype {lam.dtype}; expected real numbers")
    return checked_concentration(lam if lam.is_floating_point() else lam.to(torch.float64))


def _check_broadcasts(lam: Tensor, distances: Tensor) -> None:
    try:
        torch.broadcast_shapes(lam.shape, distances.shape)
    except RuntimeError:
        raise ValueError(
            f"lam has shape {tuple(lam.shape)}, which does not broadcast with {tuple(distances.shape)}, the shape of "
            "the result; one number, or for one of each batch lam[:, None, None]"
        ) from None
