"""The scripts of the label-ranking tables and figures: short runs, their resuming, and what the tables say."""

import gzip
import json

import numpy as np
import pytest

from benchmarks.papers import label_ranking_curves as curves
from benchmarks.papers import label_ranking_synthetic as synthetic
from benchmarks.papers import label_ranking_tables as tables
from benchmarks.papers.label_ranking_data import load
from benchmarks.papers.label_ranking_results import finished
from benchmarks.registry import RESULTS

METHODS = ["1-Rank", "Km-PL", "EBMS-RT", "RT-prune", "RT-iter", "MM-PL defaults"]


@pytest.mark.slow
@pytest.mark.data
def test_tables_resume_and_report(tmp_path, data_folder, capsys):
    options = ["--quick", "--results", str(tmp_path), "--reading", "inverted", "--methods", *METHODS]
    tables.main(options)
    first = capsys.readouterr().out
    assert len(first.splitlines()) == len(METHODS)
    text = (tmp_path / "label_ranking_tables.md").read_text()
    assert "| iris | 1 x 2 |" in text
    assert "of 1 sets" in text
    tables.main(options)
    assert capsys.readouterr().out == ""
    assert (tmp_path / "label_ranking_tables.md").read_text() == text


@pytest.mark.slow
@pytest.mark.data
def test_curves_resume(tmp_path, monkeypatch, data_folder, capsys):
    monkeypatch.setattr(curves, "METHODS", ("Km-Mal", "RT-iter", "MM-PL defaults"))
    options = ["--quick", "--results", str(tmp_path)]
    curves.main(options)
    assert len(capsys.readouterr().out.splitlines()) == 12
    curves.main(options)
    assert capsys.readouterr().out == ""
    points = finished(tmp_path / "label_ranking_curves.jsonl", curves.COLUMNS).values()
    losses = {m: np.mean([point["loss"] for point in points if point["method"] == m]) for m in curves.METHODS}
    assert max(losses["MM-PL defaults"], losses["RT-iter"]) < losses["Km-Mal"] < 0.5
    assert all(0 < point["delta_rank"] < 1 for point in points)


@pytest.mark.slow
def test_synthetic_data_resume(tmp_path, capsys):
    options = ["--quick", "--results", str(tmp_path)]
    synthetic.main(options)
    text = (tmp_path / "label_ranking_synthetic.md").read_text()
    assert f"{synthetic.MM_PL} 1 / 3.0 / " in capsys.readouterr().out
    rows = len((tmp_path / "label_ranking_synthetic.jsonl").read_text().splitlines())
    synthetic.main(options)
    assert (tmp_path / "label_ranking_synthetic.md").read_text() == text
    assert len((tmp_path / "label_ranking_synthetic.jsonl").read_text().splitlines()) == rows + 1  # the machine


def test_quick_runs_keep_away_from_the_results():
    parser = tables.argparse.ArgumentParser()
    tables.add_options(parser, "")
    assert tables.results_folder(parser.parse_args([])) == RESULTS
    temporary = tables.results_folder(parser.parse_args(["--quick"]))
    assert temporary.is_dir()
    assert RESULTS not in (temporary, *temporary.parents)
    temporary.rmdir()


def cell(name, method, loss, repeat=0, folds=10, missing=0.0, reading="true"):
    return {
        "set": name,
        "reading": reading,
        "missing": missing,
        "method": method,
        "repeat": repeat,
        "loss": loss,
        "folds": folds,
        "seconds": 4.0,
    }


def lines_of(text):
    return [[entry.strip() for entry in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]


def test_table_of_invented_losses():
    rows = [
        cell("iris", "1-Rank", 0.4),
        cell("iris", "1-Rank", 0.5, repeat=1),
        cell("iris", "RT-iter", 0.1),
        cell("iris", "MM-PL", 0.2),
        cell("fried", "1-Rank", 0.4, folds=5),
        cell("fried", "RT-iter", 0.3, folds=5),
        cell("fried", "MM-PL", 0.1, folds=5),
        cell("fried", "MM-PL", 0.9, folds=5, missing=0.3),
        cell("fried", "MM-PL", 0.9, folds=5, reading="inverted"),
    ]
    text = tables.table(rows, "true", 0.0)
    head, _, fried, iris, average, rank, seconds = lines_of(text)
    assert head == ["set", "folds", "1-Rank", "RT-iter", "MM-PL"]
    assert fried == ["fried", "1 x 5", "0.400 (0.493)", "0.300 (0.238)", "**0.100** (0.226)"]
    assert iris == ["iris", "1 to 2 x 10", "0.450 (0.451)", "**0.100** (0.056)", "0.200 (0.061)"]
    assert average == ["average of 2 sets", "", "0.4250 (0.4720)", "0.2000 (0.1470)", "0.1500 (0.1435)"]
    assert rank == ["average rank of 2 sets", "", "3.00", "1.50", "1.50"]
    assert seconds == ["seconds per 5-fold", "", "2.7", "3.0", "3.0"]
    assert text.splitlines()[-1] == "* MM-PL is beaten by a baseline on 1 of 2 sets: iris (RT-iter, 0.100 < 0.200)."


def test_table_of_methods_that_did_not_run_everywhere():
    rows = [cell("iris", "Km-Mal", 0.4), cell("wine", "Km-Mal", 0.4), cell("wine", "MM-PL defaults", 0.3)]
    text = tables.table(rows, "true", 0.0)
    assert "not run" in text
    assert "over 1 sets only" in text
    assert text.splitlines()[-1] == "* MM-PL defaults is beaten by a baseline on 0 of 1 sets."
    assert tables.table(rows, "true", 0.6) == ""


def test_report_names_machines(tmp_path):
    environment = {"cpu": "Z80", "processors": 1, "versions": {"torch": "2.6", "numba": "0.60"}}
    rows = [{"environment": environment}, cell("iris", "MM-PL", 0.1), {"environment": environment}]
    (tmp_path / "label_ranking_tables.jsonl").write_text("\n".join(map(json.dumps, rows)))
    text = tables.report(tmp_path)
    assert text.count("Z80, 1 processors, torch 2.6, numba 0.60") == 1
    assert "true reading" in text


def test_sushi_is_read_from_the_files_of_its_collector(tmp_path):
    folder = tmp_path / "sushi"
    folder.mkdir()
    rng = np.random.default_rng(0)
    ranks = rng.permuted(np.tile(np.arange(1, 11), (20, 1)), axis=1)
    with gzip.open(folder / "sushi_a.csv.gz", "wt") as file:
        np.savetxt(file, ranks, fmt="%d", delimiter=",", header=",".join(f"rank_{i}" for i in range(10)), comments="")
    with pytest.raises(SystemExit, match=r"sushi needs .*sushi3\.udata"):
        load(tmp_path, "sushi", "true")
    people = rng.integers(0, 5, (20, 11))
    people[:, 0] = np.arange(20)
    np.savetxt(folder / "sushi3.udata", people, fmt="%d", delimiter="\t")
    true, inverted = load(tmp_path, "sushi", "true"), load(tmp_path, "sushi", "inverted")
    assert np.array_equal(true.X, people[:, 1:])
    assert np.array_equal(true.Y.argsort(axis=1)[:, ::-1], ranks.argsort(axis=1))
    assert np.array_equal(inverted.Y.argsort(axis=1)[:, ::-1] + 1, ranks)
