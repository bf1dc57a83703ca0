"""Cases: Kendall and Mallows kernels of every kind of rankings, and the smoothed kernel with its gradient."""

import torch
from torch import Tensor

import torchrank as tr
from benchmarks.devices.cases import case, scores

ITEMS = 1_000
SMOOTHED_ITEMS = 500
LONG = 20_000
ROWS = (16, 64, 256, 512)
OF_ITEMS = f"rankings of {ITEMS:,} items"
BATCH_ROWS, BATCH_ITEMS = 16, 100
WINDOW = 0.2


@case("kendall_gram", OF_ITEMS, ROWS, lambda m: (scores(m, ITEMS),))
def complete(X: Tensor) -> Tensor:
    """No ties, nothing unranked."""
    return tr.kendall_gram(X)


@case("kendall_gram, ties", OF_ITEMS, ROWS, lambda m: (scores(m, ITEMS, levels=9),))
def tied(X: Tensor) -> Tensor:
    """Nine levels, as ratings have."""
    return tr.kendall_gram(X)


def _partial(m: int) -> tuple[Tensor]:
    return (scores(m, ITEMS, unranked=0.2),)


@case('missing="pairwise", 20 %', OF_ITEMS, ROWS, _partial)
def pairwise(X: Tensor) -> Tensor:
    """The items that both rank."""
    return tr.kendall_gram(X, missing="pairwise")


@case('missing="interleaving", 20 %', OF_ITEMS, ROWS, _partial)
def interleaving(X: Tensor) -> Tensor:
    """Unranked items may stand anywhere."""
    return tr.kendall_gram(X, missing="interleaving")


@case('missing="topk", 20 %', OF_ITEMS, ROWS, _partial)
def topk(X: Tensor) -> Tensor:
    """Unranked items stand below."""
    return tr.kendall_gram(X, missing="topk")


@case(
    "kendall_gram, batches",
    f"batches of {BATCH_ROWS} rankings of {BATCH_ITEMS} items",
    (1, 16, 64, 256),
    lambda b: (scores(b * BATCH_ROWS, BATCH_ITEMS).reshape(b, BATCH_ROWS, BATCH_ITEMS),),
)
def batches(X: Tensor) -> Tensor:
    """Many small problems at once."""
    return tr.kendall_gram(X)


@case("kendall_gram, long", f"rankings of {LONG:,} items", (4, 16, 48), lambda m: (scores(m, LONG),), quick=2)
def long(X: Tensor) -> Tensor:
    """Where inversions are counted in place of comparing all pairs of items."""
    return tr.kendall_gram(X)


@case("MallowsKernel, gradient in lam", OF_ITEMS, ROWS, lambda m: (scores(m, ITEMS),), tolerance=1e-4)
def mallows(X: Tensor) -> Tensor:
    """The kernel as a module, forward and backward."""
    kernel = tr.MallowsKernel(lam=2.0, normalize=True).to(X.device)
    kernel(X).mean().backward()
    gradient = kernel.log_lam.grad
    assert gradient is not None
    return gradient


_SMOOTHED = (f"rankings of {SMOOTHED_ITEMS} items", (16, 64, 128), lambda m: (scores(m, SMOOTHED_ITEMS),))


@case("smoothed_kendall_gram", *_SMOOTHED, tolerance=1e-5)
def smoothed(X: Tensor) -> Tensor:
    """The forward pass in float32."""
    return tr.smoothed_kendall_gram(X, window=WINDOW)


@case("smoothed_kendall_gram, gradient", *_SMOOTHED, tolerance=1e-4)
def smoothed_gradient(X: Tensor) -> Tensor:
    """Forward and backward, in the scores and in the window."""
    leaf = X.clone().requires_grad_()
    window = torch.full((), WINDOW, device=X.device, requires_grad=True)
    tr.smoothed_kendall_gram(leaf, window=window).square().mean().backward()
    assert leaf.grad is not None
    return leaf.grad
