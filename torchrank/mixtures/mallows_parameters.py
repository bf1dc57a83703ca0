"""Parameters of mixtures of Mallows distributions."""

from typing import NamedTuple

from torch import Tensor


class MallowsParameters(NamedTuple):
    """Of c components; leading dimensions are those of the starts."""

    log_shares: Tensor  # (..., c)
    centers: Tensor  # (..., c, p) pair signs
    lam: Tensor  # (..., c)
