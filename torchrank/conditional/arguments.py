"""The border of conditional ranking: kernels, labels, edges and lam are checked here and trusted behind."""

import math
from collections.abc import Callable
from typing import Any, get_args

import torch
from torch import Tensor

from torchrank.linalg import as_double, check_psd, check_symmetric
from torchrank.rankings.arrays import as_tensor, to_numpy
from torchrank.rankings.derivatives import on_values
from torchrank.typing import Direction, Loss

LOSSES = get_args(Loss)
DIRECTIONS = get_args(Direction)


def tensor_of(x: Any, name: str) -> Tensor:
    """``x`` as a tensor; extended precision is rounded to float64."""
    return as_tensor(x, name)[0]


def real_tensor(x: Any, name: str) -> Tensor:
    """``x`` as a float32 or float64 tensor; integers and bools take torch's default dtype, NumPy's numbers float64.

    Raises:
        TypeError: complex numbers, or floats of half precision, in which a kernel matrix means too little.
    """
    tensor = tensor_of(x, name)
    if tensor.is_complex() or (tensor.is_floating_point() and tensor.dtype not in (torch.float32, torch.float64)):
        raise TypeError(f"{name} has dtype {tensor.dtype}; use float32 or float64, for example {name}.float()")
    if not tensor.is_floating_point():
        return tensor.to(torch.get_default_dtype() if isinstance(x, Tensor) else torch.float64)
    return tensor


def kernel_pair(K_start: Any, K_end: Any | None) -> tuple[Tensor, Tensor]:
    """The kernel matrices of start and end nodes; the same tensor twice where there is one set of nodes.

    Raises:
        TypeError: as :func:`real_tensor`.
        ValueError: not square, symmetric and finite, or of different dtypes or devices.
    """
    start = real_tensor(K_start, "K_start")
    check_symmetric(start, "K_start")
    if K_end is None or K_end is K_start:
        return start, start
    end = real_tensor(K_end, "K_end")
    check_like_kernel(end, "K_end", start)
    check_symmetric(end, "K_end")
    return start, end


def checked_double(K: Any, name: str) -> Tensor:
    """A kernel matrix, checked by the rounding of its own dtype, then made symmetric in float64.

    Raises:
        ValueError: not square, symmetric, finite and positive semi-definite.
    """
    tensor = real_tensor(K, name)
    check_symmetric(tensor, name)
    check_psd(tensor, name)
    tensor = as_double(tensor)
    return (tensor + tensor.mT) / 2


def cross_kernels(
    K_start: Any, K_end: Any | None, n_train: tuple[int, int], dtype_of: Tensor, *, one_domain: bool
) -> tuple[Tensor, Tensor]:
    """The kernels between new nodes (rows) and training nodes (columns), as every ``predict`` takes them.

    Args:
        K_start: of new start nodes.
        K_end: of new end nodes; with one set of nodes None takes ``K_start`` for both sides.
        n_train: numbers of training start and end nodes.
        dtype_of: a tensor with the dtype and device that both need.
        one_domain: whether start and end nodes are one set.

    Raises:
        TypeError: another dtype.
        ValueError: no ``K_end`` although there are two sets of nodes; shapes that do not fit; another device.
    """
    check_end_given(K_end, "K_end", one_domain=one_domain)
    start = _cross_kernel(K_start, "K_start", n_train[0], dtype_of)
    return start, start if K_end is None else _cross_kernel(K_end, "K_end", n_train[1], dtype_of)


def check_end_given(end: Any | None, name: str, *, one_domain: bool) -> None:
    """Raise ``ValueError`` where end nodes are not described although they are a set of their own."""
    if end is None and not one_domain:
        raise ValueError(
            f"{name} is missing: start and end nodes are two sets here, so what is said of start nodes does not hold "
            f"for end nodes; pass {name} too"
        )


def _cross_kernel(K: Any, name: str, n_train: int, dtype_of: Tensor) -> Tensor:
    tensor = real_tensor(K, name)
    if tensor.ndim != 2 or tensor.shape[1] != n_train:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}; expected (new nodes, {n_train} training nodes)")
    check_like_kernel(tensor, name, dtype_of)
    return tensor


def label_matrix(F: Any, shape: tuple[int, int], kernel: Tensor) -> Tensor:
    """Labels ``(..., m, n)`` of a complete graph.

    Raises:
        TypeError: as :func:`as_kernel_values`.
        ValueError: wrong shape, device, or values that are missing or infinite.
    """
    labels = as_kernel_values(F, "F", kernel)
    if tuple(labels.shape[-2:]) != shape:
        raise ValueError(
            f"F has shape {tuple(labels.shape)}; expected (..., {shape[0]}, {shape[1]}), one label for each pair of "
            "a start node (row) and an end node (column), outputs leading"
        )
    _refuse_non_finite(labels, "F", "a missing label makes the graph incomplete: see observed_edges and kron_edge_rls")
    return labels


def edge_list(edges: Any, n_start: int, n_end: int, device: torch.device, name: str = "edges") -> Tensor:
    """Edges ``(q, 2)`` as start and end nodes ``(2, q)``.

    Raises:
        TypeError: indices that are not integers.
        ValueError: wrong shape or a node that does not exist; the message names the edge.
    """
    tensor = tensor_of(edges, name)
    if tensor.ndim != 2 or tensor.shape[1] != 2:
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}; expected (edges, 2), a row (start, end) for each edge"
        )
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(f"{name} has dtype {tensor.dtype}; node indices are integers, for example {name}.long()")
    pairs = tensor.to(device, torch.int64).T.contiguous()
    for column, (nodes, count) in enumerate(zip(pairs, (n_start, n_end), strict=True)):
        outside = (nodes < 0) | (nodes >= count)
        if outside.any():
            row = int(outside.nonzero()[0])
            side = ("start", "end")[column]
            raise ValueError(
                f"{name}[{row}, {column}] is {int(nodes[row])}; {side} nodes are numbered 0 to {count - 1}"
            )
    return pairs


def edge_labels(y: Any, n_edges: int, kernel: Tensor, name: str = "y") -> Tensor:
    """Labels ``(q,)`` of edges, finite, in the dtype of the kernels."""
    labels = as_kernel_values(y, name, kernel)
    if tuple(labels.shape) != (n_edges,):
        raise ValueError(f"{name} has shape {tuple(labels.shape)}; expected ({n_edges},), one label for each edge")
    _refuse_non_finite(labels, name, "leave out edges without a label")
    return labels


def as_kernel_values(x: Any, name: str, kernel: Tensor) -> Tensor:
    """Labels or weights in the dtype of the kernel, to which all but floating tensors are converted.

    Raises:
        TypeError: as :func:`real_tensor`, or floats of another dtype than the kernel's.
        ValueError: another device.
    """
    tensor = real_tensor(x, name)
    if not (isinstance(x, Tensor) and x.is_floating_point()):
        tensor = tensor.to(kernel.dtype)
    check_like_kernel(tensor, name, kernel)
    return tensor


def regularization(lam: Any, device: torch.device, name: str = "lam") -> Tensor:
    """``lam`` of any shape as a tensor that is finite and at least zero, in float64 on the device."""
    tensor = tensor_of(lam, name)
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(f"{name} has dtype {tensor.dtype}; expected real numbers")
    bad = ~(tensor.detach() >= 0) | tensor.detach().isinf()
    if bad.any():
        raise ValueError(
            f"{name} has the value {tensor.detach()[bad].reshape(-1)[0].item()}; it must be finite and at least 0"
        )
    return tensor.to(device, torch.float64)


def scalar_regularization(lam: Any, device: torch.device, name: str = "lam") -> Tensor:
    """One ``lam``, checked as :func:`regularization` does."""
    tensor = regularization(lam, device, name)
    if tensor.ndim != 0:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}; expected one number")
    return tensor


def check_like_kernel(x: Tensor, name: str, kernel: Tensor) -> None:
    """Refuse to mix dtypes or devices: a silent conversion would hide which precision the result has."""
    if x.dtype != kernel.dtype:
        raise TypeError(f"{name} has dtype {x.dtype} and K_start {kernel.dtype}; convert one, {name}.to(K_start.dtype)")
    if x.device != kernel.device:
        raise ValueError(f"{name} is on {x.device} and K_start on {kernel.device}; move one, {name}.to(K_start.device)")


def wrapper(*inputs: Any) -> Callable[[Tensor], Any]:
    """What turns a result into the callers' kind of array: NumPy where no input was a tensor."""
    return _same if any(isinstance(x, Tensor) for x in inputs) else to_numpy


def _same(result: Tensor) -> Tensor:
    return result


def _refuse_non_finite(labels: Tensor, name: str, remedy: str) -> None:
    def check(labels: Tensor) -> Tensor:
        if not math.isfinite(float(labels.sum())):
            bad = (~labels.isfinite()).nonzero()
            if len(bad):
                place = ", ".join(str(int(i)) for i in bad[0])
                raise ValueError(f"{name}[{place}] is {labels[tuple(bad[0])].item()}; labels must be finite; {remedy}")
        return labels

    on_values(check, labels)
