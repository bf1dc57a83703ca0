"""The engines that have to keep one contract."""

import torch

METHODS = ("reference", "signs", "inversions")
DEVICES = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
ENGINES = [(method, device) for device in DEVICES for method in METHODS]
