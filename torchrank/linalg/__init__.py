"""Linear algebra of kernel matrices: checks, eigen-decompositions, Kronecker products and Krylov solvers."""

from torchrank.linalg.iterative import Iteration, KrylovSolution, bicgstab, cg
from torchrank.linalg.kronecker import kron_matmul
from torchrank.linalg.symmetric import Eigen, as_double, centered_eigh, check_psd, check_symmetric, psd_eigh

__all__ = [
    "Eigen",
    "Iteration",
    "KrylovSolution",
    "as_double",
    "bicgstab",
    "centered_eigh",
    "cg",
    "check_psd",
    "check_symmetric",
    "kron_matmul",
    "psd_eigh",
]
