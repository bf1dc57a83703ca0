"""What a row of results has to say about the machine and the software that it comes from."""

import hashlib
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("torch", "triton", "numpy", "scipy", "numba", "pandas", "scikit-learn", "choix", "evalica")
_TELLING_FLAGS = ("avx2", "avx512f", "avx512bw", "avx512_vpopcntdq", "neon", "sve")


def environment() -> dict[str, Any]:
    """CPU, its vector flags, threads, GPU, versions and commit."""
    return {
        "cpu": _cpu_model(),
        "flags": [flag for flag in _TELLING_FLAGS if flag in _cpu_flags()],
        "processors": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {package: _version(package) for package in PACKAGES},
        "commit": _commit(),
    }


def kernels_digest() -> str:
    """What tells the Triton kernels of one measurement from others: a digest of the sources of ``kernels_triton``."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "kernels_triton").rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _cpu_info(field: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")


def _cpu_model() -> str:
    return _cpu_info("model name") or platform.processor() or platform.machine()


def _cpu_flags() -> list[str]:
    return (_cpu_info("flags") or _cpu_info("Features")).split()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
