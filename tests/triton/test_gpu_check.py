import json

import pytest

from benchmarks import gpu_check
from benchmarks.env import kernels_digest


@pytest.mark.slow
def test_the_gpu_check_goes_to_its_end_in_rehearsal(tmp_path):
    assert gpu_check.main(["--dry-run", "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*.json")
    report = json.loads(path.read_text())
    assert list(report["parts"]) == [
        "rates",
        "equality",
        "public",
        "waits",
        "graphs",
        "smoothed errors",
        "smoothed times",
        "losses",
        "learners",
        "targets",
        "crossover",
        "grid",
        "planes",
        "tiles",
        "conditional ranking p=5000 on the GPU",
        "sanitizer",
    ]
    assert all(part["passed"] and part["line"] for part in report["parts"].values())
    assert len(report["parts"]["equality"]["rows"]) > 40
    assert report["kernels"] == kernels_digest()


def test_a_part_that_fails_or_raises_fails_the_check_and_spares_the_others(tmp_path, monkeypatch):
    from benchmarks.gpu.parts import Part, Verdict

    def broken(context):
        context.record(seen=1)
        raise RuntimeError("no such card")

    parts = [
        Part("broken", 1.0, broken),
        Part("wrong", 1.0, lambda _: Verdict(False, "unequal")),
        Part("fine", 1.0, lambda _: Verdict(True, "equal")),
    ]
    monkeypatch.setattr(gpu_check, "PARTS", parts)
    assert not gpu_check.check(tmp_path, dry=True)
    (path,) = tmp_path.glob("*.json")
    report = json.loads(path.read_text())
    assert not report["passed"]
    assert report["parts"]["broken"]["line"] == "RuntimeError: no such card"
    assert report["parts"]["broken"]["rows"][0] == {"seen": 1}
    assert report["parts"]["fine"]["passed"]
