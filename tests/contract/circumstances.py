"""What may surround a call, or change the form of its inputs, without changing its result."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch

from tests.contract.call import Call


@dataclasses.dataclass(frozen=True)
class Circumstance:
    """A change of inputs, each by itself, and surroundings of the call."""

    change: Callable[[np.ndarray], Any] = torch.from_numpy
    kinds: str = "XYVKFwz"  # first letters of the inputs that are changed
    around: Callable[[], Any] = contextlib.nullcontext
    slack: float = 0.0  # how far results may be from the plain ones, beyond what their dtype says
    bits: bool = False  # whether results are the same to the last bit
    whole: bool = False  # whether inputs become integers, among which there are no gaps

    def applies(self, call: Call) -> bool:
        """Whether the call takes such inputs."""
        return any(name[0] in self.kinds for name in call.inputs) and (call.half or not self.whole)

    def inputs(self, call: Call) -> dict[str, Any]:
        """The changed inputs; the others are tensors beside tensors and arrays beside others."""
        changed = {name: self.change(array) for name, array in call.inputs.items() if name[0] in self.kinds}
        tensors = any(isinstance(value, torch.Tensor) for value in changed.values())
        others = {name: torch.from_numpy(a) if tensors else a for name, a in call.inputs.items() if name not in changed}
        return {name.rstrip("_"): {**changed, **others}[name] for name in call.inputs}


TORCH_DTYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64,
    torch.float16, torch.bfloat16, torch.float32,
]  # fmt: skip
NUMPY_DTYPES = [
    "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "longdouble",
]  # fmt: skip
FLOAT8 = [getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]


def strided(array: np.ndarray) -> np.ndarray:
    wide = np.zeros([2 * size for size in array.shape], array.dtype)
    wide[tuple(slice(None, None, 2) for _ in array.shape)] = array
    return wide[tuple(slice(None, None, 2) for _ in array.shape)]


def reversed_(array: np.ndarray) -> np.ndarray:
    everything = tuple(slice(None, None, -1) for _ in array.shape)
    return array[everything].copy()[everything]


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def mapped(array: np.ndarray) -> np.ndarray:
    copy = np.memmap(_scratch(), dtype=array.dtype, mode="w+", shape=array.shape)
    copy[:] = array
    return copy


def _scratch() -> Any:
    import tempfile

    return tempfile.TemporaryFile()


def expanded(array: np.ndarray) -> torch.Tensor:
    return torch.stack([torch.from_numpy(array)] * 2, dim=-1)[..., 0]


def frame(array: np.ndarray) -> Any:
    return pd.DataFrame(array) if array.ndim == 2 else pd.Series(array)


def nullable(array: np.ndarray) -> Any:
    return frame(array).astype("Float64")


def mixed(array: np.ndarray) -> Any:
    """A data frame of integers, floats, nullable integers and bools, where columns are whole numbers."""
    table = frame(array)
    if array.ndim == 1:
        return table
    dtypes = ["int64", "float64", "Int64", "float32", "Int8"]
    whole = np.isfinite(array).all() and (array == np.round(array)).all()
    return table.astype({c: dtypes[c % 5] for c in table.columns}) if whole else table


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def default_device(device: str) -> Iterator[None]:
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextlib.contextmanager
def threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def plain(array: np.ndarray) -> np.ndarray:
    return array


TENSORS = {
    "tensors": Circumstance(),
    **{
        f"scores {dtype}": Circumstance(
            lambda a, d=dtype: torch.from_numpy(a).to(d), "XY", whole=not dtype.is_floating_point
        )
        for dtype in TORCH_DTYPES
    },
    **{f"scores {dtype}": Circumstance(lambda a, d=dtype: torch.from_numpy(a).to(d), "X") for dtype in FLOAT8},
    "numbers float32": Circumstance(lambda a: torch.from_numpy(a).float(), "VKF", slack=2e-4),
    "strided tensors": Circumstance(lambda a: torch.from_numpy(strided(a))),
    "expanded tensors": Circumstance(expanded),
    "transposed tensors": Circumstance(lambda a: torch.from_numpy(a).mT.contiguous().mT, "XYVKF"),
    "negative bits": Circumstance(lambda a: (-torch.from_numpy(a)).neg(), "XYVKF"),
    "parameters": Circumstance(lambda a: torch.nn.Parameter(torch.from_numpy(a)), "w"),
    "autocast": Circumstance(around=lambda: torch.autocast("cpu", torch.bfloat16), bits=True),
    "autocast of float32": Circumstance(
        lambda a: torch.from_numpy(a).float(), "XYVKF", around=lambda: torch.autocast("cpu", torch.bfloat16), slack=2e-4
    ),
    "default dtype float16": Circumstance(around=lambda: default_dtype(torch.float16), bits=True),
    "default dtype float64": Circumstance(around=lambda: default_dtype(torch.float64), bits=True),
    "default device meta": Circumstance(around=lambda: torch.device("meta"), bits=True),
    "set_default_device meta": Circumstance(around=lambda: default_device("meta"), bits=True),
    "no_grad": Circumstance(around=torch.no_grad, bits=True),
    "inference_mode": Circumstance(around=torch.inference_mode, bits=True),
    "inference tensors": Circumstance(lambda a: _inference(a)),
    "one thread": Circumstance(around=lambda: threads(1), bits=True),
    "five threads": Circumstance(around=lambda: threads(5), bits=True),
}
ARRAYS = {
    **{
        f"scores {name}": Circumstance(lambda a, d=name: a.astype(d), "XY", whole="int" in name)
        for name in NUMPY_DTYPES
    },
    "numbers float32": Circumstance(lambda a: a.astype(np.float32), "VKF", slack=2e-4),
    "numbers longdouble": Circumstance(lambda a: a.astype(np.longdouble), "VKFw"),
    "big-endian": Circumstance(lambda a: a.astype(a.dtype.newbyteorder(">"))),
    "strided": Circumstance(strided),
    "reversed": Circumstance(reversed_),
    "Fortran": Circumstance(np.asfortranarray),
    "read-only": Circumstance(read_only),
    "memmap": Circumstance(mapped),
    "objects": Circumstance(lambda a: a.astype(object), "XYVK"),
    "data frame": Circumstance(frame, "XV"),
    "nullable data frame": Circumstance(nullable, "XV"),
    "mixed data frame": Circumstance(mixed, "X"),
    "arrays, default dtype float16": Circumstance(plain, around=lambda: default_dtype(torch.float16), bits=True),
    "arrays, default device meta": Circumstance(plain, around=lambda: torch.device("meta"), bits=True),
    "arrays, set_default_device meta": Circumstance(plain, around=lambda: default_device("meta"), bits=True),
    "arrays, autocast": Circumstance(plain, around=lambda: torch.autocast("cpu", torch.bfloat16), bits=True),
    "arrays, inference_mode": Circumstance(plain, around=torch.inference_mode, bits=True),
}
LISTS = {
    "lists": Circumstance(lambda a: a.tolist()),
    "tuples": Circumstance(lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a.tolist())),
}


def _inference(array: np.ndarray) -> torch.Tensor:
    with torch.inference_mode():
        return torch.from_numpy(array).clone()
