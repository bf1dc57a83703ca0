"""A part of the GPU check whose runs did not finish has not passed."""

import subprocess
import time

import pytest

sanitizer = pytest.importorskip("benchmarks.gpu.sanitizer", reason="needs a checkout")
from benchmarks.gpu.parts import Context  # noqa: E402


class Process:
    """A run with a given exit status; None is one that never ends."""

    def __init__(self, status):
        self.returncode, self._hangs = status, status is None

    def communicate(self, timeout=None):
        if self._hangs and timeout is not None:
            raise subprocess.TimeoutExpired("run", timeout)
        return "", None

    def kill(self):
        self.returncode = -9


@pytest.mark.parametrize(("status", "passed"), [(0, True), (99, False), (-9, False), (1, False), (None, False)])
def test_only_runs_that_end_well_pass(monkeypatch, status, passed):
    monkeypatch.setattr(sanitizer.subprocess, "Popen", lambda *_, **__: Process(status))
    verdict = sanitizer.sanitizer(Context("cpu", True, time.monotonic() + 1, {}))
    assert verdict.passed == passed
    assert ("did not finish" in verdict.line) == (status in (-9, 1, None))
