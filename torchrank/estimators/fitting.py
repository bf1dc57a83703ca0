"""What every ``fit`` of an estimator runs in, and where."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from torchrank._warnings import unconverged_as
from torchrank.evidence import Evidence
from torchrank.rankings.arrays import from_array


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """If the body ends by an error or by Ctrl-C, the estimator has the attributes that it had before, and no others.

    So an estimator that was fitted still predicts as it did, and one that was not says so. Iterations that are cut
    short warn by scikit-learn's ``ConvergenceWarning``.
    """
    before = dict(vars(estimator))
    try:
        with unconverged_as(ConvergenceWarning):
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def keep_evidence(estimator: Any, evidence: Evidence) -> None:
    """Set the attributes that every fit of an estimator leaves."""
    estimator.objective_, estimator.losses_ = np.array(evidence.objective), np.array(evidence.losses)
    estimator.n_iter_, estimator.converged_, estimator.reason_ = evidence.n_iter, evidence.converged, evidence.reason


def on_device(values: Any, device: Any, name: str = "X") -> Tensor:
    """An array, or a tensor, as a tensor on a device; None is the CPU.

    Raises:
        RuntimeError: a device that torch does not know or cannot use here.
    """
    tensor = values if isinstance(values, Tensor) else from_array(values, name)
    return tensor.to(usable(device))


def module_on_device(module: Any, device: Any) -> Any:
    """A module on a device, a copy so that parts that a user gave stay where they are; as it is for None.

    What is no module, such as a kernel that is a function, stays as it is.

    Raises:
        RuntimeError: as :func:`on_device`.
    """
    if device is None or not isinstance(module, nn.Module):
        return module
    return copy.deepcopy(module).to(usable(device))


def usable(device: Any) -> Any:
    """The device, "cpu" for None; ``RuntimeError`` with its name where torch does not know it or cannot use it."""
    if device is None:
        return "cpu"
    try:
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError, TypeError) as error:  # torch was built without it, or finds no driver
        raise RuntimeError(f"device={device!r} cannot be used here ({error}); pass None for the CPU") from None
    return device


SETTINGS = {
    "device": 'where to compute, such as "cuda"; None is the CPU. Results are NumPy arrays all the same.',
}
ATTRIBUTES = {
    "objective": "after each iteration of the start that was kept,",
    "losses": "what each start came to, the lower the better.",
    "n_iter": "iterations of the start that was kept.",
    "converged": "whether that start ended before ``max_iter``.",
    "reason": 'why it ended, "tolerance" or "max_iter".',
}
