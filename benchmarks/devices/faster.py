"""From which size on one device is faster than another, as far as it was measured."""

from benchmarks.performance import Rows


def cases_of(rows: Rows) -> list[str]:
    """Names of the cases that were measured, in their order."""
    return list(dict.fromkeys(row["case"] for row in rows if "case" in row))


def devices_of(rows: Rows) -> list[str]:
    """Names of the devices, in their order."""
    return list(dict.fromkeys(row["device"] for row in rows if "case" in row))


def largest(rows: Rows, case: str) -> int:
    """The largest size of a case."""
    return max(row["size"] for row in rows if row.get("case") == case)


def faster_from(rows: Rows, case: str, base: str, other: str, *, way: bool = False) -> int | None:
    """The smallest measured size from which on, at every measured size, ``other`` is faster than ``base``.

    Only sizes that both have count; None where there are none, or where ``base`` is as fast at the largest of them.

    Args:
        rows: of a run.
        case: its name.
        base: one device.
        other: another device.
        way: whether the inputs' way to ``other`` is part of its time.
    """
    seconds: dict[str, dict[int, float]] = {base: {}, other: {}}
    for row in rows:
        if row.get("case") == case and row["device"] in seconds:
            there = (row["transfer_seconds"] or 0.0) if way and row["device"] == other else 0.0
            seconds[row["device"]][row["size"]] = row["seconds"] + there
    found = None
    for size in sorted(seconds[base].keys() & seconds[other].keys(), reverse=True):
        if seconds[other][size] >= seconds[base][size]:
            break
        found = size
    return found
