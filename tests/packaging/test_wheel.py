"""The wheel, installed where nothing else is: its page on an index, and what mypy and pyright say of a user's program.

typed/right.py has to pass, and its ``reveal_type`` to show what the comments say; each line of typed/wrong.py that says
"fault" has to be reported, and no other. Under ``nox -s wheel`` it is the wheel of that session.
"""

import email
import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "typed"
WHEEL = os.environ.get("TORCHRANK_WHEEL")  # of nox
CHECKERS = ("mypy", "pyright")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("CI") == "true" and not WHEEL, reason="nox -s wheel runs this"),
]


class Message(NamedTuple):
    """What a checker says of a line of a program, an error or a revealed type."""

    program: str
    line: int
    error: bool
    text: str


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A program that does not see this checkout."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    return subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """An environment in which the wheel is all that is installed; what it needs is found in this one."""
    folder = tmp_path_factory.mktemp("user")
    venv.create(folder / "venv", symlinks=os.name != "nt")
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    (site,) = (folder / "venv").rglob("site-packages")
    assert not [*site.iterdir()]
    others = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (site / "others.pth").write_text("\n".join(others))
    pip = run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, WHEEL or ROOT), cwd=folder
    )
    assert pip.returncode == 0, pip.stderr
    assert all((site / package / "py.typed").exists() for package in ("torchrank", "kernels_triton"))
    return scripts / "python"


@pytest.fixture(scope="module")
def said(python) -> dict[str, list[Message]]:
    """What each checker says."""
    for checker in CHECKERS:
        pytest.importorskip(checker, reason="of the extra dev")
    folder = python.parents[2]
    for program in PROGRAMS.glob("*.py"):
        (folder / program.name).write_text(program.read_text())
    programs = sorted(program.name for program in PROGRAMS.glob("*.py"))
    options = ("--strict", "--no-error-summary", "--no-color-output", "--cache-dir", folder / "cache")
    by_mypy = run(sys.executable, "-m", "mypy", *options, "--python-executable", python, *programs, cwd=folder)
    lines = re.findall(r"^(\w+\.py):(\d+): (error|note): (.*)$", by_mypy.stdout, re.M)
    assert lines, by_mypy.stderr
    by_pyright = run(sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", python, *programs, cwd=folder)
    return {
        "mypy": [Message(file, int(line), kind == "error", text) for file, line, kind, text in lines],
        "pyright": [
            Message(Path(of["file"]).name, of["range"]["start"]["line"] + 1, of["severity"] == "error", of["message"])
            for of in json.loads(by_pyright.stdout)["generalDiagnostics"]
        ],
    }


def test_the_page_on_an_index_needs_no_files_beside_it(python):
    (metadata,) = python.parents[1].rglob("torchrank_kernels-*.dist-info/METADATA")
    message = email.message_from_string(metadata.read_text(encoding="utf-8"))
    assert (message["Name"], message["Description-Content-Type"]) == ("torchrank-kernels", "text/markdown")
    page = str(message.get_payload())
    assert page.lstrip().startswith("# torchrank\n")
    assert not re.findall(r"!\[|\]\((?!https:)|docs/pictures", page)
    paths = re.findall(r" \(`((?:docs|notebooks|benchmarks/results)[^`]*)`\)", page)
    assert len(paths) > 10
    assert all((ROOT / path).exists() for path in paths), paths


def marked(name: str, mark: str) -> dict[int, str]:
    """Comments by line that match ``mark``."""
    lines = (PROGRAMS / name).read_text().splitlines()
    matches = {number: re.search(rf"  # ({mark})$", line) for number, line in enumerate(lines, start=1)}
    return {number: match[1] for number, match in matches.items() if match}


def without_modules(revealed: str) -> str:
    """A type as a reader writes it: no modules, no shape and dtype of arrays, named tuples by their name."""
    bare = re.sub(r"\b(?:\w+\.)+", "", revealed)
    named = re.fullmatch(r"tuple\[.*fallback=(.*)\]", bare)
    bare = named[1] if named else bare
    return re.sub(r"ndarray\[.*?dtype\[Any\]\]", "ndarray", bare)


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_right_program_passes_and_its_types_are_exact(said, checker):
    messages = [message for message in said[checker] if message.program == "right.py"]
    assert not [message for message in messages if message.error]
    quoted = {message.line: re.search(r'(?:Revealed type is|" is) "(.*)"$', message.text, re.S) for message in messages}
    revealed = {line: without_modules(match[1]) for line, match in quoted.items() if match}
    expected = marked("right.py", r"\S+")
    assert len(expected) > 50
    assert revealed == expected


@pytest.mark.parametrize("checker", CHECKERS)
def test_each_fault_is_reported_and_nothing_else(said, checker):
    errors = {message.line for message in said[checker] if message.program == "wrong.py" and message.error}
    assert errors == marked("wrong.py", "fault").keys()
