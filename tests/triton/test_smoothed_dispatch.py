"""Which engine the smoothed ops take for CUDA tensors, as far as a machine without a GPU can tell."""

from importlib.util import find_spec

import pytest
import torch

import torchrank.ops.smoothed as module
from torchrank.ops import engines
from torchrank.ops.pair_counts import WORKSPACE

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
X = torch.randn(1, 4, 9, generator=torch.Generator().manual_seed(0))
WINDOW = torch.tensor(0.5)
SETTINGS = ("uniform", "exact", WORKSPACE)


@pytest.mark.parametrize("name", ["smoothed_gram", "smoothed_gram_backward"])
def test_the_ops_have_an_engine_of_their_own_on_cuda(name):
    assert torch._C._dispatch_has_kernel_for_dispatch_key(f"torchrank::{name}", "CUDA")


def test_the_kernels_take_single_precision_and_ordinary_windows():
    assert module._fused(X, 0.5, "exact")
    assert module._fused(X, 0.5, "auto")
    assert not module._fused(X, 0.5, "reference")
    assert not module._fused(X.double(), 0.5, "exact")
    assert not module._fused(X, 1e-300, "exact")


def test_without_triton_cuda_tensors_take_plain_torch(monkeypatch):
    monkeypatch.setattr(
        engines, "why_missing", lambda device: "triton cannot be imported" if device == "cuda" else None
    )
    weights = torch.ones(1, 4, 4)
    result = module._gram_on_cuda(X, None, WINDOW, *SETTINGS, False)
    assert torch.equal(result, module._gram(X, None, WINDOW, *SETTINGS, False))
    parts = module._gram_backward_on_cuda(weights, X, None, WINDOW, *SETTINGS)
    assert all(map(torch.equal, parts, module._gram_backward(weights, X, None, WINDOW, *SETTINGS)))


def test_the_sweep_is_refused_on_cuda(monkeypatch):
    monkeypatch.setattr(module, "why_missing", lambda device: None)
    monkeypatch.setattr(module, "_why_no_sweep", lambda x, noise: "it exists for the CPU only")
    with pytest.raises(RuntimeError, match=r"'sweep' .* CPU only"):
        module._gram_on_cuda(X, None, WINDOW, "uniform", "sweep", WORKSPACE, False)
