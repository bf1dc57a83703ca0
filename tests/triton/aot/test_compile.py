"""Every row of the tile tables compiles for every card it is for, fits the card and uses the instructions it claims."""

import re

import pytest

from tests.triton.aot.compiled import RELEASE, compile_variant
from tests.triton.aot.variants import all_variants

# Bytes a program can have; those of consumer cards are the tightest.
SHARED_LIMIT = {80: 163 * 1024, 86: 99 * 1024, 89: 99 * 1024, 90: 227 * 1024, 100: 227 * 1024, 120: 99 * 1024}
TENSOR_CORES = {90: "HGMMA", 100: "UTCHMMA"}  # and HMMA
REGISTERS = 65_536  # of a multiprocessor


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory):
    """A cached binary would hide that a kernel no longer compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield


pytestmark = pytest.mark.slow  # each of them some seconds


@pytest.mark.parametrize("variant", [*all_variants()], ids=str)
def test_variant(variant, tmp_path):
    built = compile_variant(variant, tmp_path)
    assert f".target sm_{variant.card}" in built.ptx
    assert built.shared <= SHARED_LIMIT[variant.card]
    assert built.registers * 32 * variant.warps <= REGISTERS
    # The tile tables were chosen with 3.6: before it a dozen variants keep up to 200 bytes in memory, right but slower.
    # So do three of consumer cards, 8 bytes, with 3.7 alone.
    if RELEASE >= (3, 6) and (RELEASE, variant.card) != ((3, 7), 120):
        assert built.stack == 0
        assert not re.search(r"\b(LDL|STL)\b", built.sass), "registers spilled"
    assert "tf32" not in built.ptx
    assert (TENSOR_CORES.get(variant.card, "HMMA") in built.sass) == variant.tensor_cores
    assert ("HSET2" in built.sass) == variant.packed
    assert not (variant.packed and "HSETP2" in built.sass), "comparisons one at a time"
