"""Compile kernels without a GPU and look at what came out."""

import inspect
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

RELEASE = tuple(int(part) for part in triton.__version__.split(".")[:2])


@dataclass(frozen=True)
class Variant:
    """One specialization of a kernel, as a launch would ask for it."""

    name: str
    kernel: object
    arch: int
    types: dict[str, str]  # of every argument that is not a constant
    constants: dict[str, object]
    warps: int = 4
    registers: int | None = None
    stages: int = 3
    even: tuple[str, ...] = ()  # sizes that divide by 16, as all pointers do
    odd: tuple[str, ...] = ()  # but for these, which may point into the middle of a tensor
    packed: bool = False  # should comparisons take two numbers an instruction
    tensor_cores: bool = False
    target: int | None = None  # the card to compile for; None is the one that the tiles are named after

    @property
    def card(self) -> int:
        """What to compile for."""
        return self.target or self.arch

    def __str__(self) -> str:
        return f"{self.name}-sm_{self.card}-{'odd' if self.odd else 'aligned'}"


@dataclass(frozen=True)
class Compiled:
    ptx: str
    sass: str
    registers: int
    stack: int
    shared: int


def compile_variant(variant: Variant, folder: Path) -> Compiled:
    """PTX, machine code and resources of one variant; ``folder`` takes the binary for the disassembler."""
    source = _source(variant)
    options = {"num_warps": variant.warps, "num_stages": variant.stages, "maxnreg": variant.registers}
    built = triton.compile(source, target=GPUTarget("cuda", variant.card, 32), options=options)
    cubin = folder / "kernel.cubin"
    cubin.write_bytes(built.asm["cubin"])
    usage = re.search(r"REG:(\d+) STACK:(\d+)", _cuobjdump("--dump-resource-usage", cubin))
    assert usage, "cuobjdump reported no resources"
    return Compiled(
        built.asm["ptx"], _cuobjdump("--dump-sass", cubin), int(usage[1]), int(usage[2]), built.metadata.shared
    )


def _source(variant: Variant) -> ASTSource:
    """What Triton compiles; 3.3 changed how constants and multiples of 16 are said."""
    names = variant.kernel.arg_names  # type: ignore[attr-defined]
    divisible = [
        position
        for position, name in enumerate(names)
        if name in variant.even or (variant.types.get(name, "").startswith("*") and name not in variant.odd)
    ]
    types = {name: variant.types.get(name, "constexpr") for name in names}
    if "constexprs" in inspect.signature(ASTSource).parameters:
        attributes = {(position,): [["tt.divisibility", 16]] for position in divisible}
        return ASTSource(variant.kernel, types, constexprs=variant.constants, attrs=attributes)
    from triton.backends.compiler import AttrsDescriptor

    attributes = AttrsDescriptor.from_hints(dict.fromkeys(divisible, 16))
    return ASTSource(variant.kernel, types, constants=variant.constants, attrs=attributes)


def _cuobjdump(option: str, cubin: Path) -> str:
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    return subprocess.run([tool, option, cubin], capture_output=True, text=True, check=True).stdout
