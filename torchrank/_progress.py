"""Progress bars of fits from several starts."""

from typing import Any

from torch import Tensor
from tqdm import tqdm


def starts_bar(total: int, title: str, progress: bool) -> "tqdm[Any]":
    """A progress bar of starts that go together; see :func:`show_starts`."""
    return tqdm(total=total, desc=title, unit="start", disable=not progress)


def show_starts(bar: "tqdm[Any]", n_iter: int, ended: int, objective: float | Tensor) -> None:
    """Show an iteration in which ``ended`` starts came to their end, and the objective."""
    if not bar.disable:
        bar.set_postfix(iteration=n_iter, objective=f"{float(objective):.6g}", refresh=False)
        bar.update(ended)
