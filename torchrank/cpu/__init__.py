"""CPU engines, compiled by numba; same stems as the ops."""
