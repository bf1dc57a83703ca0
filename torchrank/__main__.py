"""``python -m torchrank info``, ``demo`` and ``gram``."""

import argparse
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version

import torch

import torchrank
from torchrank._gram import add_arguments, gram
from torchrank.ops.engines import ENGINE_MODULE, why_missing


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m torchrank", description=torchrank.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="versions, devices, and which engines are available")
    commands.add_parser("demo", help="a Kendall-kernel SVM on handwritten digits, beside linear and RBF kernels")
    add_arguments(commands.add_parser("gram", help="Kendall kernels of all rankings in a file, or their neighbors"))
    asked = parser.parse_args(arguments)
    return gram(asked) if asked.command == "gram" else {"info": info, "demo": demo}[asked.command]()


def info() -> int:
    """Print versions, devices, and which engines are available and why the others are not."""
    print(f"torchrank {torchrank.__version__}, Python {platform.python_version()}, {platform.platform()}")
    for package in ("torch", "numpy", "scipy", "numba", "triton", "scikit-learn", "matplotlib"):
        print(f"  {package:<13}{_version(package)}")
    devices = {"cpu": f"{os.cpu_count()} processors, torch uses {torch.get_num_threads()} thread(s)"}
    for index in range(torch.cuda.device_count()):
        devices[f"cuda:{index}"] = torch.cuda.get_device_name(index)
    print("devices")
    for name, description in devices.items():
        print(f"  {name:<13}{description}")
    print("engines of pair_counts")
    print(f"  {'reference':<13}every device (plain torch)")
    for device_type, module in ENGINE_MODULE.items():
        reason = why_missing(device_type)
        if reason is None and device_type == "cuda" and not torch.cuda.is_available():
            reason = f"torch {torch.__version__} finds no CUDA device"
        state = f"signs, inversions ({module})" if reason is None else f"not available: {reason}"
        print(f"  {device_type:<13}{state}")
    return 0


def demo() -> int:
    """Classify scikit-learn's digits by the order of pixels in an image, beside linear and RBF kernels."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.model_selection import StratifiedKFold, cross_val_score
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC
    except ImportError:
        print("The demo needs scikit-learn: pip install scikit-learn", file=sys.stderr)
        return 1
    X, y = load_digits(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    torchrank.kendall_gram(X[:8])  # compiles, or loads what an earlier run compiled
    start = time.perf_counter()
    gram = torchrank.kendall_gram(X)
    seconds = time.perf_counter() - start
    pairs = len(X) * (len(X) - 1) // 2
    print(
        f"Kendall Gram matrix of {len(X)} images, {X.shape[1]} pixels each: "
        f"{seconds:.3f} s, {seconds / pairs * 1e9:.0f} ns a pair"
    )
    print("SVM, 5-fold cross-validation, accuracy:")
    for name, model, features in (
        ("Kendall kernel", SVC(kernel="precomputed", C=10), gram),
        ("linear kernel", SVC(kernel="linear", C=0.01), StandardScaler(with_std=False).fit_transform(X)),
        ("RBF kernel", SVC(kernel="rbf", C=10), StandardScaler(with_std=False).fit_transform(X)),
    ):
        accuracy = cross_val_score(model, features, y, cv=folds)
        print(f"  {name:<16}{100 * accuracy.mean():.1f} %  (sd over folds {100 * accuracy.std():.1f})")
    return 0


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    sys.exit(main())
