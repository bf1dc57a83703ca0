"""Tables 6, 7 and 8 of Grbovic et al. (2013): loss_LR of all methods on the 21 sets.

``TORCHRANK_DATA=folder python -m benchmarks.papers.label_ranking_tables [--reading inverted] [--missing 0 0.3 0.6]
[--sets ...] [--methods ...] [--repeats 1] [--quick]``. Cells that stand in the results already are not computed again,
so that the run can be stopped and resumed; ``--report`` only writes the tables. The paper's 5 times 10-fold
cross-validation is kept below 1,000 rows; up to 3,000 rows there is one of 10 folds, above one of 5.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.papers.conditional_data import data_folder
from benchmarks.papers.label_ranking_data import METHODS, READINGS, SETS, folds, load, n_repeats_of, published
from benchmarks.papers.label_ranking_methods import FITS, K, fit_rows, test_loss
from benchmarks.registry import RESULTS, Recorder

NAME = "label_ranking_tables"
Key = tuple[str, str, float, str, int]  # set, reading, missing, method, repeat


def finished(path: Path) -> dict[Key, dict[str, float]]:
    """Cells that the results hold."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["set"], r["reading"], r["missing"], r["method"], r["repeat"]): r for r in rows if "set" in r}


def run(arguments: argparse.Namespace) -> None:
    """Compute the cells that are wanted and not there."""
    folder, recorder = data_folder(), Recorder(NAME)
    done = finished(recorder.path)
    for reading in arguments.reading:
        for missing in arguments.missing:
            for name in arguments.sets:
                data = load(folder, name, reading)
                for repeat in range(min(arguments.repeats, n_repeats_of(len(data.X)))):
                    for method in arguments.methods:
                        key = (name, reading, missing, method, repeat)
                        if key in done:
                            continue
                        losses, seconds = [], 0.0
                        for fold in folds(data, missing, repeat):
                            start = time.perf_counter()
                            model = fit_rows(method, fold.train, 5 if name == "sushi" else K, fold.seed)
                            losses.append(test_loss(model, fold.test))
                            seconds += time.perf_counter() - start
                        row = dict(zip(("set", "reading", "missing", "method", "repeat"), key, strict=True))
                        loss = float(np.mean(losses))
                        recorder.append(**row, loss=loss, folds=len(losses), seconds=seconds, losses=losses)
                        print(*key, f"{loss:.4f} {seconds:.1f} s", flush=True)


def table(cells: dict[Key, dict[str, float]], reading: str, missing: float) -> str:
    """One table as Markdown: ours, the paper's beside it, and the summary rows of the paper."""
    paper = published(missing)
    means: dict[str, dict[str, float]] = {}
    seconds: dict[str, list[float]] = {}
    for (name, read, rate, method, _), row in cells.items():
        if (read, rate) == (reading, missing):
            means.setdefault(method, {}).setdefault(name, 0.0)
            repeats = [c["loss"] for k, c in cells.items() if k[:4] == (name, read, rate, method)]
            means[method][name] = float(np.mean(repeats))
            seconds.setdefault(method, []).append(row["seconds"] * 5 / row["folds"])
    most = max((len(row) for row in means.values()), default=0)
    methods = [method for method in FITS if len(means.get(method, ())) == most > 0]
    sets = [name for name in (*SETS, "sushi") if methods and all(name in means[method] for method in methods)]
    if not sets:
        return ""
    lines = [f"## {100 * missing:.0f} % missing labels, {reading} reading, {len(sets)} sets", ""]
    lines += ["| set | " + " | ".join(methods) + " |", "| --- |" + " --- |" * len(methods)]
    for name in sets:
        best = min(means[method][name] for method in methods)
        entries = []
        for method in methods:
            ours = f"{means[method][name]:.3f}"
            ours = f"**{ours}**" if means[method][name] == best else ours
            entries.append(f"{ours} ({paper[name][method]:.3f})" if method in METHODS else ours)
        lines.append(f"| {name} | " + " | ".join(entries) + " |")
    matrix = np.array([[means[method][name] for method in methods] for name in sets])
    theirs = {m: float(np.mean([paper[name][m] for name in sets])) for m in METHODS}
    averages = matrix.mean(0)
    lines.append(
        "| average | "
        + " | ".join(
            f"{a:.4f} ({theirs[m]:.4f})" if m in METHODS else f"{a:.4f}" for a, m in zip(averages, methods, strict=True)
        )
        + " |"
    )
    ranks = (
        (matrix[:, :, None] > matrix[:, None, :]).sum(2) + (matrix[:, :, None] == matrix[:, None, :]).sum(2) / 2 + 0.5
    )
    lines.append("| average rank | " + " | ".join(f"{rank:.2f}" for rank in ranks.mean(0)) + " |")
    lines.append("| seconds per 5-fold | " + " | ".join(f"{np.mean(seconds[m]):.1f}" for m in methods) + " |")
    return "\n".join(lines) + "\n"


def report() -> str:
    """All tables that there are results for."""
    cells = finished(RESULTS / f"{NAME}.jsonl")
    parts = [table(cells, reading, missing) for reading in READINGS for missing in (0.0, 0.3, 0.6)]
    title = (
        "# Tables 6 to 8 of Grbovic et al. (2013), loss_LR\n\nIn brackets the paper. K = 10, at most 100 prototypes; "
        "every setting chosen inside the training folds. Ranks among the methods shown. In the inverted reading a "
        "vector of ranks is taken for a vector of labels, as the published figures seem to be; the true reading is the "
        "files'."
    )
    return "\n".join([title, "", *(part for part in parts if part)])


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reading", nargs="+", choices=READINGS, default=list(READINGS))
    parser.add_argument("--missing", nargs="+", type=float, choices=(0.0, 0.3, 0.6), default=[0.0, 0.3, 0.6])
    parser.add_argument("--sets", nargs="+", choices=(*SETS, "sushi"), default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=list(FITS), default=list(FITS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="iris and wine, complete rankings, once")
    parser.add_argument("--report", action="store_true", help="only write the tables from what is there")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sets, arguments.missing, arguments.repeats = ["iris", "wine"], [0.0], 1
    if not arguments.report:
        run(arguments)
    (RESULTS / f"{NAME}.md").write_text(report())


if __name__ == "__main__":
    main()
