"""Modules that keep the dtype of their state, whatever ``.half()`` or ``.float()`` asks for."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def one_number(value: float) -> Tensor:
    """A float64 parameter that is one number, ``(1,)``.

    Compiled optimizers of torch 2.13 do not update float64 numbers of shape ``()`` on the CPU, or to wrong values.
    """
    return torch.tensor([value], dtype=torch.float64)


def given_number(value: float) -> Tensor:
    """A number of a caller as a float64 tensor ``()`` on the CPU."""
    if torch.compiler.is_compiling():  # a product takes a number that changes into the graph, torch.tensor its value
        return torch.ones((), dtype=torch.float64, device="cpu") * value
    return torch.tensor(value, dtype=torch.float64, device="cpu")


class KeepsPrecision(nn.Module):
    """A module whose own parameters and buffers move between devices and are never rounded.

    Scores in half precision tie items that were not tied, and rounded Gram matrices or duals belong to no training
    rows. So ``.float()``, ``.half()``, ``.bfloat16()`` and ``.double()`` leave them as they are, and predictions stay
    the same. Modules inside, such as a network that is a kernel, follow; so do the buffers that are ``_fed`` to them.
    """

    _fed: tuple[str, ...] = ()  # buffers that a network inside takes, and has to find in its own dtype

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        def moved(tensor: Tensor) -> Tensor:
            changed = fn(tensor)
            return tensor.to(changed.device) if _is_rounded(tensor, changed) else changed

        if recurse:
            for child in self.children():
                child._apply(fn)
        super()._apply(moved, recurse=False)
        if parameter_dtype(getattr(self, "kernel", None)) is not None:
            for name in self._fed:
                buffer = getattr(self, name)
                setattr(self, name, buffer if buffer is None else fn(buffer))
        return self


def parameter_dtype(kernel: Any) -> torch.dtype | None:
    """The dtype of a network's parameters; None for functions and for kernels that take scores of any dtype."""
    if not isinstance(kernel, nn.Module) or isinstance(kernel, KeepsPrecision):
        return None
    return next((parameter.dtype for parameter in kernel.parameters() if parameter.is_floating_point()), None)


def kernel_values(kernel: Any, X: Tensor, Y: Tensor) -> Any:
    """``kernel(X, Y)`` of features whose dtypes may differ.

    Raises:
        TypeError: the kernel fails, and its parameters have another dtype than the features.
    """
    dtype = parameter_dtype(kernel)
    if dtype is None:
        if X.is_floating_point() and Y.is_floating_point():
            dtype = torch.promote_types(X.dtype, Y.dtype)
            dtype = torch.float64 if dtype.itemsize < 4 else dtype  # a Gram matrix of half precision has too few digits
            X, Y = X.to(dtype), Y.to(dtype)
        return kernel(X, Y)
    try:
        return kernel(X, Y)
    except RuntimeError as error:
        if X.dtype == Y.dtype == dtype:
            raise
        raise TypeError(
            f"X has dtype {X.dtype}, the training samples {Y.dtype} and the kernel's parameters {dtype}, which the "
            f"kernel does not take together; pass X.to({dtype}), or move the model by model.to({X.dtype})"
        ) from error


def _is_rounded(before: Tensor, after: Tensor) -> bool:
    """Whether a move changed the dtype, on a device that would have kept it."""
    return before.is_floating_point() and after.dtype != before.dtype and after.device.type != "mps"
