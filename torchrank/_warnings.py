"""Warnings that speak of the line that called torchrank, however many calls lie between."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_BETWEEN = {"torchrank", "torch", "sklearn", "joblib", "contextlib"}  # packages that are no caller's own


class ConvergenceWarning(UserWarning):
    """An iteration ended before it reached its tolerance."""


_unconverged: ContextVar[type[UserWarning]] = ContextVar("unconverged", default=ConvergenceWarning)
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, in the name of the nearest caller outside torchrank."""
    if _quiet.get():
        return
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_not_converged(message: str) -> None:
    """Warn of an iteration that was cut short, in the category that :func:`unconverged_as` says."""
    warn(message, _unconverged.get())


@contextmanager
def unconverged_as(category: type[UserWarning]) -> Iterator[None]:
    """Within, iterations that are cut short warn in this category; other threads are not concerned."""
    token = _unconverged.set(category)
    try:
        yield
    finally:
        _unconverged.reset(token)


@contextmanager
def quietly() -> Iterator[None]:
    """Within, nothing warns, as of a fit that another one only starts from; other threads are not concerned."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)
