"""Conditional ranking on relational data: Kronecker RLS and RankRLS."""

from torchrank.conditional.closed_form import kron_rank_rls, kron_rls, two_step_loo, two_step_rls
from torchrank.conditional.eigen import KroneckerEigh
from torchrank.conditional.pair_kernels import PairKernel, antisymmetrize, symmetrize

__all__ = [
    "KroneckerEigh",
    "PairKernel",
    "antisymmetrize",
    "kron_rank_rls",
    "kron_rls",
    "symmetrize",
    "two_step_loo",
    "two_step_rls",
]
