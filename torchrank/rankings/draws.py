"""Random draws of a torch generator, which may live on another device than what is drawn for."""

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.validate import check_generator


def permutation(n: int, generator: torch.Generator | None, device: torch.device) -> Tensor:
    """The numbers 0 to n - 1 in random order, ``(n,)`` int64 on ``device``."""
    return torch.randperm(n, generator=generator, device=_source(generator, device)).to(device)


def normal(size: tuple[int, ...], generator: torch.Generator | None, like: Tensor) -> Tensor:
    """Standard normal numbers of the dtype and on the device of ``like``."""
    source = _source(generator, like.device)
    return torch.randn(size, generator=generator, device=source, dtype=like.dtype).to(like.device)


def numpy_generator(generator: torch.Generator | None) -> np.random.Generator:
    """A generator of NumPy's whose seed is drawn; None draws it from torch's own."""
    return np.random.default_rng(seed_of(generator))


def seed_of(generator: torch.Generator | None) -> int:
    """A seed that is drawn; None draws it from torch's own generator."""
    source = _source(generator, torch.device("cpu"))
    return int(torch.randint(2**62, (), generator=generator, device=source))


def _source(generator: torch.Generator | None, device: torch.device) -> torch.device:
    check_generator(generator)
    return device if generator is None else generator.device
