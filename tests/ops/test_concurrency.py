"""Threads of the engine, threads and processes of the caller, and Ctrl-C."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import torchrank
from tests.strategies import random_scores
from torchrank.cpu.parallel import run_tiles, spans

FAST = ["signs", "inversions"]
HAS_FORK = "fork" in multiprocessing.get_all_start_methods()


def scores(kind, *shape):
    return random_scores(np.random.default_rng(5), kind, *shape)


@pytest.fixture
def threads():
    """Sets torch's number of threads for one test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("kind", ["total", "tied"])
@pytest.mark.parametrize("method", ["reference", *FAST])
def test_any_number_of_threads_gives_the_same_bits(method, kind, threads):
    X, Y = scores(kind, 70, 90), scores(kind, 41, 90)

    def results(number):
        threads(number)
        counts = torchrank.pair_counts(X, Y, method=method)
        return [
            torchrank.kendall_gram(X, method=method),
            torchrank.mallows_gram(X, Y, lam=1e-3, method=method),
            *counts,
        ]

    one = results(1)
    for number in (2, 5):
        assert all(map(np.array_equal, results(number), one))


@pytest.mark.parametrize("method", FAST)
def test_calls_from_eight_threads_at_once(method):
    inputs = [scores("tied", 30 + k, 50 + 7 * k) for k in range(8)]
    expected = [torchrank.kendall_gram(X, method=method) for X in inputs]

    def call(k):
        return all(np.array_equal(torchrank.kendall_gram(inputs[k], method=method), expected[k]) for _ in range(10))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(8)))


def _gram_to_queue(X, method, missing, queue):
    queue.put(torchrank.kendall_gram(X, method=method, missing=missing))


@pytest.mark.skipif(not HAS_FORK, reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("missing", ["raise", "pairwise"])
@pytest.mark.parametrize("method", FAST)
def test_a_forked_process_computes_after_its_parent_did(method, missing, threads):
    threads(2)
    X = scores("tied", 300, 30)  # results of this size are divided in parallel
    expected = torchrank.kendall_gram(X, method=method, missing=missing)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_gram_to_queue, args=(X, method, missing, queue), daemon=True)
    child.start()
    try:
        assert np.array_equal(queue.get(timeout=20), expected)
    finally:
        child.kill()


class Grams(Dataset):
    """Item k is a Gram matrix, computed where the item is asked for."""

    def __len__(self):
        return 4

    def __getitem__(self, k):
        return torchrank.kendall_gram(torch.from_numpy(scores("tied", 20, 30 + k)))


@pytest.mark.skipif(not HAS_FORK, reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_workers_of_a_data_loader_compute_grams():
    grams = Grams()
    expected = [grams[k] for k in range(4)]  # the engine has run in the parent
    loader = DataLoader(grams, batch_size=None, num_workers=2, multiprocessing_context="fork", timeout=60)
    assert all(map(torch.equal, loader, expected))


INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's children start with the signal ignored
import numpy as np, torchrank
torchrank.kendall_gram(np.random.default_rng(0).random((8, 50)), method={method!r})  # compiles
X = np.random.default_rng(0).random(({m}, {n}))
print("running", flush=True)
torchrank.kendall_gram(X, method={method!r}, workspace=2**24)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize(("method", "m", "n"), [("signs", 4000, 4000), ("inversions", 400, 100_000)])
def test_ctrl_c_stops_within_seconds(method, m, n):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(method=method, m=m, n=n)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(3)  # past the ranking of the rows, into the counting
        assert process.poll() is None, "the work was too short to be interrupted"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)  # machines may be busy; alone it is a fraction of one
    finally:
        process.kill()
    assert "KeyboardInterrupt" in errors
    assert process.returncode in (1, -signal.SIGINT)


@pytest.mark.parametrize("number", [1, 3])
def test_an_exception_in_a_tile_stops_the_others_and_is_raised(number, threads):
    threads(number)
    done = []

    def work(tile):
        if tile == 5:
            raise ZeroDivisionError("in tile 5")
        done.append(tile)
        time.sleep(0.001)

    with pytest.raises(ZeroDivisionError, match="in tile 5"):
        run_tiles(range(1000), work)
    assert len(done) < 100


@pytest.mark.parametrize("number", [1, 4])
def test_every_tile_runs_once_and_advances_once(number, threads):
    threads(number)
    done, advanced = [], []
    run_tiles(list(spans(100, 7)), done.append, lambda: advanced.append(1))
    assert sorted(done) == [(k, min(k + 7, 100)) for k in range(0, 100, 7)]
    assert len(advanced) == len(done)
