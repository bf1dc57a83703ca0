"""Run a function in several processes of one group, and see what each of them gives or raises."""

import multiprocessing
import pickle
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import torch

TIMEOUT = timedelta(seconds=60)  # for those that wait for one that never comes
# By a server that has these loaded, where the system forks: a process that imports them itself takes seconds to start.
START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
LOADED = ["torch._dynamo", "torch.nn.parallel", "numba", "scipy.sparse", "pytest", "torchrank"]


def run(world, function, folder, *arguments):
    """What ``function(group, *arguments)`` gives in each process, or the error that it raises."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    multiprocessing.set_forkserver_preload(LOADED)
    arguments = (world, function, folder, arguments)
    context = torch.multiprocessing.start_processes(_process, arguments, world, join=False, start_method=START)
    while not context.join():
        pass
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(world)]


def _process(rank, world, function, folder, arguments):
    torch.set_num_threads(1)
    store = torch.distributed.FileStore(str(folder / "store"), world)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=TIMEOUT)
    try:
        found = function(torch.distributed.group.WORLD, *arguments)
    except Exception as error:
        found = type(error)(str(error))
    (folder / f"{rank}.pickle").write_bytes(pickle.dumps(found))
    with suppress(RuntimeError):  # the first one to go would take the connections of the others along
        torch.distributed.barrier()
    torch.distributed.destroy_process_group()
