"""Training on rankings, row by row: differentiable agreement of predicted scores with hard rankings."""

from torchrank.losses.kendall import kendall_loss
from torchrank.losses.modules import KendallLoss, WindowSchedule
from torchrank.losses.spearman import soft_rank, spearman_loss
from torchrank.losses.top_k import soft_top_k

__all__ = ["KendallLoss", "WindowSchedule", "kendall_loss", "soft_rank", "soft_top_k", "spearman_loss"]
