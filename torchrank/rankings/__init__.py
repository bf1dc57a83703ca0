"""What a ranking is: accepted inputs, dense ranks, and conversions between forms."""

from torchrank.rankings.convert import from_orders, from_positions, to_orders, to_positions
from torchrank.rankings.prepared import Rankings

__all__ = ["Rankings", "from_orders", "from_positions", "to_orders", "to_positions"]
