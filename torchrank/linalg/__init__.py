"""Linear algebra with Kronecker products: eigen-decompositions, products restricted to edges, Krylov solvers."""

from torchrank.linalg.iterative import Iteration, KrylovSolution, bicgstab, cg
from torchrank.linalg.kronecker import PairProduct, Plan, kron_matmul
from torchrank.linalg.symmetric import Eigen, as_double, centered_eigh, check_psd, check_symmetric, psd_eigh

__all__ = [
    "Eigen",
    "Iteration",
    "KrylovSolution",
    "PairProduct",
    "Plan",
    "as_double",
    "bicgstab",
    "centered_eigh",
    "cg",
    "check_psd",
    "check_symmetric",
    "kron_matmul",
    "psd_eigh",
]
