"""Names of rankings and of items, by which what comes in parts is held together: X and Y, training and new rows."""

from itertools import count
from typing import Any

from torch import nn

_BY_PLACE = "pass arrays to compare column by column, {0}.to_numpy() of a data frame and {0}.scores of a data set"


def index_of(table: Any) -> Any:
    """Names of the rows of a data frame or of a series; None of anything else."""
    return table.index if hasattr(table, "iloc") else None  # sequences have a method of that name


def columns_of(table: Any) -> Any:
    """Names of the columns of a data frame of pandas; None of anything else."""
    return getattr(table, "columns", None) if hasattr(table, "iloc") else None


def names_in_series(rows: Any, name: str) -> Any:
    """Names of the entries of a series, or of all series in a list; None of anything else.

    Raises:
        ValueError: the series of a list have other names, or the same in another order.
    """
    if _is_series(rows):
        return rows.index
    if not isinstance(rows, (list, tuple)) or not rows or not all(map(_is_series, rows)):
        return None
    remedy = f"pass pandas.DataFrame({name}), which puts equal names together, or arrays to compare entry by entry"
    for number, row in enumerate(rows):
        check_same_names(rows[0].index, row.index, f"those of {name}[0]", f"entries of {name}[{number}]", remedy)
    return rows[0].index


def refuse_one_name(names: Any, argument: str) -> None:
    """Raise ``TypeError`` for a text where a list of names is expected, of which each letter would be one, or a set."""
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{argument}={names!r} is one name; expected a list of names, such as [{names!r}]")
    if isinstance(names, (set, frozenset)):
        raise TypeError(f"{argument} is a {type(names).__name__}, which has no order; expected a list of names")


def check_same_names(first: Any, second: Any, first_is: str, second_is: str, remedy: str) -> None:
    """Raise unless two axes have the same names in the same order, where both have some.

    The numbers 0, 1, ..., by which pandas counts what nobody gave a name, go with any names but with the same numbers
    in another order. Different numbers of names are not looked at here.

    Args:
        first: names, or None.
        second: names, or None.
        first_is: what the first ones are names of, for messages.
        second_is: the same of the second ones.
        remedy: what to do about it.

    Raises:
        ValueError: other names, or another order.
    """
    if first is None or second is None or first is second or len(first) != len(second):
        return
    if hasattr(first, "equals") and first.equals(second):  # two indices of pandas, without a look at each name
        return
    own, other = list(map(_text, first)), list(map(_text, second))
    if own == other:
        return
    reordered = sorted(own) == sorted(other)
    if not reordered and (_counted(own) or _counted(other)):
        return
    place = next(k for k, (name, its) in enumerate(zip(own, other, strict=True)) if name != its)
    what = "the same names in another order" if reordered else "other names"
    raise ValueError(
        f"{second_is} have {what} than {first_is}: number {place} is {second[place]!r} and not {first[place]!r}; "
        f"{remedy}"
    )


def check_same_items(first: Any, second: Any, name: str = "X", other: str = "Y") -> None:
    """Raise ``ValueError`` unless the columns of two arguments are the same items; see :func:`check_same_names`."""
    remedy = f"bring them into one order, {other}[{name}.columns], or {_BY_PLACE.format(other)}"
    check_same_names(first, second, f"those of {name}", f"columns of {other}", remedy)


def check_same_rows(rows: Any, weights: Any, name: str = "weights") -> None:
    """Raise ``ValueError`` unless a series of weights is of the rankings it came with; see :func:`check_same_names`."""
    remedy = f"bring it into their order, {name}.loc[X.index], or pass {name}.to_numpy() to count by place"
    check_same_names(rows, index_of(weights), "those of the rankings", f"rows of {name}", remedy)


class RemembersItems(nn.Module):
    """A module that knows the names of the items it was fitted to, so that it takes no others for them.

    They are no part of ``state_dict``: a model that was loaded compares columns by their place.
    """

    _items: Any = None  # names, or None

    def remember(self, items: Any) -> None:
        """These are the names of the items that the module is fitted to."""
        self._items = items

    def check_items(self, items: Any, name: str = "X") -> None:
        """Raise ``ValueError`` where new rows have other items; see :func:`check_same_names`."""
        remedy = f"bring them into that order, or {_BY_PLACE.format(name)}"
        check_same_names(self._items, items, "those that were fitted", f"columns of {name}", remedy)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._items = None
        super()._load_from_state_dict(*args, **kwargs)


def _is_series(row: Any) -> bool:
    return hasattr(row, "iloc") and not hasattr(row, "columns")


def _text(name: Any) -> str:
    """A name as text; a whole number in floating point as the integer it is."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _counted(names: list[str]) -> bool:
    return all(name == str(k) for k, name in zip(count(), names, strict=False))
