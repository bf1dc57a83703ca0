"""Derivatives by the transforms of torch.func beside those of autograd."""

import torch
from torch.func import grad, hessian, jacfwd, jacrev


def transforms_agree(function, inputs):
    """``grad`` is autograd's gradient, and derivatives forwards are those backwards, of first and second order."""
    places = tuple(range(len(inputs)))
    target = torch.rand_like(function(*inputs))

    def loss(*values):
        return (function(*values) * target).sum()

    leaves = [value.clone().requires_grad_() for value in inputs]
    expected = torch.autograd.grad(loss(*leaves), leaves)
    torch.testing.assert_close(grad(loss, places)(*inputs), expected)
    torch.testing.assert_close(jacfwd(function, places)(*inputs), jacrev(function, places)(*inputs))
    torch.testing.assert_close(jacfwd(grad(loss))(*inputs), jacrev(grad(loss))(*inputs))
    assert hessian(loss)(*inputs).isfinite().all()
