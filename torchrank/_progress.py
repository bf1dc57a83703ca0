"""Progress bars, and none where nobody asked for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from torch import Tensor
from tqdm import tqdm

T = TypeVar("T")


class NoBar(Generic[T]):
    """What is used of a progress bar, without one.

    A tqdm that is disabled still takes tqdm's lock between processes and starts its thread; a worker forked at that
    moment, or beside one that was killed in it, would wait for ever.
    """

    disable, n = True, 0

    def __init__(self, iterable: Iterable[T]) -> None:
        self._iterable = iterable

    def __iter__(self) -> Iterator[T]:
        return iter(self._iterable)

    def __enter__(self) -> NoBar[T]:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def update(self, n: float = 1) -> None:
        """Show nothing."""

    def set_postfix(self, **values: Any) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Show nothing."""


def progress_bar(
    title: str, unit: str, iterable: Iterable[T] | None = None, *, progress: bool, **settings: Any
) -> tqdm[T] | NoBar[T]:
    """A progress bar over what is iterated, or one that is updated, up to a ``total``."""
    if not progress:
        return NoBar(() if iterable is None else iterable)
    bar: Any = tqdm(iterable, desc=title, unit=unit, **settings)
    return bar


def starts_bar(total: int, title: str, progress: bool) -> tqdm[Any] | NoBar[Any]:
    """A progress bar of starts that go together; see :func:`show_starts`."""
    return progress_bar(title, "start", total=total, progress=progress)


def show_starts(bar: tqdm[Any] | NoBar[Any], n_iter: int, ended: int, objective: float | Tensor) -> None:
    """Show an iteration in which ``ended`` starts came to their end, and the objective."""
    if not bar.disable:
        bar.set_postfix(iteration=n_iter, objective=f"{float(objective):.6g}", refresh=False)
        bar.update(ended)
