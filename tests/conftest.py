"""Processes that run the tests, and their threads; settings of property tests; the folder of real data."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Deadlines would measure the machine and the compiler. Failing examples are printed, so no database is kept.
settings.register_profile(
    "torchrank", deadline=None, max_examples=60, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("torchrank")


MOST_PROCESSES = 4  # each imports torch, and the longest tests bound what more of them would save


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What ``-n auto`` is: a process a core, up to four; this one alone for tests named one by one, and with ``-s``."""
    named = bool(config.args) and all("::" in argument for argument in config.args)
    return 0 if named or config.option.capture == "no" else min(cores(), MOST_PROCESSES)


def pytest_configure(config: pytest.Config) -> None:
    """Give each process its share of the cores, and a folder of its own for what numba compiles.

    Both are set before torch, NumPy or numba is imported, and what the environment says already stands. The folders:
    two processes that compile one function for different types at once can give numba's index of it a wrong entry.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores() // worker["workercount"])))
    os.environ.setdefault("NUMBA_CACHE_DIR", str(config.rootpath / ".pytest_cache" / "numba" / worker["workerid"]))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow tests first, so that no process is left alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture
def torch_repeats_warnings() -> Iterator[None]:
    """Warnings that torch gives once a process come every time, so that no earlier test can use them up."""
    import torch  # the tests under Triton's interpreter decide themselves what is imported first

    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.fixture(autouse=True)
def distributions_check_their_arguments() -> Iterator[None]:
    """As by default, whatever a test compiled: torch.compile turns these checks off for the whole process."""
    yield
    if "torch.distributions" in sys.modules:
        sys.modules["torch.distributions"].Distribution.set_default_validate_args(__debug__)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder named by TORCHRANK_DATA, for tests marked ``data``."""
    folder = os.environ.get("TORCHRANK_DATA")
    if not folder:
        pytest.skip("TORCHRANK_DATA does not name a folder of real data sets")
    if not Path(folder).is_dir():
        pytest.skip(f"TORCHRANK_DATA={folder} is not a folder")
    return Path(folder)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, real data that was announced has to be used: fail if every test marked ``data`` was skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") != "true" or not os.environ.get("TORCHRANK_DATA") or reporter is None:
        return
    outcomes = ("passed", "failed", "skipped")  # a process of xdist has reports, but no collected tests
    came = {
        outcome: [r for r in reporter.stats.get(outcome, []) if "data" in getattr(r, "keywords", ())]
        for outcome in outcomes
    }
    if came["skipped"] and not came["passed"] + came["failed"]:
        number = len(came["skipped"])
        reporter.write_line(f"CI names TORCHRANK_DATA, but all {number} tests of real data were skipped", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
