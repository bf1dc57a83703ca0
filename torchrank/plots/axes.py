"""What all pictures share: axes, colours, and inputs as arrays."""

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, told apart with any kind of colour vision.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def axes_or_new(ax: "Axes | None", size: tuple[float, float] = (5.0, 4.0)) -> "Axes":
    """The axes given, or those of a new figure.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError('pictures need matplotlib: pip install -e ".[plots]"') from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def as_array(values: Any, name: str, dims: int) -> np.ndarray:
    """Numbers as a float64 array of so many dimensions.

    Raises:
        ValueError: another number of dimensions.
    """
    array = np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values, dtype=np.float64)
    if array.ndim != dims:
        raise ValueError(f"{name} has shape {array.shape}; expected {dims} dimension(s)")
    return array


def as_labels(labels: Any, m: int) -> np.ndarray:
    """One integer label for each of m rows; None means that all are alike.

    Raises:
        ValueError: another number of labels.
    """
    if labels is None:
        return np.zeros(m, dtype=np.int64)
    array = np.asarray(labels.cpu() if isinstance(labels, Tensor) else labels)
    if array.shape != (m,):
        raise ValueError(f"labels has shape {array.shape}; expected ({m},), one for each ranking")
    return np.unique(array, return_inverse=True)[1].reshape(m)
