"""Powers of two against those of Python's and torch's own functions."""

import math
import sys

import pytest
import torch

from torchrank.rankings.powers import exponent_of, power_of_two, unit_of

NUMBERS = [0.0, 5e-324, 3e-320, sys.float_info.min, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 1e-300, 1e300, sys.float_info.max]


def test_exponents_are_those_of_frexp():
    values = torch.tensor(NUMBERS, dtype=torch.float64)
    assert exponent_of(values).tolist() == [math.frexp(number)[1] for number in NUMBERS]
    single = torch.rand(1000, generator=torch.Generator().manual_seed(0)) ** 40
    assert torch.equal(exponent_of(single), single.frexp().exponent.long())
    assert exponent_of(values.requires_grad_()).dtype == torch.int64


def test_powers_are_exact():
    exponents = torch.arange(-1022, 1024)
    assert power_of_two(exponents).tolist() == [math.ldexp(1.0, int(k)) for k in exponents]


@pytest.mark.parametrize("number", NUMBERS[3:])
def test_units_are_the_largest_powers_below(number):
    unit = float(unit_of(torch.tensor(number, dtype=torch.float64)))
    assert unit <= number < 2 * unit
    assert math.frexp(unit)[0] == 0.5


def test_in_graphs():
    """For which the compiler has no code of its own where frexp is used."""
    values = torch.rand(64, dtype=torch.float64)
    compiled = torch.compile(lambda x: power_of_two(exponent_of(x)), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(values), torch.ldexp(torch.ones(()), values.frexp().exponent).double())
