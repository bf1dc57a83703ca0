"""What does not reach inside: autocast and the default device of whoever calls.

Autocast would round counts and matrices to bfloat16, and a default device would take what is made inside to another
place than the input's. The default dtype is read where a result has no dtype of its own, and nowhere else.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from torchrank.rankings.derivatives import in_transform

Thing = TypeVar("Thing", bound=Callable[..., Any])

_DEVICES = ("cpu", "cuda")
_WITHOUT_VALUES = ("Cannot access data pointer", "mutating directly with `.data`")  # as torch says in its transforms
_NO_VALUES = (
    "torch.func.grad, jvp and the like cannot go through {name}, which looks at values: no derivative follows it, so "
    "call it outside of them, with X.detach()"
)


def isolated(thing: Thing) -> Thing:
    """A function, or a class with its constructor and public methods, to run in :func:`isolation`."""
    if isinstance(thing, type):
        for name, method in vars(thing).items():
            if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
                setattr(thing, name, isolated(method))
        return thing  # type: ignore[return-value]

    @functools.wraps(thing)
    def run(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():  # graphs have their own
            return thing(*args, **kwargs)
        try:
            if not _is_disturbed():
                return thing(*args, **kwargs)
            with isolation():
                return thing(*args, **kwargs)
        except RuntimeError as error:
            if any(words in str(error) for words in _WITHOUT_VALUES) and in_transform():
                raise RuntimeError(_NO_VALUES.format(name=thing.__qualname__.removesuffix(".__init__"))) from error
            raise

    return run  # type: ignore[return-value]


@contextmanager
def isolation() -> Iterator[None]:
    """Autocast off, and the CPU as default device: what belongs elsewhere says so."""
    before = [device for device in _DEVICES if torch.is_autocast_enabled(device)]
    modes = [torch.autocast(device, enabled=False) for device in before] + [torch.device("cpu")]
    for mode in modes:
        mode.__enter__()
    try:
        yield
    finally:
        for mode in reversed(modes):
            mode.__exit__(None, None, None)


def _is_disturbed() -> bool:
    if any(map(torch.is_autocast_enabled, _DEVICES)):
        return True
    try:
        return torch.get_default_device().type != "cpu"
    except (AssertionError, RuntimeError):  # it asks for the number of a device that is not there, or not after a fork
        return True
