"""Shared descriptions of arguments are filled into docstrings at import."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from torchrank import _docs
from torchrank._docs import shares_arguments

LONG = "regularization, " + "a number or a tensor of numbers, " * 8 + "at least 0."


@shares_arguments(lam=LONG, loss='"regression" or "ranking".')
def solve(K, lam, lam_end, loss_end, loss):
    """Solve, with {braces} and {0, 1} left alone.

    Args:
        K: kernel matrix.
        lam: {lam} At 0
            stop early.
        lam_end: of the end, {lam}
        loss_end: where :math:`n_{i}` is 0
        loss: {loss}

    Returns:
        Nothing.
    """


def test_lines_are_filled_wrapped_and_indented():
    lines = inspect.getdoc(solve).split("\n")
    assert lines[0] == "Solve, with {braces} and {0, 1} left alone."
    assert max(map(len, lines)) <= _docs.WIDTH
    assert lines[2:4] == ["Args:", "    K: kernel matrix."]
    assert '    loss: "regression" or "ranking".' in lines
    assert "    loss_end: where :math:`n_{i}` is 0" in lines
    assert any(line.startswith("    lam_end: of the end, regularization, a number") for line in lines)
    entry = lines[lines.index("Args:") + 2 : next(i for i, line in enumerate(lines) if line.startswith("    lam_end"))]
    assert entry[0].startswith("    lam: regularization, a number")
    assert all(line.startswith(" " * 8) for line in entry[1:])
    assert " ".join(line.strip() for line in entry) == f"lam: {LONG} At 0 stop early."
    assert lines[-2:] == ["Returns:", "    Nothing."]


def test_function_and_class_stay_what_they_are():
    assert str(inspect.signature(solve)) == "(K, lam, lam_end, loss_end, loss)"

    @shares_arguments(p="how many.")
    class Model:
        """A model.

        Args:
            p: {p}
        """

    assert isinstance(Model, type)
    assert inspect.getdoc(Model) == "A model.\n\nArgs:\n    p: how many."


def test_a_placeholder_that_is_not_there_is_named():
    with pytest.raises(KeyError, match="lam"):

        @shares_arguments(lamb="regularization.")
        def broken(lam):
            """Args:
            lam: {lam}.
            """


def test_without_docstrings_nothing_happens():
    code = (
        f"import runpy; shares = runpy.run_path({str(Path(_docs.__file__))!r})['shares_arguments']\n"
        "@shares(lam='x')\ndef f(lam):\n    'lam: {lam}'\nassert f.__doc__ is None; print(f.__name__)"
    )
    run = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "f"
