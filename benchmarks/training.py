"""Which loss trains best: networks trained by ``kendall_loss`` and others, judged by Kendall's tau of rows held out.

``TORCHRANK_DATA=folder python -m benchmarks.run training``. Two tasks: the labels of label-ranking sets from features,
and the drugs of Davis' kinases in the order of their affinity, for targets held out. Each loss has the same choice of
learning rates and scales, made on a quarter of the training rows, and is then trained on all of them. Seeds draw rows,
networks and batches, alike for every loss.
"""

import statistics
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

import torchrank
from benchmarks.papers.conditional_data import data_folder, davis
from benchmarks.papers.label_ranking_data import load
from benchmarks.registry import Recorder, alternate, benchmark, median
from benchmarks.training_losses import Loss, losses

SETS = ("vehicle", "wine", "housing", "glass", "stock", "authorship")
RATES = (0.003, 0.01, 0.03)
SEEDS = range(5)
STEPS, BATCH, HIDDEN = 300, 64, 32


class Task(NamedTuple):
    """Lists and how a network scores them."""

    name: str
    features: Tensor  # (m, d) of each list
    target: Tensor  # (m, n)
    network: Callable[[], nn.Module]  # from (r, d) to (r, n)
    batch: int


class Towers(nn.Module):
    """Scores of items for lists by products of what two networks make of both."""

    def __init__(self, d: int, items: Tensor, width: int) -> None:
        super().__init__()
        self.items = items
        self.of_list, self.of_item = (
            nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width)) for size in (d, items.shape[1])
        )

    def forward(self, lists: Tensor) -> Tensor:
        return self.of_list(lists) @ self.of_item(self.items).mT / HIDDEN**0.5


@benchmark("training")
def run(recorder: Recorder) -> None:
    """All losses on both tasks, and the time of a step."""
    torch.set_num_threads(1)
    folder = data_folder()
    tasks = [*(label_ranking_task(folder, name) for name in SETS), drugs_task(folder)]
    for task in tasks:
        held_out(recorder, task)
    for task in (tasks[0], tasks[-1]):
        seconds(recorder, task)


def held_out(recorder: Recorder, task: Task) -> None:
    """Tau of each loss, the median over the seeds."""
    print(f"{task.name}: {len(task.target)} lists of {task.target.shape[1]}")
    for name, (loss, scales) in losses().items():
        found = []
        for seed in SEEDS:
            rate, scale = choose(task, loss, scales, seed)
            train, test = split(range(len(task.target)), 0.3, seed)
            tau = trained(task, loss, rate, scale, train, test, seed)
            recorder.append(task=task.name, by=name, seed=seed, tau=tau, rate=rate, scale=scale)
            found.append(tau)
        print(f"  {name:<28} tau {statistics.median(found):.4f}", flush=True)


def choose(task: Task, loss: Loss, scales: Sequence[float], seed: int) -> tuple[float, float]:
    """The learning rate and the scale with the largest tau on a quarter of the training rows."""
    train, _ = split(range(len(task.target)), 0.3, seed)
    inner, valid = split(train, 0.25, seed + 1000)
    candidates = list(product(RATES, scales))
    return max(candidates, key=lambda pair: trained(task, loss, *pair, inner, valid, seed))


def trained(
    task: Task, loss: Loss, rate: float, scale: float, train: Sequence[int], test: Sequence[int], seed: int
) -> float:
    """Mean tau of the test rows after training."""
    torch.manual_seed(seed)
    network = task.network()
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    rows = torch.tensor(train)
    mean, deviation = task.features[rows].mean(0), task.features[rows].std(0).clamp(min=1e-6)
    features = (task.features - mean) / deviation
    for _ in range(STEPS):
        some = rows[torch.randint(len(rows), (task.batch,))]
        optimizer.zero_grad()
        loss(network(features[some]), task.target[some], scale).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return tau(network(features[list(test)]), task.target[list(test)])


def tau(prediction: Tensor, target: Tensor) -> float:
    """Mean of Kendall's tau-b over the rows that have an order."""
    rows = (target != target[:, :1]).any(-1)
    loss = torchrank.kendall_loss(prediction[rows].double(), target[rows], window=1e-9)  # as hard as scores differ
    return 1 - float(loss)


def seconds(recorder: Recorder, task: Task) -> None:
    """Time of a loss, forward and backward, on one batch; alternating."""
    target = task.target[: task.batch]
    prediction = torch.randn(target.shape, generator=torch.Generator().manual_seed(0)).requires_grad_()

    def step(loss: Loss) -> Callable[[], None]:
        def both() -> None:
            prediction.grad = None
            loss(prediction, target, 1.0).backward()

        return both

    contestants = {name: step(loss) for name, (loss, _) in losses().items()}
    for warm_up in contestants.values():
        warm_up()
    print(f"{task.name}: a step of {len(target)} lists of {target.shape[1]}")
    for name, times in alternate(contestants, 101).items():
        recorder.append(task=task.name, by=name, seconds=median(times), threads=torch.get_num_threads())
        print(f"  {name:<28} {1e3 * median(times):8.3f} ms")


def split(rows: Sequence[int], share: float, seed: int) -> tuple[list[int], list[int]]:
    """Rows for training, and a share of them for testing."""
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
    cut = round(share * len(rows))
    return [rows[k] for k in order[cut:]], [rows[k] for k in order[:cut]]


def label_ranking_task(folder: Path, name: str) -> Task:
    """The labels of each row in their order."""
    data = load(folder, name, "true")
    features, target = torch.as_tensor(data.X).float(), torch.as_tensor(data.Y).float()
    d, n = features.shape[1], target.shape[1]
    return Task(
        name, features, target, lambda: nn.Sequential(nn.Linear(d, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, n)), BATCH
    )


def drugs_task(folder: Path) -> Task:
    """For each kinase the drugs by their affinity, the smallest dissociation constant first; inactive ones tied."""
    data = davis(folder)
    drugs = torch.as_tensor(data.drug_similarity).float()
    targets = torch.as_tensor(data.target_similarity).float()
    target = -torch.as_tensor(data.F).float().T
    return Task("Davis' kinases", targets, target, lambda: Towers(targets.shape[1], drugs, HIDDEN), BATCH // 2)
