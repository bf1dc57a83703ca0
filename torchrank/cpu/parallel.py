"""Run tiles of work on threads that live for one call."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch

Tile = TypeVar("Tile")

# Operations of torch that ran on several threads before a fork wait forever for those threads after it. One thread is
# what torch itself gives to the worker processes of a DataLoader.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def run_tiles(tiles: Sequence[Tile], work: Callable[[Tile], None], advance: Callable[[], Any] | None = None) -> None:
    """Call ``work`` once for every tile, on ``torch.get_num_threads()`` threads, the caller's among them.

    ``work`` has to release the GIL to gain from it, and no two tiles may write the same memory. The threads end with
    the call, so nothing is left behind that a fork could break, and calls from several threads do not disturb each
    other. An exception in any tile, Ctrl-C in the caller's thread among them, stops the others after their current tile
    and is raised here. ``advance`` is called after every tile, by one thread at a time.
    """
    workers = min(torch.get_num_threads(), len(tiles))
    if workers <= 1:
        for tile in tiles:
            work(tile)
            if advance is not None:
                advance()
        return
    queue = iter(tiles)
    lock = threading.Lock()
    stop = threading.Event()

    def take_tiles() -> None:
        emptied = False
        try:
            while not stop.is_set():
                with lock:
                    tile = next(queue, None)
                if tile is None:
                    break
                work(tile)
                if advance is not None:
                    with lock:
                        advance()
            emptied = True
        finally:
            if not emptied:
                stop.set()

    with ThreadPoolExecutor(workers - 1) as pool:
        helpers = [pool.submit(take_tiles) for _ in range(workers - 1)]
        try:
            take_tiles()
            for helper in helpers:
                helper.result()
        finally:
            stop.set()


def spans(size: int, step: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """Cut ``range(start, size)`` into half-open intervals of ``step``, the last one shorter."""
    return ((first, min(first + step, size)) for first in range(start, size, step))


def run_parts(size: int, parts: int, work: Callable[[slice, int], None]) -> None:
    """Call ``work`` with the rows of each of at most ``parts`` parts of ``range(size)``, and the number of the part.

    Parts depend on the size alone, so that sums over them have the same bits for any number of threads.
    """
    step = max(1, -(-size // parts))
    tiles = [(slice(*span), part) for part, span in enumerate(spans(size, step))]
    run_tiles(tiles, lambda tile: work(*tile))
