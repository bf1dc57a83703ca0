"""MM-PL: a mixture of Plackett-Luce models whose gate is a set of prototypes in feature space."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, get_args

import torch
from torch import Tensor, nn
from typing_extensions import override

from torchrank._docs import shares_arguments
from torchrank.distributions.choices import log_prob
from torchrank.label_ranking.batched_fit import fit_in_batches
from torchrank.label_ranking.evidence import MMPLFit
from torchrank.label_ranking.fit import fit_mixture
from torchrank.label_ranking.gates import PrototypeMixture, log_gates, nearest
from torchrank.label_ranking.rankings import label_choices, untied_label_ranks
from torchrank.label_ranking.settings import EMSettings
from torchrank.processes import Group
from torchrank.rankings.batches import as_batches, refuse_without_batches
from torchrank.rankings.features import check_distances, check_n_features, check_tensor
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.orders import total_scores
from torchrank.rankings.prepared import said_of
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import check_choice, check_count
from torchrank.stream.arguments import ARGUMENTS as OF_BATCHES
from torchrank.typing import Prediction

PREDICTIONS = get_args(Prediction)


@isolated
@shares_arguments(OF_BATCHES)
class MMPL(nn.Module):
    r"""Supervised clustering of label rankings by a Plackett-Luce mixture, for features ``(N, d)`` of N rows.

    Cluster k has prototypes in feature space and one Plackett-Luce score for each label. With
    :math:`w_p(x) \propto \exp(-\|x - m_p\|^2 / 2\sigma^2)` over all prototypes, the probability of a cluster is
    :math:`g_k(x) = \sum_{p \in k} w_p(x)` and that of a ranking :math:`\sum_k g_k(x) P(\pi \mid v_k)`: equations 20 to
    24 of Grbovic, Djuric, Guo and Vucetic, Machine Learning 93 (2013), doi:10.1007/s10994-013-5374-3. The
    log-likelihood of their equation 25 is the sum of :meth:`log_prob`, without the sign printed there.

    Train it by any optimizer on ``-model.log_prob(X, Y).mean()``, or by :meth:`fit`, which is expectation-maximization
    and much faster.

    Args:
        n_features: d.
        n_labels: L, at least 2.
        n_clusters: K.
        n_prototypes: prototypes per cluster; all K times as many are one budget, which :meth:`fit` may divide unevenly.
        sigma: width of the gate.
        device: of parameters.
        dtype: of parameters; None means torch's default. In half precision, or after ``.half()``, they are rounded, and
            arithmetic and results are in single precision.

    Attributes:
        prototypes: ``(M, d)`` parameter, M = K times ``n_prototypes``.
        logits: ``(K, L)`` parameter, logarithms of Plackett-Luce scores; a constant added to a row changes nothing.
        log_sigma: ``(1,)`` parameter, logarithm of the width.
        membership: ``(M,)`` int64 buffer, the cluster of each prototype.

    Raises:
        ValueError, TypeError: numbers out of range.
    """

    membership: Tensor

    def __init__(
        self,
        n_features: int,
        n_labels: int,
        n_clusters: int,
        n_prototypes: int = 10,
        *,
        sigma: float = 1.0,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, value in {"n_features": n_features, "n_clusters": n_clusters, "n_prototypes": n_prototypes}.items():
            check_count(value, name, least=1)
        check_count(n_labels, "n_labels", least=2)
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        self.prototypes = nn.Parameter(torch.randn(n_clusters * n_prototypes, n_features, **kind))
        self.logits = nn.Parameter(0.1 * torch.randn(n_clusters, n_labels, **kind))
        self.log_sigma = nn.Parameter(torch.zeros(1, **kind))  # as linalg.precision.one_number
        self.sigma = sigma
        clusters = torch.arange(n_clusters, device=device).repeat_interleave(n_prototypes)
        self.register_buffer("membership", clusters)

    @property
    def sigma(self) -> Tensor:
        """Width of the gate, never so small that its square vanishes: the nearest prototype decides long before."""
        log_sigma = self.log_sigma.reshape(()).to(_computing(self.log_sigma.dtype))
        return log_sigma.exp().clamp(min=torch.finfo(log_sigma.dtype).tiny ** 0.25)

    @sigma.setter
    def sigma(self, value: float) -> None:
        if not 0 < value < float("inf"):
            raise ValueError(f"sigma={value!r} is out of range; a width is positive and finite")
        with torch.no_grad():
            self.log_sigma.fill_(math.log(value))

    def forward(self, X: Tensor) -> Tensor:
        """Log-probabilities ``(N, K)`` of the clusters for features ``(N, d)``; equation 21.

        A cluster without prototypes has minus infinity.
        """
        return log_gates(self._check_features(X), self.mixture())

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Tensor) -> Tensor: ...

    def log_prob(self, X: Tensor, Y: Tensor, *, missing: Missing = None) -> Tensor:
        """Log-probabilities ``(N,)`` of label rankings; equation 24, summed over labels that were ranked.

        Args:
            X: ``(N, d)`` features.
            Y: ``(N, L)`` scores without ties, larger = preferred, NaN = not ranked. Rows with fewer than two labels are
                certain: 0.
            missing: what unranked labels mean: "interleaving", they may stand anywhere (equation 13), or "topk", they
                stand below all ranked ones, so that they stay in the denominators; or a list or array of N such words,
                one a row. None leaves it to prepared rankings, and is "interleaving" for scores.

        Raises:
            ValueError: ties, a number of labels other than L, features that are not finite, unknown words.
        """
        return self._joint(X, Y, missing).logsumexp(-1)

    def ranking_log_probs(self, Y: Tensor, *, missing: Missing = None) -> Tensor:
        """Log-probabilities ``(N, K)`` of label rankings ``(N, L)`` in each cluster: equation 23."""
        self._check_scores(Y)
        choices = label_choices(untied_label_ranks(Y), said_of(Y, missing, "interleaving"))
        return log_prob(choices, self.mixture().logits[:, None, :]).T

    def responsibilities(self, X: Tensor, Y: Tensor, *, missing: Missing = None) -> Tensor:
        """Probabilities ``(N, K)`` of the clusters given features and rankings: the E-step, equation 29."""
        return self._joint(X, Y, missing).softmax(-1)

    def predict_cluster(self, X: Tensor) -> Tensor:
        """Clusters ``(N,)`` of the nearest prototypes, int64."""
        return self.membership[nearest(self._check_features(X), self.mixture().prototypes)]

    def predict(self, X: Tensor, *, method: Prediction = "nearest") -> Tensor:
        """Predicted rankings as scores ``(N, L)``, larger = preferred.

        Args:
            X: ``(N, d)`` features.
            method: "nearest" gives the central ranking of the nearest prototype's cluster, scores L to 1; "mixture"
                the expected number of labels that each label precedes under the whole mixture.
        """
        check_choice(method, "method", PREDICTIONS)
        if method == "nearest":
            return total_scores(self.logits.detach()).to(self.mixture().logits)[self.predict_cluster(X)]
        logits = self.mixture().logits
        beats = torch.sigmoid(logits[:, :, None] - logits[:, None, :]).sum(-1) - 0.5  # not itself
        return self(X).exp() @ beats

    @property
    def central_orders(self) -> Tensor:
        """Central rankings ``(K, L)`` as orders: labels, most preferred first; ties go to the lower label."""
        return self.logits.detach().argsort(dim=-1, descending=True, stable=True)

    @unmapped(SEARCHES)
    @torch.no_grad()
    def fit(
        self,
        X: Any,
        Y: Tensor | None = None,
        settings: EMSettings | None = None,
        *,
        missing: Missing = None,
        validation: tuple[Tensor, Tensor] | None = None,
        generator: torch.Generator | None = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        group: Group = None,
    ) -> MMPLFit:
        """Fit by expectation-maximization; parameters are replaced, whatever they were.

        Rows may come in batches, pairs of features and scores, in which case a start is made from a sample of 16,384
        rows, and the updates of a pass go through the batches as they come, and through the rows of each in random
        order: let a DataLoader shuffle rows that are sorted. With ``n_init=1``.

        Args:
            X: ``(N, d)`` features, on a common scale; or :class:`torchrank.Batches` or a DataLoader of both.
            Y: ``(N, L)`` scores without ties, NaN = not ranked. Rows with fewer than two labels stay and teach nothing.
            settings: None means :class:`EMSettings`' defaults; ``EMSettings.paper()`` those of the publication.
            missing: "interleaving" or "topk", or such a word for every row, as for :meth:`log_prob`.
            validation: features and scores of other rows, by which to choose among starts.
            generator: source of starts and shuffles.
            progress: show a progress bar of the passes over the rows, with the log-likelihood.
            checkpoint: {checkpoint}
            group: for rows in batches, a process group of ``torch.distributed``, each process of which reads the same
                rows and does its share of every update, of 256 rows unless ``batch_size`` says otherwise.

        Returns:
            The evidence: the objective is the mean log-likelihood in each pass, losses are loss_LR of each start.

        Raises:
            ValueError: features that are not finite, ties, no row that ranks two labels, sizes that do not fit.

        Warns:
            ConvergenceWarning: no end within ``n_updates`` with a stopping rule.
            UserWarning: features on very different scales or all below 1e-6, or fewer distinct rows than prototypes.
        """
        if settings is not None and not isinstance(settings, EMSettings):
            raise TypeError(f"settings is {type(settings).__name__}; expected torchrank.EMSettings(...) or None")
        K, M = len(self.logits), len(self.prototypes)
        chosen = EMSettings() if settings is None else settings
        options: dict[str, Any] = {"validation": validation, "generator": generator, "progress": progress}
        batches = as_batches(X)
        if batches is not None:
            if Y is not None:
                raise ValueError("Y of rows in batches comes with them; pass X=torchrank.Batches((X, Y))")
            sizes = self.prototypes.shape[1], self.logits.shape[1]
            options |= {"missing": missing, "checkpoint": checkpoint, "group": group}
            mixture, evidence = fit_in_batches(batches, sizes, K, M, chosen, **options)
        else:
            refuse_without_batches(checkpoint=checkpoint, group=group)
            if Y is None:
                raise TypeError("Y is missing; pass the label rankings of the rows of X")
            self._check_shape(X)
            self._check_scores(Y)
            X = X.to(_computing(X.dtype)) if X.is_floating_point() else X
            missing = said_of(Y, missing, "interleaving")
            mixture, evidence = fit_mixture(X, Y, K, M, chosen, missing=missing, **options)
        self.prototypes.copy_(mixture.prototypes)
        self.membership.copy_(mixture.membership)
        self.logits.copy_(mixture.logits)
        self.sigma = float(mixture.sigma)
        return evidence

    def mixture(self) -> PrototypeMixture:
        """The parameters as one tuple, with their gradients; in single precision at least."""
        kind = _computing(self.prototypes.dtype)
        return PrototypeMixture(self.prototypes.to(kind), self.membership, self.logits.to(kind), self.sigma)

    def extra_repr(self) -> str:
        """Sizes, as ``print`` shows them."""
        (M, d), (K, L) = self.prototypes.shape, self.logits.shape
        sigma = "?" if self.log_sigma.is_meta else f"{float(self.sigma.detach()):.3g}"
        return f"n_features={d}, n_labels={L}, n_clusters={K}, n_prototypes={M // K}, sigma={sigma}"

    def _joint(self, X: Tensor, Y: Tensor, missing: Missing) -> Tensor:
        """Log-probabilities ``(N, K)`` of cluster and ranking together."""
        gates, choices = self(X), self.ranking_log_probs(Y, missing=missing)
        if len(gates) != len(choices):
            raise ValueError(
                f"X has {len(gates)} rows and Y {len(choices)}; expected a ranking for each row of features"
            )
        return gates + choices

    def _check_features(self, X: Tensor) -> Tensor:
        """The features in a dtype to compute in."""
        self._check_shape(X)
        return X.to(_computing(self.prototypes.dtype))

    def _check_shape(self, X: Tensor) -> None:
        check_n_features(X, self.prototypes.shape[1])
        kind = self.prototypes.dtype
        if torch.promote_types(X.dtype, kind) != kind:
            raise TypeError(f"X has dtype {X.dtype} and the model {kind}; pass X.to({kind}), or model.to({X.dtype})")
        check_distances(X.to(_computing(kind)))

    def _check_scores(self, Y: Tensor) -> None:
        L = self.logits.shape[1]
        if check_tensor(Y, "Y", rankings=True).ndim != 2 or Y.shape[1] != L:
            raise ValueError(f"Y has shape {tuple(Y.shape)}; expected (N, {L}) scores")


def _computing(dtype: torch.dtype) -> torch.dtype:
    """Half precision is for keeping parameters: squared distances and narrow gates are computed in single."""
    return torch.promote_types(dtype, torch.float32)
