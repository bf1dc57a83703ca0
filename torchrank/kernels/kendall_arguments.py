"""Arguments of Kendall kernels and distances, checked, as what is wanted of every pair of rankings."""

import math
from typing import Any, get_args

from torchrank.ops.quantities import Quantity
from torchrank.ops.rank import Pair, SparsePair
from torchrank.rankings.validate import as_float, check_choice, check_count, check_finite, check_number
from torchrank.typing import Variant

VARIANTS = get_args(Variant)


def kernel_quantity(
    pair: Pair | SparsePair, variant: str | None, min_common: int | None, fill_value: float, shrink: float
) -> Quantity:
    """What :func:`kendall_gram` wants of every pair of rows, its arguments checked."""
    demands = _demands(pair, min_common, fill_value)
    return Quantity(_variant(variant, pair), **demands, shrink=_shrinkage(pair, shrink))


def _demands(pair: Pair | SparsePair, min_common: int | None, fill_value: float) -> dict[str, Any]:
    """What is demanded of common items, checked, as arguments of :class:`Quantity`."""
    check_number(fill_value, "fill_value")
    if min_common is None:
        if not math.isnan(fill_value):
            raise ValueError(
                f"fill_value={fill_value} is for rows with fewer than min_common common items; pass min_common too"
            )
        return {}
    check_count(min_common, "min_common", least=0)
    _check_pairwise(pair, f"min_common={min_common}")
    return {"min_common": int(min_common), "fill_value": as_float(fill_value)}


def _shrinkage(pair: Pair | SparsePair, shrink: float) -> float:
    check_finite(shrink, "shrink", 0)
    if shrink:
        _check_pairwise(pair, f"shrink={shrink}")
    return as_float(shrink)


def _check_pairwise(pair: Pair | SparsePair, what: str) -> None:
    if pair.X.missing != "pairwise":
        raise ValueError(
            f"{what} speaks of items that both rows rank, and missing={pair.X.missing!r} compares all items; "
            "pass missing='pairwise'"
        )


def _variant(variant: str | None, pair: Pair | SparsePair) -> str:
    """The variant that was asked for, or the default."""
    if variant is None:
        return "a" if any(side.meaning.partial for side in pair.sides()) else "b"
    check_choice(variant, "variant", VARIANTS)
    return variant


def distance_quantity(
    pair: Pair | SparsePair, tie_penalty: float, normalize: bool, min_common: int | None, fill_value: float
) -> Quantity:
    """The same of :func:`torchrank.kendall_distance`."""
    check_finite(tie_penalty, "tie_penalty", 0)
    return Quantity("distance", as_float(tie_penalty), bool(normalize), **_demands(pair, min_common, fill_value))
