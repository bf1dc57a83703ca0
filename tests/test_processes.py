"""What processes of a group tell one another, and that an error of one is an error of all."""

from datetime import timedelta

import numpy as np
import pytest
import torch

from tests.processes import run
from torchrank import processes

PARTS = [*range(7)]
TERMS = torch.tensor([[1e16, 0.1, 3.0], [1.0, 0.2, 5.0], [-1e16, 0.3, 7.0]], dtype=torch.float64)


def all_of(group):
    """What one process sees of everything."""
    rank = processes.rank_of(group)
    found = {
        "rank": rank,
        "share": processes.share_of(PARTS, group),
        "told": processes.told({"rank": rank}, group),
        "stacked": processes.stacked(TERMS[rank].T, group),
        "summed": processes.summed(TERMS[rank].reshape(1, 3), group),
        "joined": processes.joined(np.full((rank, 2), rank, np.int64), group),
        "nothing joined": processes.joined(np.empty(0), group),
    }
    with processes.together(group):
        found["together"] = True
    return found | {"raised": said(_raising, group), "different": said(_different, group)}


def said(call, group):
    """What the error of a call says, if there is one."""
    try:
        return call(group, processes.rank_of(group))
    except (RuntimeError, ValueError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def _raising(group, rank):
    with processes.together(group):
        if rank == 1:
            raise OSError("no space")


def _different(group, rank):
    processes.refuse_different({"block": 8, "input": f"of {rank // 2}"}, group)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_all_processes_know_the_same(tmp_path, world):
    found = run(world, all_of, tmp_path)
    expected = torch.zeros(1, 3, dtype=torch.float64)
    for term in TERMS[:world]:
        expected = expected + term
    for rank, its in enumerate(found):
        assert its["rank"] == rank
        assert its["share"] == PARTS[rank::world]
        assert its["told"] == [{"rank": other} for other in range(world)]
        assert torch.equal(its["stacked"], TERMS[:world])
        assert torch.equal(its["summed"], expected)
        assert its["joined"].tolist() == [[other, other] for other in range(world) for _ in range(other)]
        assert its["nothing joined"].shape == (0,)
        assert its["together"]
        told = "" if rank == 1 else f"RuntimeError: process 1 of {world} of the group raised "
        assert its["raised"] == (f"{told}OSError: no space" if world > 1 else None)
        assert its["different"] == found[0]["different"]
    difference = "process 2 of 3 of the group differs from process 0 in input: input 'of 1' and not 'of 0'; all of them"
    assert (difference in found[0]["different"]) if world == 3 else found[0]["different"] is None


def test_one_process_alone_sends_nothing():
    values = torch.arange(3.0, requires_grad=True)
    assert processes.share_of(PARTS, None) == PARTS
    assert processes.told(1, None) == [1]
    assert torch.equal(processes.summed(values, None), values)
    assert processes.stacked(values, None).shape == (1, 3)
    assert len(processes.joined(np.arange(4), None)) == 4
    processes.refuse_different({"k": 3}, None)
    with pytest.raises(TypeError, match="group is int; expected a process group of torch"), processes.together(3):
        pass
    with pytest.raises(OSError, match="full"), processes.together(None):
        raise OSError("full")


def test_long_sums_are_sent_in_pieces(tmp_path):
    found = run(2, sum_in_pieces, tmp_path)
    for total in found:
        assert torch.equal(total, torch.arange(30.0).reshape(5, 6).T * 3)


def sum_in_pieces(group):
    processes._SENT_AT_ONCE = 7
    return processes.summed(torch.arange(30.0).reshape(5, 6).T * (processes.rank_of(group) + 1), group)


def test_a_process_that_does_not_come_is_noticed(tmp_path):
    found, nothing = run(2, without_the_other, tmp_path)
    assert nothing is None
    assert "process 0 of 2 did not reach the others of its group: one has ended, or took longer" in str(found)


def without_the_other(group):
    impatient = torch.distributed.new_group(timeout=timedelta(seconds=1), backend="gloo")
    if processes.rank_of(impatient) == 0:
        with processes.together(impatient):
            pass
