"""Adapters to scikit-learn, which this package alone of torchrank imports."""

from torchrank.estimators.kronecker import KroneckerRLS
from torchrank.estimators.kronecker_cv import KroneckerRLSCV

__all__ = ["KroneckerRLS", "KroneckerRLSCV"]
