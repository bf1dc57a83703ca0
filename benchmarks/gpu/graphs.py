"""Calls that ask the device nothing, captured as CUDA graphs and replayed on other numbers."""

from collections.abc import Callable

import torch
from torch import Tensor

import torchrank
from benchmarks.gpu.parts import Context, Verdict, part

CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "kendall_gram": lambda X: torchrank.kendall_gram(X, method="signs"),
    "kendall_gram, two sets": lambda X: torchrank.kendall_gram(X, X[:5], method="signs"),
    "kendall_gram of partial rankings": lambda X: torchrank.kendall_gram(X, method="signs", missing="topk"),
}


@part("graphs", seconds=15)
def graphs(context: Context) -> Verdict:
    """Integer scores and signs: a captured call gives the numbers of a plain one. The rehearsal calls again instead."""
    wrong: list[str] = []
    first, second = (
        torch.randint(0, 50, (2, 33, 70), generator=torch.Generator().manual_seed(0)).to(context.device).unbind()
    )
    for name, call in CALLS.items():
        given = first.clone()
        replay = _again(call, given) if context.dry else _captured(call, given)
        given.copy_(second)
        equal = torch.equal(replay(), call(second))
        context.record(call=name, equal=equal)
        wrong += [] if equal else [name]
    return Verdict(not wrong, f"WRONG: {', '.join(wrong)}" if wrong else f"{len(CALLS)} calls replayed")


def _again(call: Callable[[Tensor], Tensor], given: Tensor) -> Callable[[], Tensor]:
    call(given)
    return lambda: call(given)


def _captured(call: Callable[[Tensor], Tensor], given: Tensor) -> Callable[[], Tensor]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # kernels are compiled before the capture
        call(given)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call(given)

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay
