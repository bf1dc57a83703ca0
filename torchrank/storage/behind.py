"""Writing while the next thing to write is made."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


def write_behind(items: Iterable[Item], write: Callable[[Item, bool], None]) -> None:
    """Write items in their order, on another thread while the next one is made; no more than two are there at a time.

    ``write(item, late)`` is told whether the item had to wait for the one before. An error of either side, Ctrl-C among
    them, ends both and is raised here, when what is being written is written.
    """
    with ThreadPoolExecutor(1) as thread:
        waiting: Future[Any] | None = None
        for item in items:
            late = False
            if waiting is not None:
                late = not waiting.done()
                waiting.result()
            waiting = thread.submit(write, item, late)
        if waiting is not None:
            waiting.result()
