"""Writing while the next thing to write is made."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


def write_behind(items: Iterable[Item], write: Callable[[Item], None]) -> None:
    """Write items in their order, on another thread while the next one is made; no more than two are there at a time.

    An error of either side, Ctrl-C among them, ends both and is raised here, when what is being written is written.
    """
    with ThreadPoolExecutor(1) as thread:
        waiting: Future[Any] | None = None
        for item in items:
            if waiting is not None:
                waiting.result()
            waiting = thread.submit(write, item)
        if waiting is not None:
            waiting.result()
