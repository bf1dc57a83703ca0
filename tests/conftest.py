"""Settings of property tests, and the folder of real data."""

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
    announced = os.environ.get("CI") == "true" and os.environ.get("TORCHRANK_DATA")
    collected = [item.nodeid for item in session.items if item.get_closest_marker("data")]
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not announced or not collected or reporter is None:
        return
    ran = {report.nodeid for outcome in ("passed", "failed") for report in reporter.stats.get(outcome, [])}
    if ran.isdisjoint(collected):
        reporter.write_line(
            f"CI names TORCHRANK_DATA, but all {len(collected)} tests of real data were skipped", red=True
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
