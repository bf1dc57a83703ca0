"""MM-PL by gradients alone beside expectation-maximization, from the same start.

``python -m benchmarks.run gradient_descent``, on one thread.
Five label-ranking sets of fewer than 1,000 rows, K = 10 with 10 prototypes each, features standardized, all rows (it is
about what an optimizer reaches, not about new rows). Needs ``TORCHRANK_DATA``.
"""

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from benchmarks.papers.conditional_data import data_folder
from benchmarks.papers.label_ranking_data import load
from benchmarks.registry import Recorder, benchmark
from torchrank import MMPL, EMSettings
from torchrank.metrics import label_ranking_loss

SETS = ("glass", "housing", "stock", "vehicle", "vowel")
SEEDS = (0, 1, 2)
WIDTH = 1.5  # of the gate at the beginning, in prototype spacings, as EM's


@dataclass(frozen=True)
class Descent:
    """Adam on all rows while the gate narrows, as ``docs/loops.md`` has it."""

    n_steps: int = 1000
    prototypes: float = 0.02  # rates at the beginning: of prototypes in widths of the gate
    logits: float = 0.2
    narrowing: float = 0.1  # the last width by the first
    slowing: float = 0.05  # the last rate by the first

    def train(self, model: MMPL, X: Tensor, Y: Tensor) -> None:
        """Train a model whose width is the first one."""
        width = float(model.sigma.detach())
        optimizer = torch.optim.Adam(
            [
                {"params": [model.prototypes], "lr": self.prototypes * width},
                {"params": [model.logits], "lr": self.logits},
            ]
        )
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, self.slowing ** (1 / self.n_steps))
        for step in range(self.n_steps):
            model.sigma = width * self.narrowing ** (step / self.n_steps)
            optimizer.zero_grad()
            (-model.log_prob(X, Y).mean()).backward()
            optimizer.step()
            schedule.step()


def read(name: str) -> tuple[Tensor, Tensor]:
    """Standardized features and label scores of a set."""
    data = load(data_folder(), name, "true")
    spread = data.X.std(0)
    return torch.from_numpy((data.X - data.X.mean(0)) / np.where(spread > 0, spread, 1)), torch.from_numpy(data.Y)


def model_after(X: Tensor, Y: Tensor, settings: EMSettings, seed: int) -> MMPL:
    """MM-PL with ten clusters of ten prototypes, after a fit."""
    model = MMPL(X.shape[1], Y.shape[1], 10, 10, dtype=torch.float64)
    model.fit(X, Y, settings, generator=torch.Generator().manual_seed(seed))
    return model


@torch.no_grad()
def losses(model: MMPL, X: Tensor, Y: Tensor) -> tuple[float, float]:
    """Mean negative log-likelihood, and the share of misordered pairs of labels."""
    return -float(model.log_prob(X, Y).mean()), label_ranking_loss(Y, model.predict(X))


@benchmark("gradient_descent")
def run(recorder: Recorder) -> None:
    """Losses of the start, of EM with and without its last step, and of descent, for each set and seed."""
    torch.set_num_threads(1)  # matrices are small
    fits = {"start": EMSettings(n_updates=0, sigma_end=WIDTH, recenter=False), "EM": EMSettings(recenter=False)}
    fits["EM, recentered"] = EMSettings()
    for name in SETS:
        X, Y = read(name)
        for seed in SEEDS:
            found = {}
            for method in (*fits, "gradients"):
                begin = time.perf_counter()
                model = model_after(X, Y, fits.get(method, fits["start"]), seed)
                if method == "gradients":
                    Descent().train(model, X, Y)
                seconds = time.perf_counter() - begin
                found[method], pairs = losses(model, X, Y)
                recorder.append(
                    name=name, rows=len(X), seed=seed, method=method, loss=found[method], pairs=pairs, seconds=seconds
                )
            least = min(found["EM"], found["EM, recentered"])
            recorder.append(name=name, seed=seed, gradients_by_em=found["gradients"] / least)
            by_gradients = found["gradients"]
            print(f"{name:<8} seed {seed} EM {least:.4f} gradients {by_gradients:.4f}, {by_gradients / least:.3f}")
