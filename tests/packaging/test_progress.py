"""Nobody who asked for no progress bar meets tqdm's lock between processes."""

import ast
from pathlib import Path

import torchrank

PACKAGE = Path(torchrank.__file__).parent


def test_bars_are_made_in_one_place():
    calls = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tqdm"
    }
    assert calls == {"_progress.py"}
