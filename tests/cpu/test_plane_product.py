"""Bit counts between rows of words, by both ways of counting, whatever the processor would choose."""

import numpy as np
import pytest

from torchrank.cpu.compiled import njit
from torchrank.cpu.plane_product import LANES, by_adders, in_registers, plane_product

WAYS = {"by adders": by_adders, "in registers": in_registers}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_counts_are_those_of_the_bits(way, masked):
    rows, columns = 2, 3
    product = plane_product(rows, columns, masked=masked, way=WAYS[way])

    @njit(nogil=True)
    def count(a, b, mask_a, mask_b, start_a, start_b, stride, groups, out):
        product(a, b, mask_a, mask_b, start_a, start_b, stride, groups, out)

    rng = np.random.default_rng(0)
    n_words, start = 23 * LANES, 2 * LANES
    dense = rng.integers(0, 2**64, (4, 4, n_words), dtype=np.uint64)
    dense[:, 1] = 2**64 - 1  # every bit is set, so that every sum carries
    dense[:, 2] = 0
    for groups in (0, 1, 2, 3, 4, 5, 8, 11, 21):
        out = np.full(2 * rows * columns, -1)
        flat = [words[:3].reshape(-1) for words in dense]
        count(*flat, n_words + start, start, n_words, groups, out)  # the first array from its second row on
        a, b, mask_a, mask_b = (words[:, start : start + LANES * groups] for words in dense)
        differ = a[1:3, None] ^ b[None, :3]
        both = mask_a[1:3, None] & mask_b[None, :3]
        wanted = [differ & both, both] if masked else [differ]
        bits = [np.unpackbits(words.view(np.uint8), axis=-1).sum(-1, dtype=np.int64).ravel() for words in wanted]
        np.testing.assert_array_equal(out[: len(bits) * rows * columns], np.concatenate(bits))
        assert (out[len(bits) * rows * columns :] == -1).all()
