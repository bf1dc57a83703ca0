"""What comes into a metric, as numbers in float64: no metric computes in the dtype that it was given."""

from typing import Any

import torch
from torch import Tensor

from torchrank.rankings.arrays import as_tensor


def double_of(x: Any, name: str) -> Tensor:
    """Real numbers of any dtype as a float64 tensor without gradient; extended precision is rounded.

    Raises:
        TypeError: complex, string or date values, other objects, masks.
    """
    return real_of(x, name).to(torch.float64)


def real_of(x: Any, name: str) -> Tensor:
    """Real numbers as a tensor of their own dtype without gradient; extended precision is rounded to float64.

    Raises:
        TypeError: as :func:`double_of`.
    """
    return as_tensor(x, name, "real numbers")[0].detach()
