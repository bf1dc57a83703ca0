"""The tables of docs/performance.md, written from committed rows: ``python -m benchmarks.performance``.

A table stands between ``<!-- NAME RUN -->`` and ``<!-- end -->`` in the page; RUN is the time of a run in
``benchmarks/results/NAME.jsonl``, or of a ``gpu_check``. To show another run, write its time there, run this again, and
``python -m benchmarks.performance_pictures``, which draws the same runs.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.env import ROOT, kernels_digest
from benchmarks.registry import RESULTS

PAGE = ROOT / "docs" / "performance.md"
_BLOCK = re.compile(r"(<!-- (\w+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
Rows = list[dict[str, Any]]
TABLES: dict[str, Callable[[Rows], str]] = {}
_FILES = {
    "conditional_closed_form": "conditional_speed",
    "conditional_large": "conditional_speed",
    "label_ranking_sets": "label_ranking_speed",
}


def fill(text: str, write: Callable[[str, str], str] | None = None) -> str:
    """The page with every table written anew, by ``write`` of its name and run if it is not of this page."""
    make = write or _block
    return _BLOCK.sub(lambda block: block[1] + make(block[2], block[3]) + block[4], text)


def shown(text: str) -> dict[str, str]:
    """The run that the page shows of each table."""
    return {block[2]: block[3] for block in _BLOCK.finditer(text)}


def rows_of(name: str, run: str) -> Rows:
    """The environment of a run, and then its rows.

    Raises:
        ValueError: there is no such run.
    """
    if name.startswith("gpu"):
        report = json.loads((RESULTS / f"gpu_check-{run}.json").read_text())
        return [{"environment": report["environment"], "kernels": report.get("kernels")}, report["parts"]]
    path = RESULTS / f"{_FILES.get(name, name)}.jsonl"
    text = path.read_text().replace("centres", "centers")  # rows are never rewritten; older ones spell it so
    rows = [row for row in map(json.loads, text.splitlines()) if row["run"] == run]
    if not rows:
        raise ValueError(f"{path.name} has no run {run}")
    return rows


def _block(name: str, run: str) -> str:
    environment, *rows = rows_of(name, run)
    stale = _of_other_kernels(environment["kernels"]) if "kernels" in environment else ""
    return f"{TABLES[name](rows)}\n\n*{_machine(environment['environment'])}; {day(run)}.*\n{stale}"


def _of_other_kernels(digest: str | None) -> str:
    """What a table of a GPU check says where its kernels are not the present ones, or not known to be."""
    if digest == kernels_digest():
        return ""
    which = "did not record which kernels it measured" if digest is None else f"measured other kernels, {digest}"
    return f"\nThis run {which}; the present ones have not been measured.\n"


def _machine(environment: dict[str, Any]) -> str:
    versions, gpu = environment["versions"], environment["gpu"]
    packages = ["torch", "triton" if gpu else "numba"]
    chip = f"{gpu}, beside " if gpu else ""
    threads = f"{environment['threads']} thread{'s' if environment['threads'] > 1 else ''}"
    software = ", ".join(f"{package} {versions[package]}" for package in packages)
    return f"{chip}{environment['cpu']}, {threads} on {environment['processors']} processors; {software}"


def day(run: str) -> str:
    """That of a run, which is named by its moment."""
    number = run.replace("-", "")
    return f"{number[:4]}-{number[4:6]}-{number[6:8]}"


def duration(seconds: float) -> str:
    """Three digits and a unit that a reader can picture."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{digits(seconds / size)} {unit}"
    return f"{digits(seconds / 1e-9)} ns"


def digits(value: float) -> str:
    """Three digits, in groups of a thousand."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rate(per_second: float, places: int) -> str:
    """A number of operations a second in powers of ten."""
    return f"{per_second:.{places}g}".replace("e+", "e")


def percent(share: float) -> str:
    """A whole number of hundredths."""
    return f"{100 * share:.0f} %"


def table(head: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """A Markdown table; columns whose head begins with a space are set to the right."""
    head = list(head)
    rule = ["---:" if column.startswith(" ") else "---" for column in head]
    cells = [[column.strip() for column in head], rule, *([str(cell) for cell in line] for line in lines)]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _table(name: str) -> Callable[[Callable[[Rows], str]], Callable[[Rows], str]]:
    def register(function: Callable[[Rows], str]) -> Callable[[Rows], str]:
        TABLES[name] = function
        return function

    return register


@_table("kendall_gram")
def _kendall_gram(rows: Rows) -> str:
    peers = ("torchrank", "pandas", "scipy", "numpy", "torch")
    cases, limit = rows[:-1], rows[-1]
    lines = [
        (
            f"{row['n']:,}",
            f"{row['m']:,}",
            "continuous" if row["levels"] is None else f"integers 0..{row['levels'] - 1}",
            *(duration(1e-6 * row["us_per_pair"][peer]) if peer in row["us_per_pair"] else "" for peer in peers),
            f"{row['ratio_to_pandas']:.0f}",
        )
        for row in cases
    ]
    head = (" items", " rankings", "scores", *(f" {peer}" for peer in peers), " ratio")
    text = (
        f"At {limit['n']:,} items: {rate(limit['comparisons_per_second'], 2)} comparisons a second, ranking included, "
        f"{percent(limit['share_of_peak'])} of what XOR and popcount reached out of the first-level cache in that run."
    )
    return f"{table(head, lines)}\n\n{text}"


@_table("sparse")
def _sparse(rows: Rows) -> str:
    lines = [
        (
            f"{row['shape'][0]:,} x {row['shape'][1]:,}",
            "0.7 % rated, 1 to 5" if "share" in row else "continuous" if row["levels"] is None else "integers 0..4",
            row["what"],
            duration(row["seconds"]),
        )
        for row in rows
    ]
    return table(("rankings x items", "scores", "what", " time"), lines)


@_table("preferences")
def _preferences(rows: Rows) -> str:
    peers = ("torchrank", "torchrank, no covariance", "choix ilsr", "choix mm", "evalica")
    cases = {row["what"]: {} for row in rows if row["by"] in peers}
    for row in rows:
        if row["by"] in peers:
            cases[row["what"]][row["by"]] = row
    lines = [
        (what, *(duration(by[peer]["seconds"]) if peer in by else "" for peer in peers)) for what, by in cases.items()
    ]
    worst = {peer: max(by[peer]["error"] for by in cases.values() if peer in by) for peer in peers}
    errors = ("largest error of a logit", *(f"{worst[peer]:.0e}" for peer in peers))
    million = [f"{row['what']}, {row['by'].split(', ')[1]}: {duration(row['seconds'])}" for row in rows[-2:]]
    text = "; ".join(million) + "."
    return f"{table(('what', *(f' {peer}' for peer in peers)), [*lines, errors])}\n\n{text}"


@_table("cost")
def _cost(rows: Rows) -> str:
    lines = [
        (
            row["method"],
            f"{row['n']:,}",
            duration(1e-6 * row["us_per_pair"]),
            duration(1e-6 * row["predicted_us_per_pair"]),
            f"{row['us_per_pair'] / row['predicted_us_per_pair']:.2g}",
        )
        for row in rows
        if row["n"] in (256, 1024, 4096, 16_384, 65_536, 262_144)
    ]
    return table(("method", " items", " measured", " predicted", " ratio"), lines)


@_table("footprint")
def _footprint(rows: Rows) -> str:
    scale = {"s": 1.0, "ms": 1e-3}
    return table(("what", " time"), [(row["what"], duration(row["value"] * scale[row["unit"]])) for row in rows])


@_table("memory")
def _memory(rows: Rows) -> str:
    lines = [(row["what"].split(", ", 2)[2], f"{row['value']:.0f} {row['unit']}") for row in rows]
    return table(("method", " memory beyond input and output"), lines)


@_table("partial")
def _partial(rows: Rows) -> str:
    names = {
        "complete": "complete rankings",
        "interleaving": '20 % unranked, `missing="interleaving"`',
        "topk": '20 % unranked, `missing="topk"`',
        "pairwise": '20 % unranked, `missing="pairwise"`',
        "lists": "`partial_kendall_gram`, 2,000 lists of 50 out of 1,000,000",
    }
    return table(("what", " time"), [(names[row["what"]], duration(row["seconds"])) for row in rows])


@_table("smoothed")
def _smoothed(rows: Rows) -> str:
    large, lines = rows[0]["seconds"], []
    for row in rows[1:]:
        if row["n"] in (1000, 4000, 16_000) and row["m2"] in (1, None):
            pairs = row["m"] * (row["m"] + 1) // 2 if row["m2"] is None else row["m"] * row["m2"]
            exact, sweep = row["seconds"]["exact"], row["seconds"]["sweep"]
            lines.append((f"{row['n']:,}", pairs, duration(exact), duration(sweep), row["auto"]))
    text = (
        f"{rows[0]['m']} rankings of {rows[0]['n']:,} items in {rows[0]['dtype']}: {duration(large['exact'])}, with "
        f"gradient {duration(large['forward and backward'])}."
    )
    return f"{table((' items', ' pairs', ' exact', ' sweep', 'auto takes'), lines)}\n\n{text}"


@_table("clustering_speed")
def _clustering(rows: Rows) -> str:
    lines = [(row["name"], row["starts"], duration(row["seconds"]), *_spread(row["all_seconds"])) for row in rows]
    return table(("what", " starts", " median", " least", " most"), lines)


def _spread(seconds: list[float]) -> tuple[str, str]:
    return duration(min(seconds)), duration(max(seconds))


@_table("aggregation")
def _aggregation(rows: Rows) -> str:
    return table(("what", " time"), [(row["what"], duration(row["seconds"])) for row in rows])


@_table("conditional_closed_form")
def _closed_form(rows: Rows) -> str:
    lines = [
        (row["name"], duration(row["seconds"]), f"{row['times_closed_form']:.2g}")
        for row in rows
        if "times_closed_form" in row
    ]
    return table(("1,000 nodes, all edges", " time", " / closed form"), lines)


@_table("conditional_large")
def _large(rows: Rows) -> str:
    row = rows[0]
    lines = [(row["name"], f"{row['nodes']:,}", duration(row["seconds"]), f"{row['peak_gigabytes']:.1f} GB")]
    return table(("once", " nodes", " time", " peak memory of the process"), lines)


@_table("conditional_speed")
def _edges(rows: Rows) -> str:
    lines = [(f"{row['edges']:,}", row["loss"], duration(row["seconds"])) for row in rows]
    return table((" edges between 2,000 and 2,000 nodes", "loss", " 100 iterations"), lines)


@_table("top_scoring_pairs")
def _top_scoring_pairs(rows: Rows) -> str:
    lines = [
        (row["what"], f"{row['genes']:,}", row["samples"], duration(row["seconds"]), f"{row['peak_mib']:.0f} MiB")
        for row in rows
    ]
    return table(("what", " genes", " samples", " time", " peak memory of the process"), lines)


@_table("label_ranking_speed")
def _label_ranking(rows: Rows) -> str:
    lines = [(row["name"], f"{row['rows']:,}", duration(row["seconds"]), _published(row)) for row in rows]
    return table(("five-fold cross-validation", " rows", " time", " published, s"), lines)


@_table("label_ranking_sets")
def _label_ranking_sets(rows: Rows) -> str:
    lines = [
        (row["name"], percent(row["missing"]), duration(row["seconds"]), duration(row["most"]), _published(row))
        for row in rows
        if "most" in row
    ]
    return table(("five-fold cross-validation", " labels missing", " time", " the slowest set", " published, s"), lines)


def _published(row: dict[str, Any]) -> str:
    return "" if row["published"] is None else f"{row['published']:,.0f}"


@_table("gpu")
def _gpu(rows: Rows) -> str:
    targets, rates = rows[0]["targets"]["rows"], rows[0]["rates"]["rows"][0]
    lines = [
        (f"{row['n']:,}", f"{row['m']:,}", "signs" if row["n"] < 10_000 else "inversions", duration(row["seconds"]))
        for row in targets
    ]
    first, equality = targets[0], rows[0]["equality"]["rows"]
    text = (
        f"{sum(row['equal'] for row in equality)} of {len(equality)} comparisons of counts equal the CPU engine's. The "
        f"first row is {percent(first['share'])} of the fp16 rate of a matrix product there ({rate(rates['fp16'], 3)} "
        f"multiply-adds a second) and {first['cpu_seconds'] / first['seconds']:.0f} times two of its CPU cores."
    )
    return f"{table((' items', ' rankings', 'method', ' time'), lines)}\n\n{text}"


@_table("gpu_smoothed")
def _gpu_smoothed(rows: Rows) -> str:
    lines = [
        (f"{row['n']:,}", f"{row['m']:,}", *(duration(row[f"{engine} {pass_}"]) for engine, pass_ in _PASSES))
        for row in rows[0]["smoothed times"]["rows"]
    ]
    conditional = rows[0]["conditional ranking p=5000 on the GPU"]["rows"][0]
    head = (" items", " rankings", " Gram matrix", " gradient", " plain torch", " its gradient")
    text = (
        f"Kronecker RankRLS on a complete graph of {conditional['nodes']:,} nodes: {duration(conditional['seconds'])}, "
        f"decomposition included, {conditional['peak_gigabytes']:.1f} GB."
    )
    return f"{table(head, lines)}\n\n{text}"


_PASSES = [(engine, pass_) for engine in ("exact", "reference") for pass_ in ("forward", "backward")]


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
