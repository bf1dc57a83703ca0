"""One file an operation."""
