"""A CUDA device that is not there: tensors that say they are on it, compute on the CPU, and count what a card would do.

It runs the code that CUDA tensors run, up to the launches of Triton's kernels, which it records. It counts what torch
documents or its debug mode reports as waiting for a device; of times and rounding it knows nothing.
"""

import weakref
from collections.abc import Iterable
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import triton.runtime.jit
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakIdKeyDictionary

from torchrank.ops.registration import BODIES

CARD = torch.device("cuda", 1)
HOST = torch.device("cpu")
_ASKING = {
    *("item", "tolist", "__bool__", "__int__", "__float__", "__index__", "is_nonzero", "__contains__"),
    *("nonzero", "unique", "unique_consecutive", "masked_select", "equal", "allclose", "bincount", "argwhere"),
    *("linalg_eigh", "linalg_eigvalsh", "linalg_cholesky", "linalg_solve", "linalg_lstsq"),
}
_EMPTY = {"empty", "empty_like", "new_empty", "empty_strided"}
_ANYWHERE = {"to", "copy_", "__getitem__", "__setitem__", "__get__", "__set__", "backward", "type_as", "set_"}


class Launch(NamedTuple):
    """A kernel that would have been launched."""

    kernel: str
    device: torch.device | None  # the current one; None where none was made so
    args: tuple[Any, ...]  # none: arguments have names
    settings: dict[str, Any]  # but for tensors


class OnCard(Tensor):
    """A tensor with its data on the CPU that says it is on the card."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The card."""
        return CARD

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        """Yes."""
        return True


class Card(TorchFunctionMode):
    """While entered the card is there; ``waits`` names the calls that wait for it, ``launches`` kernels and device."""

    def __init__(self, monkeypatch: Any, capability: tuple[int, int] = (9, 0)) -> None:
        super().__init__()
        self.waits: list[str] = []
        self.launches: list[Launch] = []
        self._current: torch.device | None = None
        self.held = self.most = 0  # bytes of tensors made on the card, now and at a time
        self._storages = WeakIdKeyDictionary()
        self._strict = True  # gradients come without their class
        monkeypatch.setattr(torch.cuda, "device", self._guard)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
        monkeypatch.setattr(triton.runtime.jit.JITFunction, "run", lambda kernel, *a, **k: self._launch(kernel, a, k))

    @contextmanager
    def _guard(self, device: torch.device):
        before, self._current = self._current, device
        try:
            yield
        finally:
            self._current = before

    @contextmanager
    def _backwards(self):
        self._strict = False
        try:
            yield
        finally:
            self._strict = True

    def _launch(self, kernel: Any, args: Any, kwargs: Any) -> None:
        plain = {name: value for name, value in kwargs.items() if not isinstance(value, Tensor)}
        self.launches.append(Launch(kernel.__name__, self._current, args, plain))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        before = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        here = any(isinstance(tensor, OnCard) for tensor in before)
        if str(getattr(func, "_qualified_op_name", "")).startswith("torchrank::"):
            body = BODIES.get((name, "cuda" if here else "cpu")) or BODIES[name, "default"]
            if not self._strict:
                args = tree_map(lambda leaf: _moved(leaf, OnCard) if _is_many(leaf) else leaf, args)
            with self:
                return body(*args, **kwargs)
        if name == "backward":
            with self._backwards(), self:
                engine = torch.autograd.Variable._execution_engine  # what backward calls, past the modes
                gradient = torch.ones((), dtype=args[0].dtype)
                return engine.run_backward((args[0],), (gradient,), False, False, (), True, True)
        if name == "__get__" or not (here or _names_a_device((args, kwargs))):
            return func(*args, **kwargs)
        place = CARD if here else HOST
        asked = [leaf for leaf in tree_leaves((args[1:] if here else args, kwargs)) if _is_place(leaf)]
        if name in ("cpu", "cuda", "numpy"):
            assert name != "numpy", "a tensor on a card has no NumPy array"
            asked = [HOST if name == "cpu" else CARD]
            func, args, kwargs = Tensor.to, (args[0], HOST), {}
        elif name in ("to", "type_as") and len(before) > 1:
            asked = [before[1].device]
        if asked:
            place = torch.device(asked[0])
        if not self._strict or name in _ANYWHERE or asked:
            pass
        elif len({tensor.device.type for tensor in before if tensor.ndim}) > 1:
            raise RuntimeError(f"Expected all tensors to be on the same device: {name}")
        if _waits(name, before, place, args):
            self.waits.append(name)
        args, kwargs = tree_map(lambda leaf: HOST if _is_place(leaf) else leaf, (args, kwargs))
        result = func(*args, **kwargs)
        if name in _EMPTY:
            result.zero_()
        kind = OnCard if place.type == "cuda" else Tensor
        if kind is OnCard:
            self._account(leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor))
        return tree_map(lambda leaf: _moved(leaf, kind) if isinstance(leaf, Tensor) else leaf, result)

    def _account(self, made: Iterable[Tensor]) -> None:
        """Note memory that lives, storage by storage; what an operator takes and gives back itself is not seen."""
        for tensor in made:
            storage = tensor.untyped_storage()
            if storage not in self._storages:
                self._storages[storage] = size = storage.nbytes()
                self.held += size
                self.most = max(self.most, self.held)
                weakref.finalize(storage, self._release, size)

    def _release(self, size: int) -> None:
        self.held -= size


def _waits(name: str, before: list[Tensor], place: torch.device, args: Any) -> bool:
    """Whether a call with these tensors, whose result is on that place, waits for the card."""
    on_card = bool(before) and isinstance(before[0], OnCard)
    if name in ("to", "cpu", "cuda", "type_as"):
        return on_card != (place.type == "cuda")
    if name in ("tensor", "as_tensor", "new_tensor", "asarray"):
        return place.type == "cuda" and not on_card
    if name == "copy_":
        return len({isinstance(tensor, OnCard) for tensor in before}) > 1
    if name in ("__getitem__", "__setitem__"):
        index = [leaf for leaf in tree_leaves(args[1]) if isinstance(leaf, Tensor)]
        fills = name == "__setitem__" and not (isinstance(args[2], Tensor) and args[2].numel() > 1)
        asks = any(leaf.dtype == torch.bool for leaf in index) and not fills
        return on_card and (asks or any(not isinstance(leaf, OnCard) and leaf.ndim for leaf in index))
    return on_card and (name in _ASKING or (name == "repeat_interleave" and len(before) > 1))


def to_card(value: Tensor) -> Tensor:
    """The same numbers on the card."""
    return value.detach().clone().as_subclass(OnCard)


def to_host(value: Tensor) -> Tensor:
    """The same numbers on the CPU, without a wait."""
    return value.detach().as_subclass(Tensor)


def _is_many(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.ndim > 0


def _moved(tensor: Tensor, kind: type[Tensor]) -> Tensor:
    return tensor if type(tensor) is kind or isinstance(tensor, torch.nn.Parameter) else tensor.as_subclass(kind)


def _is_place(leaf: Any) -> bool:
    return isinstance(leaf, torch.device) or (isinstance(leaf, str) and leaf.split(":")[0] in ("cpu", "cuda"))


def _names_a_device(arguments: Any) -> bool:
    return any(_is_place(leaf) for leaf in tree_leaves(arguments))
