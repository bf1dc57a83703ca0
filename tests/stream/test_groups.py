"""Several processes of a group make the same as one, bit for bit, and all of them."""

import numpy as np
import pytest
import torch

import torchrank as tr
from tests.processes import run

RNG = np.random.default_rng(0)
COMMON = RNG.permutation(12)
RELATED = np.vstack([COMMON + RNG.normal(size=(20, 12)) * 2, RNG.normal(size=(21, 12))])
TIED = np.vstack([COMMON // 4 + (RNG.random((20, 12)) < 0.15), RNG.integers(0, 3, (21, 12))]).astype(float)
PARTIAL = np.where(RNG.random(TIED.shape) < 0.3, np.nan, RELATED)
OTHER = RNG.integers(0, 3, (17, 12)).astype(float)
SMALL = TIED[:2]  # fewer blocks than processes


def pickled(graph):
    return graph.indptr, graph.indices, graph.data


CALLS = {
    "neighbors of ties": lambda group: tuple(tr.kendall_neighbors(TIED, 5, block=6, group=group)),
    "most opposed": lambda group: tuple(tr.kendall_neighbors(TIED, 40, sign="negative", block=6, group=group)),
    "largest of either sign": lambda group: tuple(tr.kendall_neighbors(TIED, 3, sign="either", block=6, group=group)),
    "among others": lambda group: tuple(tr.kendall_neighbors(TIED, 4, OTHER, block=5, group=group)),
    "too little in common": lambda group: tuple(
        tr.kendall_neighbors(PARTIAL, 40, missing="pairwise", min_common=8, block=9, group=group)
    ),
    "bfloat16": lambda group: tuple(
        part.float().numpy() for part in tr.kendall_neighbors(torch.tensor(TIED).bfloat16(), 5, block=6, group=group)
    ),
    "interleaving": lambda group: tuple(
        tr.kendall_neighbors(PARTIAL, 40, missing="interleaving", block=9, group=group)
    ),
    "one block": lambda group: tuple(tr.kendall_neighbors(SMALL, 1, group=group)),
    "no rows": lambda group: tuple(tr.kendall_neighbors(TIED[:0], 1, group=group)),
    "threshold": lambda group: pickled(tr.kendall_graph(TIED, threshold=0.5, block=6, group=group)),
    "no edge": lambda group: pickled(tr.kendall_graph(SMALL, threshold=2.0, group=group)),
    "both": lambda group: pickled(tr.kendall_graph(RELATED, threshold=0.6, alpha=0.1, block=7, group=group)),
    "pairwise": lambda group: pickled(tr.kendall_graph(PARTIAL, alpha=0.3, missing="pairwise", block=7, group=group)),
}
for correction in ("fdr_bh", "fdr_by", "bonferroni", None):
    for X, name in ((RELATED, "related"), (TIED, "tied")):
        CALLS[f"{name} {correction}"] = lambda group, X=X, correction=correction: pickled(
            tr.kendall_graph(X, alpha=0.2, correction=correction, block=7, group=group)
        )
ALONE = {name: call(None) for name, call in CALLS.items()}


def all_calls(group):
    blocks = list(tr.kendall_blocks(TIED, block=6, group=group))
    return {name: call(group) for name, call in CALLS.items()} | {"blocks": [tuple(block) for block in blocks]}


@pytest.fixture(scope="module", params=[1, 2, 3])
def of_all(request, tmp_path_factory):
    """What each of as many processes found."""
    return run(request.param, all_calls, tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize("name", CALLS)
def test_all_processes_have_the_result_of_one(of_all, name):
    for found in of_all:
        for part, expected in zip(found[name], ALONE[name], strict=True):
            assert part.dtype == expected.dtype
            np.testing.assert_array_equal(part, expected)


def test_some_edges_were_found_and_not_all():
    edges = {name: len(found[2]) for name, found in ALONE.items() if len(found) == 3}
    assert edges.pop("no edge") == 0
    assert all(0 < number < 41 * 40 for number in edges.values()), edges


def test_each_block_comes_in_one_process(of_all):
    expected = {(rows.start, columns.start): values for rows, columns, values in tr.kendall_blocks(TIED, block=6)}
    numbers = [len(found["blocks"]) for found in of_all]
    assert sum(numbers) == len(expected)
    assert max(numbers) - min(numbers) <= 1
    found = {(rows.start, columns.start): values for its in of_all for rows, columns, values in its["blocks"]}
    assert found.keys() == expected.keys()
    for place, values in found.items():
        np.testing.assert_array_equal(values, expected[place])


def refused(group):
    """What each call says where the second process has other input, and where only its own is wrong."""
    rank = torch.distributed.get_rank(group)
    other = TIED[::-1].copy() if rank == 1 else TIED
    wrong = np.where(TIED > 1, np.nan, TIED) if rank == 1 else TIED
    calls = {
        "other input": lambda: tr.kendall_neighbors(other, 3, group=group),
        "other graph": lambda: tr.kendall_graph(other, alpha=0.1, group=group),
        "other blocks": lambda: tr.kendall_blocks(other, group=group),
        "other k": lambda: tr.kendall_neighbors(TIED, 3 + rank, group=group),
        "other alpha": lambda: tr.kendall_graph(TIED, alpha=0.1 + rank / 10, group=group),
        "unranked": lambda: tr.kendall_neighbors(wrong, 3, group=group),
        "unranked in a graph": lambda: tr.kendall_graph(wrong, threshold=0.1, group=group),
        "unranked in blocks": lambda: tr.kendall_blocks(wrong, group=group),
        "no matter": lambda: tr.kendall_neighbors(TIED, 3, group=group) and None,
    }
    return {name: said(call) for name, call in calls.items()}


def said(call):
    try:
        return call()
    except (ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.slow
def test_what_is_wrong_in_one_process_is_refused_in_all(tmp_path):
    first, second = run(2, refused, tmp_path)
    for name, what in {"input": "input", "graph": "input", "blocks": "input", "k": "k", "alpha": "alpha"}.items():
        told = first[f"other {name}"]
        assert told == second[f"other {name}"]
        assert told.startswith(f"ValueError: process 1 of 2 of the group differs from process 0 in {what}: {what} ")
    for name in ("unranked", "unranked in a graph", "unranked in blocks"):
        assert second[name].startswith("ValueError: X has NaN (an unranked item) at row")
        assert first[name] == f"RuntimeError: process 1 of 2 of the group raised {second[name]}"
    assert first["no matter"] is second["no matter"] is None


def test_a_group_is_a_process_group():
    for call in (tr.kendall_blocks, lambda X, **rest: tr.kendall_neighbors(X, 2, **rest)):
        with pytest.raises(TypeError, match="group is int; expected a process group of torch"):
            call(TIED, group=2)
