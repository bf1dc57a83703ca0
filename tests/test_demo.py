"""The command line: `python -m torchrank info` and `demo`."""

import re
import subprocess
import sys

import pytest

import torchrank
from torchrank import __main__ as command_line


@pytest.mark.slow
def test_info_runs_as_a_module_and_names_versions_devices_and_engines():
    process = subprocess.run([sys.executable, "-m", "torchrank", "info"], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    shown = process.stdout
    assert shown.startswith(f"torchrank {torchrank.__version__}, Python ")
    for package in ("torch", "numpy", "scipy", "numba", "triton", "scikit-learn"):
        assert re.search(rf"^  {package} +\S+", shown, re.M)
    assert re.search(r"^  cpu +\d+ processors, torch uses \d+ thread", shown, re.M)
    assert re.search(r"^  cpu +signs, inversions \(numba\)", shown, re.M)
    assert re.search(r"^  cuda +(signs, inversions \(triton\)|not available: .+)", shown, re.M)


def test_info_says_why_an_engine_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(command_line, "why_missing", lambda device: f"no engine for {device}; install it")
    assert command_line.main(["info"]) == 0
    shown = capsys.readouterr().out
    assert "cpu          not available: no engine for cpu; install it" in shown


def test_demo_compares_the_kernel_with_linear_and_rbf(capsys):
    assert command_line.main(["demo"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"Kendall Gram matrix of 1797 images, 64 pixels each: [\d.]+ s", shown)
    accuracy = {name: float(value) for name, value in re.findall(r"^  (\w+) kernel +([\d.]+) %", shown, re.M)}
    assert accuracy.keys() == {"Kendall", "linear", "RBF"}
    assert min(accuracy.values()) > 97
    assert accuracy["Kendall"] == pytest.approx(98.4, abs=0.7)


def test_demo_without_scikit_learn_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert command_line.main(["demo"]) == 1
    assert "pip install scikit-learn" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["dance"]])
def test_unknown_commands_show_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as exit_status:
        command_line.main(arguments)
    assert exit_status.value.code == 2
    assert "python -m torchrank" in capsys.readouterr().err
