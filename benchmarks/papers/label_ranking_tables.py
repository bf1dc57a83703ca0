"""Tables 6, 7 and 8 of Grbovic et al. (2013): loss_LR of all methods on the 21 sets, and on sushi.

``TORCHRANK_DATA=folder python -m benchmarks.papers.label_ranking_tables [--reading inverted] [--missing 0 0.3 0.6]
[--sets ...] [--methods ...] [--repeats 1] [--quick]``. Cells that stand in the results already are not computed again,
so that the run can be stopped and resumed; ``--report`` only writes the tables. The paper's 5 times 10-fold
cross-validation is kept below 1,000 rows; up to 3,000 rows there is one of 10 folds, above one of 5.

``--sets sushi`` (K = 5, as in the paper) needs two files in ``TORCHRANK_DATA/sushi``: ``sushi_a.csv.gz``, a header and
then the ranks 1 to 10 that 5,000 people give to 10 kinds of sushi, and ``sushi3.udata``, their features, a line of
numbers each in the same order: who it is, which is left out, then sex, age and so on. Neither may be passed on: T.
Kamishima, who collected them, gives them out at https://www.kamishima.net/sushi/.
"""

import argparse
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from benchmarks.papers.conditional_data import data_folder
from benchmarks.papers.label_ranking_comparison import comparison, draw, losses_of
from benchmarks.papers.label_ranking_data import METHODS, READINGS, SETS, folds, load, n_repeats_of, published
from benchmarks.papers.label_ranking_methods import FITS, K, fit_rows, test_loss
from benchmarks.papers.label_ranking_results import Row, add_options, finished, machines, results_folder
from benchmarks.registry import Recorder

NAME = "label_ranking_tables"
SLOW = ("forest of positions", "forest of pairs")  # methods that were run on the smaller sets alone
OURS = "MM-PL"  # names of methods that are MM-PL begin so
COLUMNS = ("set", "reading", "missing", "method", "repeat")
Cells = dict[str, dict[str, list[Row]]]  # by method and set: a row for each repeat


def run(arguments: argparse.Namespace, results: Path) -> None:
    """Compute the cells that are wanted and not there."""
    folder, recorder = data_folder(), Recorder(NAME, results)
    done = finished(recorder.path, COLUMNS)
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
                        for fold in islice(folds(data, missing, repeat), arguments.folds):
                            start = time.perf_counter()
                            model = fit_rows(method, fold.train, 5 if name == "sushi" else K, fold.seed)
                            losses.append(test_loss(model, fold.test))
                            seconds += time.perf_counter() - start
                        row = dict(zip(COLUMNS, key, strict=True))
                        loss = float(np.mean(losses))
                        recorder.append(**row, loss=loss, folds=len(losses), seconds=seconds, losses=losses)
                        print(*key, f"{loss:.4f} {seconds:.1f} s", flush=True)


def _beside(ours: str, published: float | None, digits: int) -> str:
    """Our entry with the paper's in brackets, where it has one."""
    return ours if published is None or np.isnan(published) else f"{ours} ({published:.{digits}f})"


def table(rows: Sequence[Row], reading: str, missing: float) -> str:
    """One table as Markdown: ours, the paper's beside it, the paper's summary rows, and where baselines win."""
    cells: Cells = {}
    for row in rows:
        if (row["reading"], row["missing"]) == (reading, missing):
            cells.setdefault(row["method"], {}).setdefault(row["set"], []).append(row)
    methods = [method for method in FITS if method in cells]
    sets = [name for name in (*SETS, "sushi") if any(name in by_set for by_set in cells.values())]
    if not sets:
        return ""
    means = {
        method: {name: float(np.mean([row["loss"] for row in by_set])) for name, by_set in cells[method].items()}
        for method in methods
    }
    paper = published(missing)
    lines = [f"## {100 * missing:.0f} % missing labels, {reading} reading", ""]
    lines += ["| set | folds | " + " | ".join(methods) + " |", "| --- | --- |" + " --- |" * len(methods)]
    for name in sets:
        best = min(row[name] for row in means.values() if name in row)
        entries = [_folds([cells[method][name] for method in methods if name in cells[method]])]
        for method in methods:
            loss = means[method].get(name)
            ours = "not run" if loss is None else f"**{loss:.3f}**" if loss == best else f"{loss:.3f}"
            entries.append(_beside(ours, paper[name].get(method), 3))
        lines.append(f"| {name} | " + " | ".join(entries) + " |")
    seconds = {
        method: np.mean([row["seconds"] * 5 / row["folds"] for repeats in cells[method].values() for row in repeats])
        for method in methods
    }
    lines += _summary(means, sets, missing)
    lines.append("| seconds per 5-fold | | " + " | ".join(f"{seconds[method]:.1f}" for method in methods) + " |")
    lines += ["", *(line for method in methods if method.startswith(OURS) if (line := _lost(method, means, sets)))]
    return "\n".join(lines).rstrip() + "\n"


def _folds(cells: list[list[Row]]) -> str:
    """How often the methods went through how many folds: "5 x 10", or "1 to 5 x 10" if not all as often."""
    least, most = min(map(len, cells)), max(map(len, cells))
    return f"{least if least == most else f'{least} to {most}'} x {cells[0][0]['folds']}"


def _summary(means: dict[str, dict[str, float]], sets: list[str], missing: float) -> list[str]:
    """Averages, the paper's beside them, and average ranks, of methods that ran on all sets."""
    paper = published(missing)
    complete = [method for method in means if len(means[method]) == len(sets)]
    matrix = np.array([[means[method][name] for method in complete] for name in sets])
    averages = dict(zip(complete, matrix.mean(0), strict=True))
    ranks = dict(zip(complete, rankdata(matrix, axis=1).mean(0), strict=True))
    theirs = {method: float(np.mean([paper[name][method] for name in sets])) for method in METHODS}
    entries = [
        _beside(
            f"{averages[method]:.4f}" if method in averages else f"over {len(means[method])} sets only",
            theirs.get(method),
            4,
        )
        for method in means
    ]
    count = "" if set(sets) == set(SETS) else f" of {len(sets)} sets"
    places = [f"{ranks[method]:.2f}" if method in ranks else "" for method in means]
    return [f"| average{count} | | {' | '.join(entries)} |", f"| average rank{count} | | {' | '.join(places)} |"]


def _lost(method: str, means: dict[str, dict[str, float]], sets: list[str]) -> str:
    """The sets on which a baseline beats this method, each with the best of them."""
    others = {name: losses for name, losses in means.items() if not name.startswith(OURS)}
    lost = []
    for name in (name for name in sets if name in means[method]):
        loss = means[method][name]
        better = {other: losses[name] for other, losses in others.items() if losses.get(name, loss) < loss}
        if better:
            winner = min(better, key=better.__getitem__)
            lost.append(f"{name} ({winner}, {better[winner]:.3f} < {loss:.3f})")
    if not others:
        return ""
    where = f": {', '.join(lost)}" if lost else ""
    return f"* {method} is beaten by a baseline on {len(lost)} of {len(means[method])} sets{where}."


def _on_equal_terms(rows: Sequence[Row], reading: str, missing: float) -> str:
    whole = losses_of(rows, SETS, reading, missing)
    text = comparison(whole)
    title = f"## On equal terms: {100 * missing:.0f} % missing labels, {reading} reading"
    cells = {(row["method"], row["set"]) for row in rows if (row["reading"], row["missing"]) == (reading, missing)}
    some = [name for name in SETS if all((method, name) in cells for method in SLOW)]
    if text and 0 < len(some) < len(SETS):
        part = comparison(losses_of(rows, some, reading, missing))
        text += f"\nOn the {len(some)} sets on which {' and '.join(SLOW)} ran, too:\n\n{part}"
    return text and f"{title}\n\n{text}"


def report(folder: Path) -> str:
    """All tables that there are results for."""
    path = folder / f"{NAME}.jsonl"
    rows = list(finished(path, COLUMNS).values())
    cells = [(reading, missing) for reading in READINGS for missing in (0.0, 0.3, 0.6)]
    parts = [table(rows, reading, missing) for reading, missing in cells]
    parts += [_on_equal_terms(rows, reading, missing) for reading, missing in cells]
    true = losses_of(rows, SETS, "true", 0.0)
    if len(true.methods) > 1:
        draw(true, folder / f"{NAME}_ranks.png")
    title = (
        "# Tables 6 to 8 of Grbovic et al. (2013), loss_LR\n\nIn brackets the paper. K = 10, at most 100 prototypes; "
        "where K is chosen inside, it is 10, 30 or 100, and there are up to 300 prototypes. Folds are repeats x folds. "
        "Settings of MM-PL, and K, are chosen among the training rows of each fold: others than the defaults only if "
        "they are better on held-out rows by two standard errors. The defaults of MM-PL were chosen beforehand by "
        "cross-validation within 80 % of the rows of each set, at most 2,500, of which some are test rows here. Ranks "
        "among the methods that ran on all sets. MM-PL of ten members chooses among three settings of its own, which "
        "were found on training rows of the first fold of seven sets: vehicle, segment, heat, authorship, wisconsin, "
        "spo and dtt. In the inverted reading a vector of ranks is taken for a vector of labels, as published figures "
        f"seem to be; the true reading is the files'. Seconds come from a busy machine: {'; '.join(machines(path))}."
    )
    return "\n".join([title, "", *(part for part in parts if part)])


def main(argv: Sequence[str] | None = None) -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reading", nargs="+", choices=READINGS, default=list(READINGS))
    parser.add_argument("--missing", nargs="+", type=float, choices=(0.0, 0.3, 0.6), default=[0.0, 0.3, 0.6])
    parser.add_argument("--sets", nargs="+", choices=(*SETS, "sushi"), default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=list(FITS), default=list(FITS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--report", action="store_true", help="only write the tables from what is there")
    add_options(parser, "iris, complete rankings, two folds")
    arguments = parser.parse_args(argv)
    folder = results_folder(arguments)
    arguments.folds = None
    if arguments.quick:
        arguments.sets, arguments.missing, arguments.repeats, arguments.folds = ["iris"], [0.0], 1, 2
    if not arguments.report:
        run(arguments, folder)
    (folder / f"{NAME}.md").write_text(report(folder))


if __name__ == "__main__":
    main()
