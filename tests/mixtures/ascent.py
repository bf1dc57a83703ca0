"""Models fitted by an optimizer, which EM is compared with."""

from collections.abc import Callable

import torch


def ascend(model: torch.nn.Module, objective: Callable[[], torch.Tensor], max_iter: int) -> tuple[float, float]:
    """The objective before and after L-BFGS has maximized it in the model's parameters."""
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=max_iter, line_search_fn="strong_wolfe", tolerance_grad=1e-9
    )

    def closure():
        optimizer.zero_grad()
        loss = -objective()
        loss.backward()
        return loss

    first = -closure().item()
    optimizer.step(closure)
    return first, -closure().item()
