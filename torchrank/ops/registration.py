"""Registration of ops: in plain surroundings, and with vmap as a longer batch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchrank.rankings.isolation import isolated

BODIES: dict[tuple[str, str], Callable[..., Any]] = {}  # what was registered, for tests that go without the device


def implement(op: str, key: str, function: Callable[..., Any]) -> None:
    """Register ``function`` as what the op ``torchrank::op`` does for a dispatch ``key``: "default", "cpu", "cuda"."""
    BODIES[op, key] = isolated(function)
    torch.library.impl(f"torchrank::{op}", key)(BODIES[op, key])


def vmap_as_batch(op: str, axis: int | None = None, shared: int | None = None) -> None:
    """Let ``torch.func.vmap`` of an op whose tensors all start with a batch dimension make that batch longer.

    Args:
        op: its name; tensors without elements may be anything.
        axis: where the batch dimension is in the results; None where all dimensions but the last ones are a batch, so
            that one more may stand before them.
        shared: place of an argument without a batch dimension; where it differs, every call is made by itself.
    """
    call = getattr(torch.ops.torchrank, op)

    def first(value: Any, dim: int | None, size: int) -> Any:
        moved = value.expand(size, *value.shape) if dim is None else value.movedim(dim, 0)
        return moved if axis is None else moved.flatten(0, 1)

    def rule(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        size = info.batch_size
        if shared is not None and in_dims[shared] is not None:
            return _by_calls(call, size, in_dims, args)
        results = call(
            *(
                first(arg, dim, size) if isinstance(arg, Tensor) and k != shared else arg
                for k, (arg, dim) in enumerate(zip(args, in_dims, strict=True))
            )
        )
        if axis is None:
            return results, 0 if isinstance(results, Tensor) else (0,) * len(results)
        if isinstance(results, Tensor):
            return results.unflatten(axis, (size, -1)), axis
        return tuple(result.unflatten(axis, (size, -1)) for result in results), (axis,) * len(results)

    torch.library.register_vmap(f"torchrank::{op}", rule)


def vmap_by_calls(op: str) -> None:
    """Let ``torch.func.vmap`` of an op make every call by itself."""
    call = getattr(torch.ops.torchrank, op)
    torch.library.register_vmap(
        f"torchrank::{op}", lambda info, in_dims, *args: _by_calls(call, info.batch_size, in_dims, args)
    )


def _by_calls(
    call: Callable[..., Any], size: int, in_dims: tuple[int | None, ...], args: tuple[Any, ...]
) -> tuple[Any, Any]:
    def of_call(k: int) -> list[Any]:
        return [arg if dim is None else arg.select(dim, k) for arg, dim in zip(args, in_dims, strict=True)]

    results = [call(*of_call(k)) for k in range(size)]
    if isinstance(results[0], Tensor):
        return torch.stack(results), 0
    return tuple(map(torch.stack, zip(*results, strict=True))), (0,) * len(results[0])
