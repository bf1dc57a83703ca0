"""Statistics of rows that add up: over batches, and over the processes of a group."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from torchrank.processes import Group, summed

Self = TypeVar("Self", bound="Sums")


class Additive(Protocol):
    """Statistics of some rows, to which those of others can be added."""

    def __add__(self, other: Any, /) -> Any:
        """Those of both."""
        ...

    def over(self, group: Group) -> Any:
        """The sum of those of all processes of a group."""
        ...


@dataclass(frozen=True)
class Sums:
    """Statistics all of whose fields are sums over rows: tensors, or statistics of this kind."""

    def __add__(self: Self, other: Self) -> Self:
        return type(self)(*(mine + its for mine, its in zip(vars(self).values(), vars(other).values(), strict=True)))

    def over(self: Self, group: Group) -> Self:
        """The sum of those of all processes of a group; for None these themselves."""
        if group is None:
            return self
        parts = vars(self).values()
        return type(self)(*(part.over(group) if isinstance(part, Sums) else summed(part, group) for part in parts))
