"""What has to hold before a change goes in: `nox` runs all of it, `nox -s lint types` a part.

All sessions but one run in the environment that nox is called from, `pip install -e ".[dev,test,docs]"`: torch is
large. The lowest versions get an environment of their own. `nox -s tests -- PATH` runs some of the tests, and `.ci/run`
everything in a fresh environment.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nox

ROOT = Path(__file__).parent
LOWEST = (  # where the package meets other libraries
    *("tests/ops", "tests/rankings", "tests/triton", "tests/packaging"),
    *(f"tests/kernels/test_{name}.py" for name in ("compile", "kendall", "partial")),
    "tests/estimators/test_common.py",
)


def lowest_python() -> str:
    """The interpreter of Python 3.10 if there is one, else that of nox."""
    command = ["python3.10", "-c", "import sys; print(sys.executable)"]
    environment = os.environ | {"PYENV_VERSION": "3.10"}  # pyenv's python3.10 has to be told; elsewhere it says nothing
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return sys.executable


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Ruff's rules, and its layout."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(python=False)
def types(session: nox.Session) -> None:
    """Types, and circles of imports."""
    session.run("pyright")


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """All tests, or those that are named after ``--``."""
    session.run("pytest", "--durations=30", *session.posargs)


@nox.session(python=False)
def docs(session: nox.Session) -> None:
    """The documentation, from the beginning, so that every warning comes; then its links, pictures and addresses."""
    shutil.rmtree(ROOT / "docs" / "_build", ignore_errors=True)  # pages of sources are not written again otherwise
    session.run("sphinx-build", "--quiet", "--fail-on-warning", "--keep-going", "docs", "docs/_build")
    session.run("python", "docs/check.py", "docs/_build")


@nox.session(python=False)
def wheel(session: nox.Session) -> None:
    """The built wheel, from another folder and without Triton and scikit-learn; its page on an index, and its types."""
    with tempfile.TemporaryDirectory() as folder:
        session.run("python", "-m", "build", "--wheel", "--outdir", folder, ".", silent=True)
        (built,) = Path(folder).glob("*.whl")
        site = f"{folder}/site"
        session.run("python", "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, str(built))
        session.chdir(folder)
        session.run("python", str(ROOT / ".ci" / "wheel.py"), site, env={"PYTHONPATH": site})
        session.chdir(ROOT)
        session.run("pytest", "-n0", "tests/packaging/test_wheel.py", env={"TORCHRANK_WHEEL": str(built)})


@nox.session(python=lowest_python(), venv_backend="venv", reuse_venv=True)
def lowest(session: nox.Session) -> None:
    """A choice of the tests with the lowest versions that are declared."""
    session.install("--quiet", "-c", ".ci/lowest.txt", "-e", ".[test]")
    left_out = "sm_80 sm_86 sm_89 sm_100 sm_120 inductor Mixture ctrl_c rehearsal two_processes".replace(" ", " or ")
    session.run("pytest", "--durations=30", "-k", f"not ({left_out})", *LOWEST)
