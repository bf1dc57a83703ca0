"""Scratch memory of the CUDA engines, as a card would allocate it, stays within the workspace."""

from importlib.util import find_spec

import pytest
import torch

if find_spec("triton") is None:
    pytest.skip("triton is not installed", allow_module_level=True)

from kernels_triton import smoothed
from kernels_triton.pair_counts import launch
from tests.triton.card import CARD, Card

WORKSPACE = 2**20


def of_counts(method, x, y):
    strict, engine = method == "strict", "inversions" if method == "strict" else method
    return launch(x, y, strict=strict, method=engine, workspace=WORKSPACE)


def of_smoothed(backward, x, y):
    settings = {"window": 0.5, "noise": "uniform", "workspace": WORKSPACE}
    if not backward:
        return [smoothed.launch(x.float(), y.float(), **settings)]
    weights = torch.zeros(len(x), x.shape[1], y.shape[1], device=x.device)
    return smoothed.launch_backward(weights, x.float(), y.float(), **settings)


@pytest.mark.parametrize("shape", [(800, 1, 1, 100), (1_500, 1, 1, 2), (3, 300, 1, 70), (9, 75, 50, 40)])
@pytest.mark.parametrize(
    ("make", "engine"),
    [
        (of_counts, "signs"),
        (of_counts, "inversions"),
        (of_counts, "strict"),
        (of_smoothed, False),
        pytest.param(of_smoothed, True, marks=pytest.mark.slow),
    ],
    ids=["signs", "inversions", "strict pairs", "smoothed", "its gradient"],
)
def test_padding_counts_too(monkeypatch, make, engine, shape):
    b, m, m2, n = shape
    with Card(monkeypatch) as card:
        x, y = (torch.zeros(b, rows, n, dtype=torch.int32, device=CARD) for rows in (m, m2))
        results = make(engine, x, y)
    given = x.nbytes + y.nbytes
    if make is of_smoothed:
        given += given + 4 * b * m * m2 * engine  # the same as scores, and weights for the gradient
    assert 0 < card.most - given - sum(result.nbytes for result in results) <= WORKSPACE
