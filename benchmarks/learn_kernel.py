"""Windows and weights learned by gradient beside fixed ones: ``python -m benchmarks.learn_kernel``, ten seconds.

Rankers of two camps score three kinds of things. The first kind tells the camps apart, but through errors that exceed
the differences of its items; the other two say nothing. A fixed kernel weighs all three alike and takes a small window;
the learned one starts there and maximizes kernel-target alignment (Cristianini et al., NIPS 2001) on the training
rankers, by gradient in the weights and the windows. Kernel ridge regression then classifies rankers held out.
"""

import numpy as np
import torch
from torch import Tensor

from benchmarks.registry import Recorder
from torchrank import MultivariateKernel, SmoothedKendallKernel, center_gram

ITEMS, TRAINING, HELD_OUT = 14, 60, 400
WINDOW = 0.5  # to start from, and the fixed one
RIDGE = 0.5
SEEDS = range(5)


def main() -> None:
    """Compare on several draws and record."""
    recorder = Recorder("learn_kernel")
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        train, labels = rankers(TRAINING, rng)
        held_out, truth = rankers(HELD_OUT, rng)
        kernel = starting_kernel()
        fixed = accuracy(kernel, train, labels, held_out, truth)
        alignment = learn(kernel, train, labels)
        learned = accuracy(kernel, train, labels, held_out, truth)
        windows = [part.window for part in kernel.kernels if isinstance(part, SmoothedKendallKernel)]
        recorder.append(
            seed=seed,
            held_out_accuracy={"fixed": fixed, "learned": learned},
            training_alignment=[alignment[0], alignment[-1]],
            weights=kernel.weights,
            windows=windows,
        )
        print(
            f"seed {seed}: held out {fixed:.3f} fixed, {learned:.3f} learned; alignment {alignment[0]:.3f} to "
            f"{alignment[-1]:.3f}; weight of the telling part {kernel.weights[0]:.3f}, its window {windows[0]:.2f}"
        )


def rankers(count: int, rng: np.random.Generator) -> tuple[list[Tensor], Tensor]:
    """Scores of three kinds of things by ``count`` rankers, and their camps, -1 or 1."""
    labels = torch.from_numpy(rng.choice([-1.0, 1.0], count))
    taste = torch.linspace(-1, 1, ITEMS, dtype=torch.float64)
    errors = torch.from_numpy(rng.standard_normal((3, count, ITEMS)))
    return [labels[:, None] * taste + 2 * errors[0], errors[1], errors[2]], labels


def starting_kernel() -> MultivariateKernel:
    """Equal weights, and a window that is small beside the errors."""
    return MultivariateKernel([SmoothedKendallKernel(window=WINDOW) for _ in range(3)])


def learn(kernel: MultivariateKernel, parts: list[Tensor], labels: Tensor, steps: int = 60) -> list[float]:
    """Maximize the alignment of the centered kernel with the labels; returns it for every step."""
    optimizer = torch.optim.Adam(kernel.parameters(), lr=0.1)
    target = labels[:, None] * labels
    alignments = []
    for _ in range(steps):
        K = center_gram(kernel(parts))
        alignment = (K * target).sum() / (K.norm() * target.norm())
        optimizer.zero_grad()
        (-alignment).backward()
        optimizer.step()
        alignments.append(alignment.item())
    return alignments


def accuracy(
    kernel: MultivariateKernel, train: list[Tensor], labels: Tensor, held_out: list[Tensor], truth: Tensor
) -> float:
    """Share of held-out rankers that kernel ridge regression on the training rankers puts into their camp."""
    with torch.no_grad():
        K, cross = kernel(train), kernel(held_out, train)
        duals = torch.linalg.solve(center_gram(K) + RIDGE * torch.eye(len(labels), dtype=K.dtype), labels)
        return ((center_gram(cross, K) @ duals).sign() == truth).double().mean().item()


if __name__ == "__main__":
    main()
