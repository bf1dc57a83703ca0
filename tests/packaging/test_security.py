"""What docs/security.md promises, read off the sources."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for package in ("torchrank", "kernels_triton") for path in (ROOT / package).rglob("*.py"))
REFUSED = {
    *("pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"),  # code from data
    *("subprocess", "pty", "pexpect"),  # other programs
    *("requests", "httpx", "aiohttp", "ftplib", "telnetlib", "smtplib", "xmlrpc", "webbrowser"),  # other hosts
}
ONLINE = {"urllib.request", "socket", "http.client"}  # of the one file that fetches
FETCHES = "torchrank/datasets/download.py"


def named(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def faults(tree: ast.AST, path: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (f"imports {name}" for name in names if name.split(".")[0] in REFUSED)
            yield from (f"imports {name}" for name in names if name in ONLINE and path != FETCHES)
        elif isinstance(node, ast.Call):
            called, words = named(node.func), {word.arg: word.value for word in node.keywords}
            if called in ("eval", "exec", "os.system", "os.popen", "__import__"):
                yield f"calls {called}"
            if called.endswith(("np.load", "numpy.load")) and "allow_pickle" in words:
                yield "np.load with allow_pickle"
            if called == "torch.load" and not (
                isinstance(words.get("weights_only"), ast.Constant) and words["weights_only"].value is True  # type: ignore[union-attr]
            ):
                yield "torch.load without weights_only=True"


def test_no_code_from_data_and_no_other_hosts():
    for path in SOURCES:
        name = path.relative_to(ROOT).as_posix()
        assert not list(faults(ast.parse(path.read_text(encoding="utf-8")), name)), name


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from subprocess import run",
        "import urllib.request",
        "eval('1')",
        "np.load(p, allow_pickle=True)",
        "torch.load(p)",
        "torch.load(p, weights_only=False)",
    ],
)
def test_faults_are_found(code):
    assert list(faults(ast.parse(code), "torchrank/some.py"))


def test_one_host():
    from torchrank.datasets.sources import address

    assert address("a/b", "c", "d").startswith("https://raw.githubusercontent.com/")
    calls = [
        node
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and named(node.func).split(".")[-1] in ("RemoteFile", "address")
    ]
    literal = [arg.value for call in calls for arg in call.args if isinstance(arg, ast.Constant)]
    assert not [value for value in literal if "://" in str(value)]  # all addresses are made by that function


def test_the_page_names_what_is_there():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    for word in (
        "raw.githubusercontent.com",
        "TORCHRANK_CACHE",
        "weights_only=True",
        "allow_pickle",
        "NUMBA_CACHE_DIR",
    ):
        assert word in page
