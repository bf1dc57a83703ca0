"""Conditional ranking on relational data: Kronecker RLS and RankRLS."""

from torchrank.conditional.closed_form import kron_rank_rls, kron_rls, two_step_loo, two_step_rls
from torchrank.conditional.edges import kron_edge_rls, observed_edges
from torchrank.conditional.eigen import KroneckerEigh
from torchrank.conditional.iterative import kron_iterative_rls
from torchrank.conditional.krylov import FitState, IterativeFit
from torchrank.conditional.loss import conditional_rank_loss
from torchrank.conditional.module import KroneckerRLS
from torchrank.conditional.pair_kernel import PairKernel
from torchrank.conditional.relations import antisymmetrize, symmetrize
from torchrank.conditional.splits import ConditionalSplit, check_leakage

__all__ = [
    "ConditionalSplit",
    "FitState",
    "IterativeFit",
    "KroneckerEigh",
    "KroneckerRLS",
    "PairKernel",
    "antisymmetrize",
    "check_leakage",
    "conditional_rank_loss",
    "kron_edge_rls",
    "kron_iterative_rls",
    "kron_rank_rls",
    "kron_rls",
    "observed_edges",
    "symmetrize",
    "two_step_loo",
    "two_step_rls",
]
