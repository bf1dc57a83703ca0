"""Features of the smoothed kernel as the CPU's engine makes them, block by block."""

import torch
from torch import Tensor

from torchrank.cpu.smoothed import features, pull_back  # numba takes half a second to import: imported where used
from torchrank.ops.reference.smoothed import PairBlock, TorchRows


class NumbaRows(TorchRows):
    """One side of a tile on the CPU, for uniform noise and finite scores; features come from the compiled engine."""

    def __init__(self, scores: Tensor, window: float) -> None:
        super().__init__(scores, window, "uniform")
        self._buffer = scores.new_empty(0)

    def features(self, block: PairBlock) -> Tensor:
        """Expected signs ``(b, r, block.pairs)``, valid until the next call."""
        shape = (*self.circle.shape[:2], block.pairs)
        if self._buffer.numel() < shape[0] * shape[1] * shape[2]:
            self._buffer = torch.empty(shape, dtype=self.circle.dtype)
        out = self._buffer.view(-1)[: shape[0] * shape[1] * shape[2]].view(shape)
        circle = self.circle.flatten(0, 1).numpy()
        features(circle, *block, circle.dtype.type(self.window), out.view(len(circle), -1).numpy())
        return out

    def pull_back(self, block: PairBlock, weights: Tensor) -> None:
        """Add the gradient of the sum of ``weights * features(block)``."""
        circle, gradient = self.circle.flatten(0, 1).numpy(), self.gradient.flatten(0, 1).numpy()
        window = circle.dtype.type(self.window)
        rows = weights.contiguous().view(len(circle), -1).numpy()
        self.window_gradient += float(pull_back(circle, *block, window, rows, gradient))
