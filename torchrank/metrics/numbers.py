"""What comes into a metric, as numbers in float64: no metric computes in the dtype that it was given."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.validate import from_array


def double_of(x: Any, name: str) -> Tensor:
    """Real numbers of any dtype as a float64 tensor without gradient; extended precision is rounded.

    Raises:
        TypeError: complex, object, string or date values.
    """
    return real_of(x, name).to(torch.float64)


def real_of(x: Any, name: str) -> Tensor:
    """Real numbers as a tensor of their own dtype without gradient; extended precision is rounded to float64.

    Raises:
        TypeError: as :func:`double_of`.
    """
    tensor = x.detach() if isinstance(x, Tensor) else from_array(rounded(np.asarray(x)), name)
    if tensor.is_complex():
        raise TypeError(f"{name} has dtype {tensor.dtype}; expected real numbers")
    return tensor


def rounded(x: Any) -> Any:
    """Arrays of extended precision in float64: as scores they would become ranks, but here their values count."""
    return x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype == np.longdouble else x
