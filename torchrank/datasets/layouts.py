"""How a table holds rankings, and descriptions of arguments that readers of tables and files share."""

from typing import Any, NamedTuple

from torchrank.datasets.order_tables import GAPS
from torchrank.rankings.validate import check_choice

FORMS = ("scores", "positions", "orders")
LONG_FORMS = FORMS[:2]

ARGUMENTS = {
    "unranked": 'another entry that means not ranked, such as 0 in positions or "-" in orders, or a list of them, such '
    'as ["overvote", "skipped"].',
    "user": 'the column of rankers in a table with a row for each score, "user, item, score", which the next two and '
    "perhaps ``time`` name too, and ``form`` then need not: one ranking for each user, in the order in which they are "
    "found, with their names in ``rankers``.",
    "item": "the column of items there.",
    "score": 'the column of scores there, or of positions if ``form="positions"``. Items for which a user has none, or '
    "an empty one, are unranked.",
    "time": "the column of times there, numbers or dates, of which the latest counts where a user scores an item more "
    "than once; without one that is refused.",
    "ballot": "the column of strings such as ``A>B=C``, see :func:`from_ranking_strings`, in place of ``form``; an "
    "entry that is empty, or a mark of ``unranked``, ranks nothing.",
    "gaps": 'what becomes of entries that are not ranked before the end of an order: "raise", or "close", by which '
    "what follows moves up.",
    "sparse": "whether the scores of a table with a row for each score, or of comparisons, are "
    ":class:`torchrank.SparseRankings`, whose size is that of the table, in place of a matrix with a column for each "
    "item.",
    "path": "of the file, gzipped if its name ends in ``.gz``.",
    "delimiter": 'what stands between fields, such as ";" or tab.',
    "decimal": 'what stands before the fraction of a number, "." or ",".',
    "encoding": 'of the file, such as "cp1252" or "utf-16"; by default UTF-8 with or without a byte-order mark.',
    "header": 'whether the first line names the columns; without one they are called "0", "1", ... None means yes, '
    "unless it holds only numbers, which is refused.",
    "lenient": "read a file that was cut off: leave out what is not whole at its end, and warn of how much that is.",
}


class Long(NamedTuple):
    """Names of the columns of a table with a row for each score."""

    user: Any
    item: Any
    score: Any
    time: Any


def layout_of(form: str | None, ballot: Any, long: Long, gaps: str, sparse: bool) -> str:
    """Which layout it is: "ballots", "long", or one of FORMS.

    Raises:
        ValueError: an unknown word, more than one layout, or half of one.
        TypeError: none at all.
    """
    check_choice(gaps, "gaps", GAPS)
    given = [f"{name}=" for name, value in long._asdict().items() if value is not None]
    if ballot is not None and (form is not None or given):
        raise ValueError(
            f"ballot={ballot!r} names a column of whole rankings, {', '.join(given) or f'form={form!r}'} another kind "
            "of table; pass one or the other"
        )
    if given:
        missing = [f"{name}=" for name in ("user", "item", "score") if getattr(long, name) is None]
        if missing:
            raise ValueError(
                f"{', '.join(given)} without {', '.join(missing)}; a table with a row for each score has columns of "
                "users, items and scores"
            )
        columns = [column for column in long if column is not None]
        for column in columns:
            if columns.count(column) > 1:
                raise ValueError(f"the column {column!r} is named twice, by {', '.join(given)}; each needs its own")
        if form is not None:
            check_choice(form, "form", LONG_FORMS)
        layout = "long"
    elif ballot is not None:
        layout = "ballots"
    elif form is None:
        raise TypeError(
            "form is not given; expected 'scores', 'positions' or 'orders' for a ranking a row, or else the columns "
            "user=, item= and score= for a score a row, ballot= for strings such as A>B=C"
        )
    else:
        check_choice(form, "form", FORMS)
        layout = form
    if gaps == "close" and layout != "orders":
        raise ValueError("gaps='close' is for form='orders'; elsewhere what is not ranked leaves no gap")
    if sparse and layout != "long":
        raise ValueError("sparse=True is for tables with a row for each score, user=, item= and score=")
    return layout


def refuse_beside_scores(**known: Any) -> None:
    """Raise ``ValueError`` for what a table with a row for each score cannot say of its rankers."""
    for name, value in known.items():
        if value is not None and len(value):
            raise ValueError(
                f"{name}={value!r} is of rankings, and the table has a row for each score; set it afterwards, for "
                f"example dataclasses.replace(data, {name}=...), a value for each of data.rankers"
            )
