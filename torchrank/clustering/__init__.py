"""Clusters of rankings: kernel k-means, and k-means whose centers are rankings."""

from torchrank.clustering.kernel_kmeans import KernelKMeans
from torchrank.clustering.lloyd import KMeansFit
from torchrank.clustering.ranking_kmeans import RankingKMeans

__all__ = ["KMeansFit", "KernelKMeans", "RankingKMeans"]
