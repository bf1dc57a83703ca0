"""Every module that trains, in the loops that people write: optimizers, loaders, compiled steps, copies, processes."""

import copy
import io

import pytest
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import torchrank as tr
from tests.loops.cases import CASES, SCORES, TARGET, Case, Objective
from tests.processes import run

EVERY = [pytest.param(case, id=name) for name, case in CASES.items()]
every = pytest.mark.parametrize("case", EVERY)


def gradients(objective: nn.Module) -> list[Tensor]:
    """Those of all parameters; a parameter without one would be a fault."""
    return [parameter.grad.clone() for parameter in objective.parameters()]


def after_backward(objective: nn.Module, rows: tuple[Tensor, ...]) -> list[Tensor]:
    objective.zero_grad()
    objective(*rows).backward()
    return gradients(objective)


def train(objective: Objective, rows: tuple[Tensor, ...], n_steps: int, rate: float = 0.01) -> None:
    optimizer = torch.optim.Adam(objective.parameters(), lr=rate)
    for _ in range(n_steps):
        optimizer.zero_grad()
        objective(*rows).backward()
        optimizer.step()


def loss_of(objective: nn.Module, rows: tuple[Tensor, ...]) -> float:
    with torch.no_grad():
        return float(objective(*rows))


@every
def test_adam_lowers_the_loss(case: Case):
    objective = case.make()
    before = loss_of(objective, case.rows)
    train(objective, case.rows, 30)
    assert loss_of(objective, case.rows) < before - 1e-3


@every
def test_l_bfgs_lowers_the_loss_more_than_adam(case: Case):
    by_adam, objective = case.make(), case.make()
    train(by_adam, case.rows, 30)
    optimizer = torch.optim.LBFGS(objective.parameters(), max_iter=60, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = objective(*case.rows)
        loss.backward()
        return loss

    optimizer.step(closure)
    assert loss_of(objective, case.rows) < loss_of(by_adam, case.rows)


# A worker of a loader sees rows and no module, so that one case is enough for it.
@pytest.mark.parametrize(("case", "workers"), [*[(case, 0) for case in CASES.values()], (CASES["MMPL"], 1)])
def test_batches_of_a_data_loader(case: Case, workers: int):
    objective = case.make()
    before = loss_of(objective, case.rows)
    loader = DataLoader(
        TensorDataset(*case.rows),
        batch_size=8,
        shuffle=True,
        generator=torch.Generator().manual_seed(0),
        num_workers=workers,
    )
    optimizer = torch.optim.Adam(objective.parameters(), lr=0.01)
    for _ in range(2 if workers else 15):
        for rows in loader:
            optimizer.zero_grad()
            objective(*rows).backward()
            optimizer.step()
    assert loss_of(objective, case.rows) < before


@every
def test_compiled_it_has_the_same_loss_and_gradients(case: Case):
    torch.compiler.reset()
    torch.distributions.Distribution.set_default_validate_args(False)  # as the first torch.compile of a process does
    objective = case.make()
    expected, loss = after_backward(objective, case.rows), loss_of(objective, case.rows)
    compiled = torch.compile(objective, fullgraph=case.whole, backend="aot_eager")
    objective.zero_grad()
    got = compiled(*case.rows)
    got.backward()
    assert got.item() == pytest.approx(loss, rel=1e-12)
    torch.testing.assert_close(gradients(objective), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@every
def test_a_compiled_step_is_the_same_step(case: Case):
    """Loss, derivatives and optimizer; compiled optimizers count their steps in single precision."""
    torch.compiler.reset()
    eager, objective = case.make(), case.make()
    train(eager, case.rows, 3)
    optimizer = torch.optim.Adam(objective.parameters(), lr=0.01)

    @torch.compile(backend="aot_eager")
    def step(*rows: Tensor) -> None:
        optimizer.zero_grad()
        objective(*rows).backward()
        optimizer.step()

    for _ in range(3):
        step(*case.rows)
    for got, expected in zip(objective.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


@every
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_gives_the_same_gradients(case: Case, reentrant: bool):
    objective = case.make()
    expected = after_backward(objective, case.rows)
    objective.zero_grad()
    asking = torch.zeros((), requires_grad=True)  # reentrant checkpoints want an input with a gradient
    checkpoint(lambda _, *rows: objective(*rows), asking, *case.rows, use_reentrant=reentrant).backward()
    for got, wanted in zip(gradients(objective), expected, strict=True):
        assert torch.equal(got, wanted)


@every
def test_autocast_does_not_reach_inside(case: Case):
    objective = case.make()
    expected, loss = after_backward(objective, case.rows), loss_of(objective, case.rows)
    objective.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        got = objective(*case.rows)
    got.backward()
    assert got.item() == loss
    for gradient, wanted in zip(gradients(objective), expected, strict=True):
        assert torch.equal(gradient, wanted)


def test_autocast_of_a_network_in_front():
    """Its scores are in bfloat16; kernel and loss are not, and gradients pass."""
    torch.manual_seed(0)
    features, y = torch.randn(40, 6), torch.randn(40)
    network, kernel = nn.Linear(6, 5), tr.SmoothedKendallKernel(window=1.0)
    optimizer = torch.optim.Adam([*network.parameters(), *kernel.parameters()], lr=0.02)
    target, losses = torch.sign(y[:, None] * y), []
    for _ in range(30):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            scores = network(features)
            K = kernel(scores)
            loss = (K.float() - target).square().mean()
        assert scores.dtype == torch.bfloat16
        assert loss.dtype == torch.float32
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.01
    assert network.weight.grad.dtype == torch.float32


@every
def test_a_saved_state_goes_on_where_it_was(case: Case):
    objective, other = case.make(), case.make()
    train(objective, case.rows, 2)
    optimizer = torch.optim.Adam(objective.parameters(), lr=0.01)
    after_backward(objective, case.rows)
    optimizer.step()
    file = io.BytesIO()
    torch.save({"model": objective.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    for parameter in other.parameters():
        nn.init.zeros_(parameter)
    other.load_state_dict(saved["model"])
    assert loss_of(other, case.rows) == loss_of(objective, case.rows)
    resumed = torch.optim.Adam(other.parameters(), lr=0.01)
    resumed.load_state_dict(saved["optimizer"])
    for module, its in ((objective, optimizer), (other, resumed)):
        after_backward(module, case.rows)
        its.step()
    assert loss_of(other, case.rows) == loss_of(objective, case.rows)


@every
def test_a_copy_trains_by_itself(case: Case):
    objective = case.make()
    after_backward(objective, case.rows)
    before, twin = loss_of(objective, case.rows), copy.deepcopy(objective)
    assert loss_of(twin, case.rows) == before
    train(twin, case.rows, 3)
    assert loss_of(twin, case.rows) != before
    assert loss_of(objective, case.rows) == before


@every
def test_the_mean_of_all_copies(case: Case):
    objective = case.make()
    mean = torch.optim.swa_utils.AveragedModel(objective)
    seen = []
    for _ in range(3):
        train(objective, case.rows, 1)
        mean.update_parameters(objective)
        seen.append([parameter.detach().clone() for parameter in objective.parameters()])
    for got, *each in zip(mean.module.parameters(), *seen, strict=True):
        torch.testing.assert_close(got.detach(), torch.stack(each).mean(0), rtol=1e-12, atol=1e-14)
    assert loss_of(mean.module, case.rows) == pytest.approx(loss_of(objective, case.rows), abs=0.2)


@every
def test_half_precision_and_back(case: Case):
    objective = case.make()
    before, state = loss_of(objective, case.rows), copy.deepcopy(objective.state_dict())
    objective.half()
    rows = tuple(row.half() for row in case.rows)
    if case.refused:
        with pytest.raises(TypeError, match=case.refused):
            objective(*rows)
    else:
        found = after_backward(objective, rows)
        assert all(bool(gradient.isfinite().all()) for gradient in found)
        assert loss_of(objective, rows) == pytest.approx(before, rel=2e-2, abs=2e-2)
    objective.double()
    assert loss_of(objective, case.rows) == pytest.approx(before, rel=0 if case.keeps else 1e-2)
    if case.keeps:
        for name, value in objective.state_dict().items():
            assert torch.equal(value, state[name])


@every
def test_gradients_of_each_row(case: Case):
    objective = case.make()
    expected = after_backward(objective, case.rows)
    parameters = {name: parameter.detach() for name, parameter in objective.named_parameters()}

    def of_one(parameters: dict[str, Tensor], *row: Tensor) -> Tensor:
        return torch.func.functional_call(objective, parameters, tuple(value[None] for value in row))

    each = torch.func.vmap(torch.func.grad(of_one), (None, *[0] * len(case.rows)))(parameters, *case.rows)
    first = torch.func.grad(of_one)(parameters, *(value[0] for value in case.rows))
    for name, mean in zip(parameters, expected, strict=True):
        torch.testing.assert_close(each[name].mean(0), mean, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(each[name][0], first[name], rtol=1e-11, atol=1e-12)


@every
def test_models_side_by_side(case: Case):
    objectives = [case.make() for _ in range(3)]
    for n_steps, objective in enumerate(objectives):
        train(objective, case.rows, n_steps)
    stacked = torch.func.stack_module_state(objectives)

    def one(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(objectives[0], (parameters, buffers), case.rows)

    if not case.stacks:
        with pytest.raises(RuntimeError, match=r"torch\.func\.vmap cannot go through"):
            torch.func.vmap(one)(*stacked)
        return
    expected = torch.stack([objective(*case.rows) for objective in objectives])
    torch.testing.assert_close(torch.func.vmap(one)(*stacked), expected, rtol=1e-12, atol=1e-12)


def _trained_apart(group, name: str) -> list[Tensor]:
    """Parameters after three steps on this process's share of the rows, and the last gradients."""
    case, rank, world = CASES[name], torch.distributed.get_rank(), torch.distributed.get_world_size()
    objective = case.make()
    parallel = DistributedDataParallel(objective, process_group=group)
    train(parallel, tuple(row[rank::world].contiguous() for row in case.rows), 3)
    return [p.detach() for p in objective.parameters()] + gradients(objective)


@pytest.mark.parametrize("name", CASES)
def test_two_processes_are_one_on_the_whole_batch(name, tmp_path):
    alone = CASES[name].make()
    train(alone, CASES[name].rows, 3)
    expected = [p.detach() for p in alone.parameters()] + gradients(alone)
    for found in run(2, _trained_apart, tmp_path, name):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


LISTS = torch.randn(6, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TARGETS = torch.rand(6, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
TARGETS[[1, 3, 4, 5]] = torch.nan  # the second process has no list with a pair


def _gradient_of_sums(group) -> Tensor:
    """Of the weights of a model after sums of losses, over the number of lists of all processes."""
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    model = scorer()
    parallel = DistributedDataParallel(model, process_group=group)
    lists, targets = LISTS[rank::world], TARGETS[rank::world]
    counted = (targets.isfinite().sum(-1) > 1).sum()
    torch.distributed.all_reduce(counted, group=group)
    loss = tr.kendall_loss(parallel(lists)[..., 0], targets, window=1.0, reduction="sum")
    (world * loss / counted).backward()
    return model.weight.grad


def scorer() -> torch.nn.Linear:
    model = torch.nn.Linear(3, 1, dtype=torch.float64)
    torch.nn.init.ones_(model.weight)
    return model


def test_lists_without_pairs_in_some_processes(tmp_path):
    """As docs/loops.md has it: the mean over the lists of all processes."""
    alone = scorer()
    tr.kendall_loss(alone(LISTS)[..., 0], TARGETS, window=1.0).backward()
    for found in run(2, _gradient_of_sums, tmp_path):
        torch.testing.assert_close(found, alone.weight.grad, rtol=1e-12, atol=0)


def in_checkpoint(kernel, X):
    return checkpoint(kernel, X, use_reentrant=False)


def in_autocast(kernel, X):
    with torch.autocast("cpu", torch.bfloat16):
        return kernel(X)


def compiled(kernel, X):
    torch.compiler.reset()
    return torch.compile(kernel, backend="aot_eager")(X)


HARD = [tr.KendallKernel(), tr.MallowsKernel(lam=0.5), tr.MultivariateKernel([tr.KendallKernel()], sizes=[5])]


@pytest.mark.parametrize(
    "around",
    [lambda kernel, X: kernel(X), in_checkpoint, in_autocast, pytest.param(compiled, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("kernel", HARD, ids=lambda kernel: type(kernel).__name__)
def test_hard_counts_say_that_they_have_no_derivative(kernel, around):
    X = SCORES.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
        (around(kernel, X) * (TARGET[:, None] - TARGET)).square().sum().backward()
    K = around(kernel, X.detach())
    assert not K.requires_grad or any(p.requires_grad for p in kernel.parameters())
