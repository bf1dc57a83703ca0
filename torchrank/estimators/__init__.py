"""Adapters to scikit-learn, which this package alone of torchrank imports."""

from torchrank.estimators.kronecker import KroneckerRLS, KroneckerRLSCV

__all__ = ["KroneckerRLS", "KroneckerRLSCV"]
