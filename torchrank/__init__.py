"""Learning from rankings in PyTorch: exact Kendall and Mallows kernels on CPU and GPU."""

from torchrank._version import __version__

__all__ = ["__version__"]
