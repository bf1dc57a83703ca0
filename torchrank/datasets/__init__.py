"""Data sets: generators of the papers' synthetic data and readers of files; import from the modules."""
