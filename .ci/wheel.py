"""Run with the folder of an installed wheel in PYTHONPATH: both packages come from there and need no optional one."""

import importlib.util
import sys
from importlib.machinery import PathFinder

ABSENT = ("triton", "sklearn")


class Without(PathFinder):
    """Finds what is installed but for the optional packages."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        """Nothing for the optional packages."""
        return None if name.partition(".")[0] in ABSENT else super().find_spec(name, path, target)


sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]

import torch

import kernels_triton
import torchrank

for package in (torchrank, kernels_triton):
    assert package.__file__.startswith(sys.argv[1]), package.__file__
for absent in ABSENT:
    assert importlib.util.find_spec(absent) is None, absent
X = torch.tensor([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
assert torch.equal(torchrank.kendall_gram(X), torch.tensor([[1.0, 1 / 3], [1 / 3, 1.0]]))
print("wheel: both packages import from another folder, without Triton and scikit-learn")
