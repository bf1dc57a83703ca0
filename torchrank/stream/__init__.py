"""Pairs of rankings as a stream: a plan of blocks, a block by the op that makes whole matrices, and what takes them.

Nothing of the size of all pairs is in memory, so what is made of them ends at time, not at memory.
"""

from torchrank.stream.association import AssociationTest, kendall_test
from torchrank.stream.blocks import Block, kendall_blocks
from torchrank.stream.graph import kendall_graph
from torchrank.stream.neighbors import Neighbors, kendall_neighbors

__all__ = [
    "AssociationTest",
    "Block",
    "Neighbors",
    "kendall_blocks",
    "kendall_graph",
    "kendall_neighbors",
    "kendall_test",
]
