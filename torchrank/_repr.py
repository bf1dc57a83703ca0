"""How results show themselves in a console or a notebook: by name, numbers and shapes, on one line."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from torch import Tensor


def short_repr(self: Any) -> str:
    """What ``repr`` of a dataclass or a named tuple says in place of all its numbers.

    Single numbers and words are shown, arrays by their shapes, and sequences of numbers, such as the objective after
    every iteration, by how many there are, the first and the last; empty arrays are left out. Classes take it by
    ``__repr__ = short_repr``.

    Example:
        >>> from torchrank import Evidence
        >>> Evidence(objective=(9.5, 2.5, 2.25), losses=(), n_iter=3, converged=True, reason="tolerance")
        Evidence(objective=<3 values, 9.5 to 2.25>, losses=(), n_iter=3, converged=True, reason='tolerance')
    """
    names = [field.name for field in fields(self)] if is_dataclass(self) else self._fields
    values = {name: getattr(self, name) for name in names}
    shown = (f"{name}={_short(value)}" for name, value in values.items() if 0 not in getattr(value, "shape", ()))
    return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    if isinstance(value, (Tensor, np.ndarray)) and value.ndim:
        return f"<{type(value).__name__} {tuple(value.shape)}>"
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        value = value.item()
    if isinstance(value, (tuple, list)) and value:
        first, last = _short(value[0]), _short(value[-1])
        return f"<{len(value)} values, {first} to {last}>" if len(value) > 1 else f"<1 value, {first}>"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
