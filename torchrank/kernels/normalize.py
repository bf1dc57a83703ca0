"""Centering and scaling of Gram matrices."""

from __future__ import annotations

import torch
from torch import Tensor

from torchrank.ops.checks import symmetric_gram
from torchrank.rankings.arrays import Matrix, as_tensor
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import check_same_items, check_same_names, check_same_rows
from torchrank.rankings.powers import exponent_of, power_of_two
from torchrank.rankings.validate import as_gram
from torchrank.typing import Array, Values


@isolated
def center_gram(K: Values[Array], K_train: Values[Array] | None = None) -> Array:
    r"""Gram matrix after the mean feature vector has been subtracted from every feature vector.

    .. math:: \tilde K = (I - \tfrac{1}{m} 1 1^\top)\, K\, (I - \tfrac{1}{m} 1 1^\top)

    With ``K_train`` the mean is that of the training rows: pass the ``(..., m2, m)`` block of new against training
    rows.

    Args:
        K: ``(..., m, m)`` symmetric, or ``(..., m2, m)`` beside ``K_train``.
        K_train: ``(..., m, m)``, not centered, or None.

    Returns:
        A matrix of the shape, dtype and kind of ``K``; gradients pass. Symmetric bit for bit without ``K_train``.

    Raises:
        ValueError: ``K`` is not square and symmetric (without ``K_train``) or has other columns than ``K_train``.
        TypeError: not a floating-point matrix.
    """
    gram, origin = as_gram(K, "K", square=K_train is None)
    train = gram
    if K_train is not None:
        train, own = as_gram(K_train, "K_train", square=True)
        check_same_items(own.items, origin.items, "K_train", "K")
        train = train.to(gram)
    if gram.shape[-1] != train.shape[-1]:
        raise ValueError(
            f"K has {gram.shape[-1]} columns and K_train {train.shape[-1]}; both stand for the training rows"
        )
    train = symmetric_gram(train, "K" if K_train is None else "K_train")
    train_means = train.mean(dim=-1)
    means = train_means if K_train is None else gram.mean(dim=-1)
    centered = gram - (means[..., :, None] + train_means[..., None, :]) + train_means.mean(dim=-1)[..., None, None]
    return origin.named(centered, "rows", "items")


@isolated
def normalize_gram(K: Values[Array], rows: Values[Array] | None = None, columns: Values[Array] | None = None) -> Array:
    r"""Gram matrix of feature vectors scaled to unit norm: :math:`K_{ij} / \sqrt{K_{ii} K_{jj}}`.

    Feature vectors of norm 0 stay 0.

    Args:
        K: ``(..., m, m2)``; square when ``rows`` is None.
        rows: ``(..., m)`` squared norms k(x, x) of the row objects; None means the diagonal of ``K``.
        columns: ``(..., m2)`` squared norms of the column objects; None means ``rows``.

    Returns:
        A matrix of the shape, dtype and kind of ``K``; gradients pass. Exactly 1 on the diagonal of a square ``K``.

    Raises:
        ValueError: ``K`` is not square although ``rows`` is None, or lengths do not fit.
        TypeError: not a floating-point matrix.
    """
    gram, origin = as_gram(K, "K", square=rows is None)
    if rows is None:
        check_same_names(origin.rows, origin.items, "rows of K", "columns of K", "bring them into one order")
    for norms, names, name in ((rows, origin.rows, "rows"), (columns, origin.items, "columns")):
        check_same_rows(names, norms, name)
    row_norms = gram.diagonal(dim1=-2, dim2=-1) if rows is None else _as_norms(rows, "rows", gram, gram.shape[-2])
    column_norms = _as_norms(row_norms if columns is None else columns, "columns", gram, gram.shape[-1])
    row_shift, column_shift = _power_of_two(row_norms)[..., :, None], _power_of_two(column_norms)[..., None, :]
    product = (row_norms[..., :, None] * row_shift * row_shift) * (
        column_norms[..., None, :] * column_shift * column_shift
    )
    shifted = gram * row_shift * column_shift
    scaled = torch.where(product > 0, shifted / torch.where(product > 0, product, 1).sqrt(), 0)
    return origin.named(scaled, "rows", "items")


def _power_of_two(norms: Tensor) -> Tensor:
    """Powers of two that bring squared norms near 1: exact factors, after which no product over- or underflows."""
    return power_of_two(-(exponent_of(norms) >> 1)).to(norms.dtype)


def _as_norms(norms: Matrix, name: str, gram: Tensor, size: int) -> Tensor:
    given = as_tensor(norms, name)[0]
    if given.shape[-1:] != (size,):
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}; K of shape {tuple(gram.shape)} needs {size} squared norms"
        )
    return given.to(device=gram.device, dtype=gram.dtype)
