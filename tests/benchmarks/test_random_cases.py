"""The check of random cases: it passes, its oracle and its cases are what they are said to be, and it finds errors."""

import json

import numpy as np
import pytest

from benchmarks import random_cases
from tests.oracles.pair_counts import pair_classes
from torchrank.cpu import pair_counts as engines
from torchrank.ops import pair_counts as op


@pytest.mark.slow
def test_every_engine_agrees_on_some_hundred_cases(tmp_path):
    assert random_cases.main(["--cases", "300", "--out", str(tmp_path)]) == 0
    environment, *rows = map(json.loads, (tmp_path / "random_cases.jsonl").read_text().splitlines())
    assert "versions" in environment["environment"]
    assert [row["method"] for row in rows] == ["signs", "inversions", "reference"]
    assert all(row["cases"] >= 300 and row["mismatches"] == 0 for row in rows)


def test_the_oracle_equals_the_brute_force(monkeypatch):
    monkeypatch.setattr(random_cases, "_BLOCK", 7)
    x = np.array([[[3, 1, 2, 2, np.nan, -0.0], [1, 2, 3, 4, 5, 6]], [[np.inf, 0, 0, -np.inf, 1, 1], [np.nan] * 6]])
    y = np.array([[[0, 1, 1, np.nan, 2, 0.0]]])
    counts = random_cases.oracle(x, y)
    assert counts.shape == (5, 2, 2, 1)
    assert counts.dtype == np.int64
    for b, r in np.ndindex(2, 2):
        assert tuple(counts[:, b, r, 0]) == pair_classes(x[b, r].tolist(), y[0, 0].tolist())


def test_the_cases_are_of_many_kinds():
    batches = [random_cases.draw([0, 0, call]) for call in range(300)]
    assert {str(batch.X.dtype).removeprefix("torch.") for batch in batches} == set(random_cases.DTYPES)
    assert {type(batch.X).__name__ for batch in batches} == {"Tensor", "ndarray"}
    assert {batch.threads for batch in batches} == {1, 2}
    assert {batch.settings["missing"] for batch in batches} == {"raise", "pairwise"}
    assert any(batch.Y is None for batch in batches)
    assert any(batch.y.shape[0] < batch.x.shape[0] for batch in batches)
    assert min(batch.settings["workspace"] for batch in batches) < 1200
    assert max(batch.x.shape[2] for batch in batches) > 1000
    floats = [batch.x for batch in batches if batch.x.dtype.kind == "f"]
    for special in (np.isnan, np.isinf, lambda x: (x == 0) & np.signbit(x)):
        assert any(special(x).any() for x in floats)
    constant = [(x == x[..., :1]).all(-1) for x in floats]
    assert any(rows.any() for rows in constant)
    assert any(not batch.X.flags.c_contiguous for batch in batches if isinstance(batch.X, np.ndarray))


@pytest.mark.parametrize("method", random_cases.METHODS)
def test_a_count_off_by_one_is_found(method, monkeypatch, tmp_path, capsys):
    if method == "reference":
        right = op.reference_engine

        def wrong(*arguments):
            score, both = right(*arguments)
            score[-1, -1, -1] += 1
            return score, both

        monkeypatch.setattr(op, "reference_engine", wrong)
    else:
        count = engines._ENGINES[method]

        def off_by_one(job):
            count(job)
            job.score[-1, -1, -1] += 1

        monkeypatch.setitem(engines._ENGINES, method, off_by_one)
    assert random_cases.main(["--cases", "300", "--method", method, "--out", str(tmp_path)]) == 1
    row = json.loads((tmp_path / "random_cases.jsonl").read_text().splitlines()[-1])
    assert row["mismatches"] > 0
    printed = capsys.readouterr().out
    assert "WRONG" in printed
    assert f"seed [0, {random_cases.METHODS.index(method)}, 0]" in printed
    assert "x (" in printed
    assert "y (" in printed


@pytest.mark.parametrize("name", ["kendall_gram", "kendall_distance"])
def test_a_wrong_kernel_or_distance_is_found(name, monkeypatch, tmp_path, capsys):
    right = getattr(random_cases, name)

    def wrong(*arguments, **settings):
        result = right(*arguments, **settings)
        result[-1, -1, -1] += 0.125
        return result

    monkeypatch.setattr(random_cases, name, wrong)
    assert random_cases.main(["--cases", "10000", "--method", "signs", "--out", str(tmp_path)]) == 1
    assert f"WRONG {name.removeprefix('kendall_').replace('gram', 'kernel')}" in capsys.readouterr().out
