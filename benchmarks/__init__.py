"""Measurements: every speed claim of torchrank is a row that one of these scripts wrote."""
