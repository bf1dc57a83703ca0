"""Mixture models of rankings."""
