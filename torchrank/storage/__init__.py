"""Matrices over all pairs on disk, block by block, so that a run that was killed goes on where it was."""

from torchrank.storage.behind import write_behind
from torchrank.storage.block_folder import BlockFolder
from torchrank.storage.forms import form_of

__all__ = ["BlockFolder", "form_of", "write_behind"]
