# pyright: reportIncompatibleMethodOverride=false
# As torch documents, these take the arguments of forward and not the base class's *args.
"""What ``torch.func.vmap`` cannot go through says so, and what to do instead."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
from torch import Tensor

Thing = TypeVar("Thing", bound=Callable[..., Any])

SEARCHES = "how long it searches depends on the values"
SHAPES = "the shape of its result depends on the values"
COUNTS = "it looks at values, such as classes, to know how many there are"
CHECKS = "it looks at values to check them"
MANY = "it has one set of rows, and cuts it into blocks"
IN_A_LOOP = "call it in a loop over the batch"
NUMBER = "its result is a number of Python"


class _Unmapped(torch.autograd.Function):
    """Does nothing, except under ``torch.func.vmap`` of any of the tensors."""

    @staticmethod
    def forward(message: str, *tensors: Tensor) -> None:
        return None

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps nothing: there is no result."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, message: str, *tensors: Tensor) -> Any:
        raise RuntimeError(message)


def unmapped(why: str, instead: str = IN_A_LOOP) -> Callable[[Thing], Thing]:
    """Let a function raise ``RuntimeError`` under ``torch.func.vmap`` of tensors that it is given.

    Args:
        why: the reason, after which "so" follows.
        instead: what to do.
    """

    def decorate(thing: Thing) -> Thing:
        name = thing.__qualname__.removesuffix(".__init__")

        @functools.wraps(thing)
        def run(*args: Any, **kwargs: Any) -> Any:
            refuse_mapped(name, why, *args, *kwargs.values(), instead=instead)
            return thing(*args, **kwargs)

        return run  # type: ignore[return-value]

    return decorate


def refuse_mapped(name: str, why: str, *values: Any, instead: str = IN_A_LOOP) -> None:
    """Raise ``RuntimeError`` if any tensor among the values, or in lists of them, is one of ``torch.func.vmap``."""
    tensors = [tensor.detach() for tensor in _tensors(values)]
    if tensors and not torch.compiler.is_compiling():
        _Unmapped.apply(f"torch.func.vmap cannot go through {name}: {why}, so {instead}", *tensors)


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
            yield from _tensors(value)
        elif isinstance(ranks := getattr(value, "ranks", None), Tensor):  # prepared rankings
            yield ranks
