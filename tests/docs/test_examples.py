"""Every Python block of README and documentation runs, and gives what the comments beside it say."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LONG = ("plots.md", "label_ranking.md", "loops.md")  # whose examples take many seconds
WIDTH = 88  # columns that a page has room for
_ANY_BLOCK = re.compile(r"^```.*?\n(.*?)^```", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def blocks(page):
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (page.name in LONG))
        for page in PAGES
        if blocks(page)
    ],
)
def test_blocks_run_and_give_what_comments_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names = {"__name__": "example"}
    for block in blocks(page):
        run(block, names, page.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_fit_the_column(page):
    lines = [line for block in _ANY_BLOCK.findall(page.read_text(encoding="utf-8")) for line in block.splitlines()]
    assert not [line for line in lines if len(line) > WIDTH]


def test_pages_of_questions_are_short():
    questions = [page for page in PAGES if page.parent.name == "questions"]
    assert len(questions) >= 5
    assert all(len(page.read_text(encoding="utf-8").splitlines()) < 40 for page in questions)


def run(block, names, where):
    """Execute a block, statement by statement; a bare expression with a comment after it has to have that value."""
    lines = block.splitlines()
    statements = ast.parse(block).body
    for number, statement in enumerate(statements):
        code = ast.Module([statement], type_ignores=[])
        if not isinstance(statement, ast.Expr):
            exec(compile(code, where, "exec"), names)
            continue
        value = eval(compile(ast.Expression(statement.value), where, "eval"), names)
        stop = statements[number + 1].lineno - 1 if number + 1 < len(statements) else len(lines)
        expected = comment(lines[statement.end_lineno - 1 : stop])
        if expected and value is not None:
            assert agrees(value, expected), f"{where}: {ast.unparse(statement)} gives\n{value!r}\nand not\n{expected}"


def comment(lines):
    """The comment at the end of the first line, or those of the lines that follow it up to the first other one."""
    if "#" in lines[0]:
        return lines[0].split("#", 1)[1].strip()
    said = []
    for line in lines[1:]:
        if not line.lstrip().startswith("#"):
            break
        said.append(line.lstrip().removeprefix("#").strip())
    return " ".join(said)


def agrees(value, expected):
    """The same text, or the same number in front, to the digits written."""
    value = value.item() if isinstance(value, np.generic) else value
    shown = value if isinstance(value, str) else str(value) if isinstance(value, np.ndarray) else repr(value)
    if squeezed(shown) == squeezed(expected):
        return True
    number = _NUMBER.match(expected)
    if number is None or not isinstance(value, (int, float)):
        return False
    digits = len((number[1] or ".")[1:])
    return round(float(value), digits) == float(number[0])


def squeezed(text):
    return re.sub(r"\s+", "", text)
