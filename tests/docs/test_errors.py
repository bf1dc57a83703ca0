"""The mistakes in docs/errors.md raise the messages that are quoted there."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import torchrank

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
_LINE = re.compile(r"^\| `(tr\..*?)` \| `(.*?)` \|", re.MULTILINE)
MISTAKES = _LINE.findall(PAGE.read_text(encoding="utf-8"))


def test_every_line_of_the_tables_is_found():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(MISTAKES) == len(lines) > 20


@pytest.mark.parametrize(("code", "message"), MISTAKES)
def test_mistake_raises_what_is_quoted(code, message):
    names = {
        "np": np,
        "torch": torch,
        "tr": torchrank,
        "X": np.array([[3.0, 2.0, 1.0], [1.0, np.nan, 2.0]]),
        "T": np.array([[3.0, 3.0, 1.0]]),
        "F": pd.DataFrame([[3.0, 2.0, 1.0]], columns=list("abc")),
    }
    with pytest.raises((ValueError, TypeError, RuntimeError), match=re.escape(message)):
        eval(code, names)
