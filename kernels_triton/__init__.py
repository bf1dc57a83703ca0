"""Triton kernels of torchrank, one file an op. They take tensors and plain numbers and know nothing of torchrank."""
