"""Table and picture of the CPU beside a card in docs/gpu.md: ``python -m benchmarks.devices.page``.

The table stands between ``<!-- devices RUN -->`` and ``<!-- end -->``; RUN is the time of a run in
``benchmarks/results/devices.jsonl``. To show another run, write its time there and run this again.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.devices.faster import cases_of, devices_of, faster_from, largest
from benchmarks.env import ROOT
from benchmarks.performance import Rows, day, duration, fill, rows_of, shown, table
from benchmarks.pictures import pyplot_for_files

PAGE = ROOT / "docs" / "gpu.md"
PICTURE = ROOT / "docs" / "pictures" / "devices.png"
_NOT_YET = (
    "**No card has been measured with this command yet**: the CUDA column and the sizes from which a card is faster "
    "are missing. What `gpu_check` measured on a card is in [performance](performance.md#gpu)."
)
_NAMES = {"cpu": "CPU", "cuda": "CUDA"}


def block(name: str, run: str) -> str:
    """What stands between the marks: the table, the small call, and the machine.

    Raises:
        ValueError: another name, a run that does not exist, or one at tiny size.
    """
    if name != "devices":
        raise ValueError(f"{PAGE.name} has a table {name}; expected devices")
    environment, *rows = rows_of(name, run)
    return written(environment["environment"], rows, run)


def written(environment: dict[str, Any], rows: Rows, run: str) -> str:
    """The same, from rows.

    Raises:
        ValueError: a run at tiny size.
    """
    if rows[0]["quick"]:
        raise ValueError(f"run {run} is a rehearsal at tiny size")
    note = "" if len(devices_of(rows)) > 1 else f"\n\n{_NOT_YET}"
    load = rows[0]["load"]
    busy = "" if load is None else f"; load {load:.1f} before the run"
    return f"{summary(rows)}{note}\n\n*{machine(environment)}{busy}; {day(run)}.*\n"


def machine(environment: dict[str, Any]) -> str:
    """Chips, threads and versions of both columns."""
    versions, gpu, threads = environment["versions"], environment["gpu"], environment["threads"]
    packages = ["torch", "numba", *(["triton"] if gpu else [])]
    software = ", ".join(f"{package} {versions[package]}" for package in packages)
    chips = f"{environment['cpu']}, {threads} thread{'s' * (threads > 1)} on {environment['processors']} processors"
    return f"{f'CUDA: {gpu}; CPU: ' if gpu else ''}{chips}; {software}"


def summary(rows: Rows) -> str:
    """The table in Markdown, a line a case, and a sentence about the small call and one about first calls."""
    devices = devices_of(rows)
    others = devices[1:]
    head = ["call", " size", "of"]
    for device in devices:
        name = _name(device)
        head += [f" {name}", f" {name}, first call", f" {name}, memory"]
        head += [f" way to {name}"] if device in others else []
    for device in others:
        head += [f" {_name(device)} faster from", " way included"]
    lines = [[*_line(rows, case), *_from(rows, case, devices[0], others)] for case in cases_of(rows)]
    return "\n\n".join([table(head, lines), _small(rows), _first(rows[0]), *_without(rows)])


def _line(rows: Rows, case: str) -> list[str]:
    size = largest(rows, case)
    own = {row["device"]: row for row in rows if row.get("case") == case and row["size"] == size}
    cells = [f"`{case}`" if case.isidentifier() else case, f"{size:,}", next(iter(own.values()))["axis"]]
    first = {row["device"]: row["first_seconds"] for row in reversed(rows) if row.get("case") == case}
    for device in devices_of(rows):
        row = own[device]
        cells += [duration(row["seconds"]), duration(first[device]), _mebibytes(row["peak_bytes"])]
        cells += [] if row is next(iter(own.values())) else [_way(row["transfer_seconds"])]
    return cells


def _from(rows: Rows, case: str, base: str, others: Sequence[str]) -> list[str]:
    return [
        _size(faster_from(rows, case, base, other, way=way), rows, case) for other in others for way in (False, True)
    ]


def _size(size: int | None, rows: Rows, case: str) -> str:
    if size is None:
        return f"not up to {largest(rows, case):,}"
    smallest = min(row["size"] for row in rows if row.get("case") == case)
    return f"{size:,} or fewer" if size == smallest else f"{size:,}"


def _small(rows: Rows) -> str:
    small = [row for row in rows if "small" in row]
    m, n = small[0]["small"]
    times = "; ".join(
        f"{_name(row['device'])} {duration(row['seconds'])}, in plain torch {duration(row['torch_seconds'])}"
        for row in small
    )
    return f"What a call costs by itself, `kendall_gram` of {m} rankings of {n} items: {times}."


def _first(head: dict[str, Any]) -> str:
    kept = [name for name, found in head["compiled_before"].items() if found]
    if kept:
        compiled = f"earlier processes had left compiled code ({', '.join(kept)}), which is loaded"
    else:
        compiled = "no process before had left compiled code, so a case compiles what those above it did not need"
    return f"First calls are those of the smallest size, in one process in the order of the table; {compiled}."


def _without(rows: Rows) -> list[str]:
    """What the table lacks, and why."""
    late = [row["left_out"] for row in rows if "left_out" in row]
    failed = [f"{row['failed']} ({row['error']})" for row in rows if "failed" in row]
    return [
        f"{why}: {'; '.join(names)}."
        for why, names in (("Left out for lack of time", late), ("Failed", failed))
        if names
    ]


def _name(device: str) -> str:
    return _NAMES.get(device, device)


def _way(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _mebibytes(size: int | None) -> str:
    return "" if size is None else f"{size / 2**20:,.1f} MiB"


def draw(rows: Rows, path: Path) -> None:
    """Seconds over size, a panel a case and a line a device."""
    pyplot = pyplot_for_files()
    pyplot.rcParams.update({"axes.grid": True, "grid.alpha": 0.3, "legend.frameon": False, "lines.markersize": 4})
    cases, columns = cases_of(rows), 4
    lines = -(-len(cases) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(12, 2.4 * lines), layout="constrained", squeeze=False)
    for axis, case in zip(axes.flat, cases, strict=False):
        own = [row for row in rows if row.get("case") == case]
        for device in devices_of(rows):
            points = sorted((row["size"], row["seconds"]) for row in own if row["device"] == device)
            axis.loglog([size for size, _ in points], [seconds for _, seconds in points], label=_name(device))
        sizes = sorted({row["size"] for row in own})
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axis.minorticks_off()
        powers = [math.log10(row["seconds"]) for row in own]
        axis.set_ylim(10 ** math.floor(min(powers)), 10 ** math.ceil(max(powers)))
        axis.set_xlabel(own[0]["axis"], fontsize="small")
        axis.set_title(case, fontsize="medium")
    for axis in axes.flat[len(cases) :]:
        axis.remove()
    axes[0, 0].legend(fontsize="small")
    figure.supylabel("seconds a warm call", fontsize="medium")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    pyplot.close(figure)


def main() -> None:
    """Write the table of the run that the page shows, and draw its picture."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(fill(text, block), encoding="utf-8")
    draw(rows_of("devices", shown(text)["devices"])[1:], PICTURE)


if __name__ == "__main__":
    main()
