"""MM-PL as a scikit-learn estimator."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

import torchrank.label_ranking as core
from torchrank._docs import shares_arguments
from torchrank.estimators.fitting import SETTINGS, module_on_device
from torchrank.estimators.label_ranking import LabelRanker
from torchrank.evidence import Evidence
from torchrank.label_ranking.mm_pl import PREDICTIONS
from torchrank.rankings.arrays import to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import PARTIAL
from torchrank.rankings.validate import check_choice
from torchrank.typing import GateMetric, PartialWord, Prediction


@isolated
@shares_arguments(SETTINGS)
class MMPL(LabelRanker):
    """MM-PL, the Plackett-Luce mixture gated by prototypes: :class:`torchrank.MMPL`.

    Distances are Euclidean: put a scaler in front where features have different units.

    Args:
        n_clusters: K, of each member.
        n_prototypes: prototypes per cluster.
        n_members: mixtures of bootstrap samples, which are one mixture of B K clusters together; ten predict better
            than one, with ``prediction="mixture"``, and cost ten times as much.
        metric: "euclidean", or "ridge", distances also of the votes that a ridge regression predicts.
        settings: of expectation-maximization; None means the defaults of :class:`torchrank.EMSettings`.
        missing: what an unranked label means: "interleaving", nothing; "topk", less preferred than all ranked ones. One
            word for all rows; :meth:`torchrank.MMPL.fit` takes one a row.
        prediction: rankings by the "nearest" prototype's cluster, or expected under the whole "mixture".
        random_state: seed or ``numpy.random.RandomState``.
        verbose: show a progress bar of the passes over the rows, with the log-likelihood.
        device: {device} Other devices than the CPU update by several rows at a time.

    Attributes:
        model_: the :class:`torchrank.MMPL` module.
        objective_: mean log-likelihood in each pass of the start that was kept.
        losses_: loss_LR of each start on the training rows.
        n_iter_: passes over the rows.
        reason_: "schedule", all updates were made as planned; "tolerance"; or "n_updates", they were too few for it.
    """

    def __init__(
        self,
        n_clusters: int = 10,
        n_prototypes: int = 10,
        *,
        n_members: int = 1,
        metric: GateMetric = "euclidean",
        settings: core.EMSettings | None = None,
        missing: PartialWord = "interleaving",
        prediction: Prediction = "nearest",
        random_state: Any = None,
        verbose: bool = False,
        device: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_prototypes = n_prototypes
        self.n_members = n_members
        self.metric: GateMetric = metric
        self.settings = settings
        self.missing = missing
        self.prediction = prediction
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    def predict(self, X: Any) -> np.ndarray:
        """Scores ``(N, L)`` of the rankings predicted for features ``(N, d)``, larger = preferred."""
        features = self._features(X)
        return to_numpy(self.model_.predict(features, method=self.prediction))

    def predict_cluster_proba(self, X: Any) -> np.ndarray:
        """Probabilities ``(N, K)`` of the clusters given the features alone; equation 21 of Grbovic et al. (2013).

        Column k is cluster k, with the ranking ``central_rankings_[k]``, and rows add up to 1.
        :meth:`predict_cluster` asks for the nearest prototype alone, whose cluster need not be the most probable one.
        """
        features = self._features(X)
        return to_numpy(self.model_(features).exp())

    def _fitted(self, X: Tensor, Y: Tensor, generator: torch.Generator) -> tuple[core.MMPL, Evidence]:
        check_choice(self.prediction, "prediction", PREDICTIONS)
        check_choice(self.missing, "missing", PARTIAL)
        sizes = X.shape[1], Y.shape[1], self.n_clusters, self.n_prototypes
        model = core.MMPL(*sizes, n_members=self.n_members, metric=self.metric, dtype=torch.float64)
        model = module_on_device(model, self.device)
        options: dict[str, Any] = {"generator": generator, "progress": bool(self.verbose)}
        return model, model.fit(X, Y, self.settings, missing=self.missing, **options)
