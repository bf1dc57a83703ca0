"""Slow, obvious truths, written from the definitions; they share no code with the package."""
