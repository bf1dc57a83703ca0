"""Processes of ``torch.distributed`` that do one job together: what each of them does, and what they tell one another.

Every function takes a ``group``, a process group; None is this process alone, for which nothing is sent. Those that
send something have to be called by all processes of the group in the same order. Where one process raises, the others
would wait for it until the timeout of the group: :func:`together` tells them.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

Group: TypeAlias = Any  # torch.distributed.ProcessGroup, which some builds of torch lack, or None
Part = TypeVar("Part")

ARGUMENTS = {
    "group": """\
a process group of ``torch.distributed``, ``torch.distributed.group.WORLD`` for all processes, whose processes share the
blocks; every one has to call with the same input and arguments. None is this process alone. The result is the same bit
for bit for any number of processes. An error in one is raised in all.""",
}
_PATIENCE = timedelta(days=1)
_SENT_AT_ONCE = 2**24  # entries; as many from each process are in memory at a time


@contextmanager
def started_by_torchrun() -> Iterator[Group]:
    """The group of the processes that ``torchrun`` started, this one among them; None if it started none.

    Tensors go by gloo, and by NCCL where they are on a CUDA device. Processes wait for one another for a day, since
    blocks may take hours longer in one than in another; of one that ends gloo tells the others at once.
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        yield None
        return
    from torch.distributed.rendezvous import rendezvous

    store, rank, world = next(rendezvous("env://"))
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        # The store outlives a run that is started again, and with it addresses where nobody listens any more
        # (pytorch/pytorch#135712).
        store = torch.distributed.PrefixStore(f"run {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank)) % torch.cuda.device_count())
        backend = "cpu:gloo,cuda:nccl"
    torch.distributed.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=_PATIENCE)
    try:
        yield torch.distributed.group.WORLD
        told(None, torch.distributed.group.WORLD)  # who leaves first would take the connections of the others along
    finally:
        torch.distributed.destroy_process_group()


def check_group(group: Group) -> None:
    """Raise ``TypeError`` for what is no process group, ``ValueError`` for one that this process does not belong to."""
    if group is None:
        return
    if not torch.distributed.is_available() or not isinstance(group, torch.distributed.ProcessGroup):
        raise TypeError(
            f"group is {type(group).__name__}; expected a process group of torch.distributed, such as "
            "torch.distributed.group.WORLD after torch.distributed.init_process_group, or None for this process alone"
        )
    if torch.distributed.get_rank(group) < 0:
        raise ValueError("group does not have this process; call from its members only, or pass another group")


def rank_of(group: Group) -> int:
    """The number of this process in the group, from 0 on."""
    return 0 if group is None else torch.distributed.get_rank(group)


def world_of(group: Group) -> int:
    """How many processes the group has."""
    return 1 if group is None else torch.distributed.get_world_size(group)


def share_of(parts: Sequence[Part], group: Group) -> list[Part]:
    """The parts of a job that this process does: every so many-th one, so that like ones go to different processes."""
    return list(parts[rank_of(group) :: world_of(group)])


def told(value: Any, group: Group) -> list[Any]:
    """What every process says, a small thing that can be pickled, in the order of ranks.

    Raises:
        RuntimeError: another process ended, or did not come within the timeout of the group.
    """
    if group is None:
        return [value]
    found: list[Any] = [None] * world_of(group)
    with _reached(group):
        torch.distributed.all_gather_object(found, value, group=group)
    return found


@contextmanager
def together(group: Group) -> Iterator[None]:
    """Wait at the end of a block of code for all processes of the group; where it raised in one, raise in all.

    The block itself must not wait for other processes. Errors that end a process, Ctrl-C among them, are
    not told: the others notice that it is gone, by the end of its connections or by the timeout of the group.

    Raises:
        RuntimeError: the block raised in another process; the message says in which one, and what.
        TypeError, ValueError: as :func:`check_group`.
    """
    check_group(group)
    failed: Exception | None = None
    try:
        yield
    except Exception as error:
        if group is None:
            raise
        failed = error
    if group is None:
        return
    said = told(None if failed is None else f"{type(failed).__name__}: {failed}", group)
    if failed is not None:
        raise failed
    for rank, what in enumerate(said):
        if what is not None:
            raise RuntimeError(f"process {rank} of {len(said)} of the group raised {what}")


def refuse_different(facts: Mapping[str, Any], group: Group) -> None:
    """Raise ``ValueError`` in all processes unless all have the same facts; small ones, which are equal to themselves.

    Args:
        facts: what has to be the same, by name; of large things a digest.
        group: a process group, or None.
    """
    said = told(dict(facts), group)
    for rank, its in enumerate(said):
        names = [name for name in said[0] if its.get(name) != said[0][name]]
        if names:
            differ = ", ".join(f"{name} {its.get(name)!r} and not {said[0][name]!r}" for name in names)
            raise ValueError(
                f"process {rank} of {len(said)} of the group differs from process 0 in {', '.join(names)}: {differ}; "
                "all of them have to be called with the same input and arguments"
            )


def stacked(values: Tensor, group: Group) -> Tensor:
    """Tensors of all processes, one shape and dtype, as ``(processes, ...)`` on the device of ``values``."""
    if group is None:
        return values.detach()[None]
    sent = values.detach().to(_device(group)).contiguous()
    found = [torch.empty_like(sent) for _ in range(world_of(group))]
    with _reached(group):
        torch.distributed.all_gather(found, sent, group=group)
    return torch.stack(found).to(values.device)


def summed(values: Tensor, group: Group) -> Tensor:
    """The sum over processes of tensors of one shape and dtype, on the device of ``values``, without derivatives.

    Terms are added in the order of ranks, so that all processes have the same bits, and every run of as many processes.
    """
    if group is None:
        return values.detach()
    total = torch.empty_like(values.detach(), memory_format=torch.contiguous_format)
    parts = values.detach().reshape(-1).split(_SENT_AT_ONCE), total.view(-1).split(_SENT_AT_ONCE)
    for mine, place in zip(*parts, strict=True):
        terms = stacked(mine, group)
        place.copy_(terms[0])
        for term in terms[1:]:
            place.add_(term)
    return total


def joined(values: np.ndarray, group: Group) -> np.ndarray:
    """Arrays of all processes one after the other in the order of ranks; their lengths may differ, nothing else."""
    if group is None:
        return values
    lengths = told(len(values), group)
    padded = np.zeros((max(lengths), *values.shape[1:]), values.dtype)
    padded[: len(values)] = values
    found = stacked(torch.from_numpy(padded), group).numpy()
    return np.concatenate([part[:length] for part, length in zip(found, lengths, strict=True)])


def _device(group: Group) -> torch.device:
    """Where a group takes tensors: the CPU if it can, else the current CUDA device, as NCCL wants."""
    kinds = [part.partition(":")[0] for part in torch.distributed.get_backend_config(group).split(",")]
    return torch.device("cpu") if "cpu" in kinds else torch.device("cuda", torch.cuda.current_device())


@contextmanager
def _reached(group: Group) -> Iterator[None]:
    """Say what it means where a message does not arrive."""
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(
            f"process {rank_of(group)} of {world_of(group)} did not reach the others of its group: one has ended, or "
            f"took longer than the timeout of the group ({error})"
        ) from error
