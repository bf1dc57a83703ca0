"""Matrices over all pairs on disk, block by block, so that a run that was killed goes on where it was."""

from torchrank.storage.block_folder import BlockFolder

__all__ = ["BlockFolder"]
