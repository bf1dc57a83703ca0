"""State whose size is that of the data, so that ``load_state_dict`` works on a model that was never fitted."""

from typing import Any

import torch
from torch import Tensor, nn

from torchrank.linalg.precision import KeepsPrecision
from torchrank.rankings.names import RemembersItems


class GrowingBuffers(KeepsPrecision, RemembersItems):
    """A module some of whose buffers and parameters take the shape of what is loaded into them."""

    _growing: tuple[str, ...] = ()

    def register_growing(self, **buffers: Tensor) -> None:
        """Register buffers, or parameters, by name; assign to them freely."""
        for name, buffer in buffers.items():
            if isinstance(buffer, nn.Parameter):
                self.register_parameter(name, buffer)
            else:
                self.register_buffer(name, buffer)
        self._growing = (*self._growing, *buffers)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        for name in self._growing:
            loaded = state_dict.get(prefix + name)
            if loaded is not None:
                present = getattr(self, name)
                double = present.dtype == torch.float64 and loaded.is_floating_point()  # what is computed in float64
                room = loaded.new_empty(loaded.shape, dtype=present.dtype if double else None).to(present.device)
                setattr(self, name, nn.Parameter(room) if isinstance(present, nn.Parameter) else room)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
