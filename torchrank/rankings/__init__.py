"""What a ranking is: accepted inputs, dense ranks, and conversions between forms."""

from torchrank.rankings.batches import Batches
from torchrank.rankings.convert import from_orders, from_positions, to_orders, to_positions
from torchrank.rankings.partial_orders import PartialOrders, from_preferences
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.sparse import SparseRankings

__all__ = [
    "Batches",
    "PartialOrders",
    "Rankings",
    "SparseRankings",
    "from_orders",
    "from_positions",
    "from_preferences",
    "to_orders",
    "to_positions",
]
