"""MM-PL as a scikit-learn estimator."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank.estimators.label_ranking import LabelRankingClusterer
from torchrank.label_ranking.mm_pl import MMPL, PREDICTIONS
from torchrank.label_ranking.settings import EMSettings
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import check_choice


@in_plain_surroundings
class MMPLClusterer(LabelRankingClusterer):
    """MM-PL, the Plackett-Luce mixture gated by prototypes; see :class:`torchrank.MMPL`.

    Distances are Euclidean: put a scaler in front where features have different units.

    Args:
        n_clusters: K.
        n_prototypes: prototypes per cluster.
        settings: of expectation-maximisation; None means :class:`EMSettings`' defaults.
        missing: what an unranked label means: "interleaving", nothing; "topk", less preferred than all ranked ones.
        prediction: rankings by the "nearest" prototype's cluster, or expected under the whole "mixture".
        random_state: seed or ``numpy.random.RandomState``.
        verbose: show a progress bar of the passes over the rows, with the log-likelihood.

    Attributes:
        model_: the :class:`torchrank.MMPL` module.
        converged_: whether training came to its end; see :class:`EMSettings`.
        n_iter_: passes over the rows.
        log_likelihood_: mean log-likelihood in each pass.
    """

    def __init__(
        self,
        n_clusters: int = 10,
        n_prototypes: int = 10,
        *,
        settings: EMSettings | None = None,
        missing: str = "interleaving",
        prediction: str = "nearest",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_prototypes = n_prototypes
        self.settings = settings
        self.missing = missing
        self.prediction = prediction
        self.random_state = random_state
        self.verbose = verbose

    def predict_ranking(self, X: Any) -> np.ndarray:
        """Scores ``(N, L)`` of predicted rankings, larger = preferred."""
        features = self._features(X)
        return self.model_.predict(features, method=self.prediction).detach().numpy()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities ``(N, K)`` of the clusters given the features alone; equation 21 of Grbovic et al. (2013).

        Column k is cluster k, with the ranking ``central_rankings_[k]``, and rows add up to 1. :meth:`predict` asks for
        the nearest prototype alone, so that its cluster need not be the most probable one.
        """
        features = self._features(X)
        return self.model_(features).exp().detach().numpy()

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> MMPL:
        check_choice(self.prediction, "prediction", PREDICTIONS)
        model = MMPL(X.shape[1], Y.shape[1], self.n_clusters, self.n_prototypes, dtype=torch.float64)
        evidence = model.fit(X, Y, self.settings, missing=self.missing, seed=seed, progress=bool(self.verbose))
        self.converged_, self.n_iter_ = evidence.converged, len(evidence.log_likelihood)
        self.log_likelihood_ = np.array(evidence.log_likelihood)
        return model
