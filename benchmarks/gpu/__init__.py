"""The parts of ``python -m benchmarks.gpu_check``."""
