"""The op that finds the bar which k of a row's jittered scores pass."""

import torch
from torch import Tensor

from torchrank.ops.reference.top_k import top_k_bar as on_any_device
from torchrank.ops.registration import implement, vmap_as_batch

torch.library.define("torchrank::top_k_bar", "(Tensor x, Tensor among, Tensor window, int k, str noise) -> Tensor")


def top_k_bar(x: Tensor, among: Tensor, window: Tensor, k: int, noise: str) -> Tensor:
    """The bar that k of the jittered scores of a row can be expected to pass, ``(r, 1)``, without derivative.

    Args:
        x: ``(r, n)`` finite float64 scores, n at least 1.
        among: ``(r, n)`` bool, which items count.
        window: ``(r, 1)`` positive numbers, float64.
        k: how many; where as many or fewer count, or for 0, the bar has no meaning.
        noise: a key of :data:`torchrank.rankings.noises.NOISES`.

    Where an interval of bars does, its middle. No device is waited for.
    """
    return torch.ops.torchrank.top_k_bar(x.detach(), among, window.detach(), k, noise)


implement("top_k_bar", "default", on_any_device)
vmap_as_batch("top_k_bar", axis=0)
torch.library.register_fake("torchrank::top_k_bar", lambda x, *others: x.new_empty(len(x), 1))
