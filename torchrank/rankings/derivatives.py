# pyright: reportIncompatibleMethodOverride=false
# Derivatives take one argument for each input or output of forward, as torch documents, not the base class's *args.
"""What is piecewise constant in scores has no derivative, and says so when one is asked for, in every mode."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch._C._functorch import TransformType, get_unwrapped, is_batchedtensor
from torch._functorch.pyfunctorch import retrieve_all_functorch_interpreters
from torch.autograd import forward_ad

Thing = TypeVar("Thing")

KENDALL = "Kendall counts are"


def known_signature(function: type[Thing]) -> type[Thing]:
    """A class of autograd whose ``forward`` torch need not look up: that takes a tenth of the time of a small loss."""
    forward: Any = vars(function)["forward"].__func__
    forward.__signature__ = inspect.signature(forward)
    return function


@known_signature
class _PiecewiseConstant(torch.autograd.Function):
    """Hands the result through; a derivative with respect to the scores is refused."""

    generate_vmap_rule = True

    @staticmethod
    def forward(message: str, result: Tensor, *scores: Tensor) -> Tensor:
        return result.view_as(result)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps what to say: there is no way back."""
        ctx.message = inputs[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        raise RuntimeError(ctx.message)


class _InEveryMode(_PiecewiseConstant):
    """The same with forward mode, which torch.compile does not take."""

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
        if any(tangent is not None for tangent in tangents[2:]):
            raise RuntimeError(ctx.message)
        return tangents[1]


def without_gradient(result: Tensor, *scores: Tensor | None, what: str = KENDALL) -> Tensor:
    """``result``, which ``what`` names; ``RuntimeError`` where its derivative with respect to ``scores`` is asked for.

    ``what`` starts the sentence "... piecewise constant in the scores".
    """
    return _refusing(result, scores, _refusal(what))


def not_followed(result: Tensor, *inputs: Any, by: str, why: str = "searches") -> Tensor:
    """``result`` of a search or the like; ``RuntimeError`` where a derivative in any of ``inputs`` is asked for."""
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    return _refusing(result, tensors, f"{by} {why}, and no derivative follows it: detach what it is given")


def of_rows(result: Tensor, X: Any, *, by: str) -> Tensor:
    """``result`` of a model; ``RuntimeError`` where a derivative in the rows ``X`` that it was given is asked for."""
    message = f"{by} has no derivative in the rows that it is given, only in its parameters: detach them (X.detach())"
    return _refusing(result, [given_scores(X)], message)


def given_scores(X: Any) -> Tensor | None:
    """The scores in which a derivative may be asked for, of scores or of prepared rankings."""
    given = X if isinstance(X, Tensor) else getattr(X, "scores", None)
    return given if isinstance(given, Tensor) else None


def once_compiled(result: Tensor, *inputs: Tensor | None, what: str) -> Tensor:
    """A first derivative ``result`` in a graph of torch.compile, whose own derivatives in ``inputs`` are refused.

    ``what`` starts the sentence "... differentiable once".
    """
    asking = [value for value in inputs if value is not None and value.requires_grad]
    if not asking or not torch.is_grad_enabled():
        return result
    return _PiecewiseConstant.apply(once(what), result, *asking)


def once(what: str) -> str:
    """That there are no second derivatives in graphs of torch.compile."""
    return f"under torch.compile {what} differentiable once: leave out create_graph=True, or torch.compile"


def _refusing(result: Tensor, inputs: Sequence[Tensor | None], message: str) -> Tensor:
    asking = [value for value in inputs if value is not None and needs_derivative(value)]
    if not asking or not result.is_floating_point():
        return result
    if in_graph(*asking):
        if not _in_vmap():
            return _PiecewiseConstant.apply(message, result, *asking)
        zero = result.new_zeros(())
        for scores in asking:
            zero = torch.ops.torchrank.constant_in(zero, scores, message)
        return result + zero
    if needs_derivative(result):  # in something else: who asks for that alone does not come by here
        return result + _InEveryMode.apply(message, result.new_zeros(()), *asking)
    return _InEveryMode.apply(message, result, *asking)


# For vmap in graphs, in which torch looks through a function of its own only where it sees that a derivative is wanted.
torch.library.define("torchrank::constant_in", "(Tensor zero, Tensor scores, str message) -> Tensor")
torch.library.impl("torchrank::constant_in", "default")(lambda zero, scores, message: zero.clone())
torch.library.register_fake("torchrank::constant_in", lambda zero, scores, message: zero.new_empty(()))


def _keep_message(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.message = inputs[2]


def _refuse(ctx: Any, gradient: Tensor) -> Any:
    raise RuntimeError(ctx.message)


def _constant_in_all(info: Any, dims: tuple[int | None, ...], zero: Tensor, *rest: Any) -> tuple[Tensor, None]:
    return torch.ops.torchrank.constant_in(zero.new_zeros(()), *rest), None


torch.library.register_autograd("torchrank::constant_in", _refuse, setup_context=_keep_message)
torch.library.register_vmap("torchrank::constant_in", _constant_in_all)


def needs_derivative(values: Tensor) -> bool:
    """Whether a derivative with respect to ``values`` may be asked for, backwards or forwards."""
    if not values.is_floating_point():
        return False
    if in_graph():
        return torch.is_grad_enabled() and (_requires_grad(values) or _in_vmap())  # where nobody can know
    while is_batchedtensor(values):  # which say nothing of gradients from outside of vmap, nor of tangents
        values = get_unwrapped(values)
    if values.requires_grad and torch.is_grad_enabled():
        return True
    return forward_ad.unpack_dual(values).tangent is not None


def _requires_grad(values: Tensor) -> bool:
    """As torch says; while a graph is made, what torch.func.grad is given says no and what is made of it yes."""
    return (values.view_as(values) if torch.compiler.is_compiling() else values).requires_grad


def in_graph(*smooth: Tensor | None) -> bool:
    """Whether torch.compile takes a call into a graph, in which the derivatives of an op are those of its registration.

    Raises:
        RuntimeError: where ``torch.func.grad``, ``jvp`` and the like take derivatives in ``smooth``, or may do so.
            Registered derivatives do not serve these, and torch would give zeros for ``jvp``.
    """
    if not torch.compiler.is_compiling():
        return False
    _refuse_transforms(any(value is not None and _requires_grad(value) for value in smooth))
    return True


def _refuse_transforms(backwards: bool) -> bool:
    """Looks, while a graph is made, at the transforms that are being traced."""
    kinds = (TransformType.Jvp, TransformType.Grad) if backwards else (TransformType.Jvp,)
    if any(level.key() in kinds for level in retrieve_all_functorch_interpreters()):
        raise RuntimeError(
            "torch.compile takes no derivatives by torch.func through torchrank: compile the function alone and call "
            ".backward() or torch.autograd.grad on what it gives, or leave out torch.compile"
        )
    return False


def _in_vmap() -> bool:
    """Whether vmap is at work, looked at while a graph is made."""
    return any(level.key() == TransformType.Vmap for level in retrieve_all_functorch_interpreters())


# What torch.compiler.assume_constant_result does, which would bring the whole compiler with ``import torchrank``.
for _asked in (_refuse_transforms, _in_vmap):
    _asked.__dict__["_dynamo_marked_constant"] = True


def in_transform() -> bool:
    """Whether ``torch.func`` transforms are at work, in which values may not be looked at."""
    return bool(retrieve_all_functorch_interpreters())


def refuse_nested_forward() -> None:
    """Raise where a derivative in forward mode is itself followed by forward mode, for ``jvp`` of custom functions.

    torch hands these functions the numbers of the inner direction only, so that the outer one would be lost.

    Raises:
        RuntimeError: a ``jvp`` or ``jacfwd`` within another.
    """
    if sum(level.key() == TransformType.Jvp for level in retrieve_all_functorch_interpreters()) > 1:
        raise RuntimeError(
            "forward mode within forward mode loses a direction here; take torch.func.hessian, or a jvp of "
            "torch.func.grad"
        )


def _refusal(what: str) -> str:
    return (
        f"{what} piecewise constant in the scores, so their derivative is zero or undefined: detach the scores "
        "(X.detach()); what a result is smooth in, such as lam or window, stays differentiable"
    )


@known_signature
class _OnValues(torch.autograd.Function):
    """A function of tensors without derivatives, which torch's transforms call with plain tensors."""

    @staticmethod
    def forward(function: Callable[..., Any], *tensors: Tensor | None) -> Any:
        return function(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps nothing: there are no derivatives."""

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        raise AssertionError("arguments are detached")

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
        raise AssertionError("arguments are detached")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], function: Callable[..., Any], *tensors: Tensor | None) -> Any:
        moved = [t if t is None or d is None else t.movedim(d, 0) for t, d in zip(tensors, in_dims[1:], strict=True)]
        results = _OnValues.apply(function, *moved)
        return results, 0 if isinstance(results, Tensor) else (0,) * len(results)


def on_values(function: Callable[..., Any], *tensors: Tensor | None) -> Any:
    """``function(*tensors)`` without derivatives, for code that looks at values or works in place.

    Under ``torch.func.vmap`` it is called once, with one more batch dimension in front of the arguments that differ,
    and has to give one in front of its results. Batch dimensions of several arguments should be the same before.
    """
    if torch.compiler.is_compiling():
        return function(*tensors)
    return _OnValues.apply(function, *(None if t is None else t.detach() for t in tensors))
