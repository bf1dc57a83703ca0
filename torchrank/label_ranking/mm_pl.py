"""MM-PL: a mixture of Plackett-Luce models whose gate is a set of prototypes in feature space."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import torch
from torch import Tensor, nn
from typing_extensions import override

from torchrank._docs import shares_arguments
from torchrank.distributions.choices import log_prob
from torchrank.label_ranking.batched_fit import fit_in_batches
from torchrank.label_ranking.evidence import MMPLFit
from torchrank.label_ranking.features import check_features
from torchrank.label_ranking.fit import fit_mixture
from torchrank.label_ranking.gates import PrototypeMixture, log_gates, nearest_of_members
from torchrank.label_ranking.members import fit_members
from torchrank.label_ranking.metric import plain_metric, ridge_metric
from torchrank.label_ranking.rankings import label_choices, untied_label_ranks
from torchrank.label_ranking.settings import EMSettings
from torchrank.processes import Group
from torchrank.rankings.batches import as_batches, refuse_without_batches
from torchrank.rankings.derivatives import of_rows
from torchrank.rankings.features import check_distances, check_n_features, check_tensor
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.orders import total_scores
from torchrank.rankings.prepared import said_of
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import check_choice, check_count
from torchrank.stream.arguments import ARGUMENTS as OF_BATCHES
from torchrank.typing import GateMetric, Prediction

PREDICTIONS = get_args(Prediction)
METRICS = get_args(GateMetric)


@isolated
@shares_arguments(OF_BATCHES)
class MMPL(nn.Module):
    r"""Supervised clustering of label rankings by a Plackett-Luce mixture, for features ``(N, d)`` of N rows.

    Cluster k has prototypes in feature space and one Plackett-Luce score for each label. With
    :math:`w_p(x) \propto \exp(-\lVert x - m_p \rVert^2 / 2\sigma^2)` over all prototypes, the probability of a cluster
    is :math:`g_k(x) = \sum_{p \in k} w_p(x)` and that of a ranking :math:`\sum_k g_k(x) P(\pi \mid v_k)`: equations 20
    to 24 of Grbovic, Djuric, Guo and Vucetic, Machine Learning 93 (2013), doi:10.1007/s10994-013-5374-3. The
    log-likelihood of their equation 25 is the sum of :meth:`log_prob`, without the sign printed there.

    Past the paper there may be several members, each with clusters, prototypes and a width of its own, which are one
    mixture together, and the gate may see the features through a linear map A. For the member b of cluster k

    .. math:: g_k(x) = \frac{1}{B} \sum_{p \in k} w_p(x), \qquad
              w_p(x) \propto \exp(-\lVert A^T x - m_p \rVert^2 / 2\sigma_b^2)

    over all prototypes of b.

    Train it by any optimizer on ``-model.log_prob(X, Y).mean()``, or by :meth:`fit`, which is expectation-maximization
    and much faster.

    Args:
        n_features: d.
        n_labels: L, at least 2.
        n_clusters: K, of each member.
        n_prototypes: prototypes per cluster; all K times as many are one budget, which :meth:`fit` may divide unevenly.
        sigma: width of the gate.
        n_members: B. :meth:`fit` trains each member on a bootstrap sample of the rows; they predict better together, by
            ``predict(X, method="mixture")``, than one with as many clusters.
        metric: "euclidean", for distances of the features; or "ridge", for a map A of the features to themselves and to
            the votes that a ridge regression predicts of them, which :meth:`fit` finds: irrelevant features count less.
        device: of parameters.
        dtype: of parameters; None means torch's default. In half precision, or after ``.half()``, they are rounded, and
            arithmetic and results are in single precision.

    Attributes:
        prototypes: ``(M, d)`` parameter, M = B times K times ``n_prototypes``; ``(M, d + L)`` with a metric.
        logits: ``(B K, L)`` parameter, logarithms of Plackett-Luce scores; a constant added to a row changes nothing.
        log_sigma: ``(B,)`` parameter, logarithms of the widths.
        metric: None, or the ``(d, d + L)`` parameter A.
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
        n_members: int = 1,
        metric: GateMetric = "euclidean",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        counts = {"n_features": n_features, "n_clusters": n_clusters, "n_prototypes": n_prototypes}
        for name, value in {**counts, "n_members": n_members}.items():
            check_count(value, name, least=1)
        check_count(n_labels, "n_labels", least=2)
        check_choice(metric, "metric", METRICS)
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        seen = n_features if metric == "euclidean" else n_features + n_labels
        clusters = n_members * n_clusters
        self.prototypes = nn.Parameter(torch.randn(clusters * n_prototypes, seen, **kind))
        self.logits = nn.Parameter(0.1 * torch.randn(clusters, n_labels, **kind))
        self.log_sigma = nn.Parameter(torch.zeros(n_members, **kind))  # as linalg.precision.one_number
        plain = None if metric == "euclidean" else plain_metric(n_features, n_labels, self.prototypes.detach())
        self.metric = None if plain is None else nn.Parameter(plain)
        self.sigma = sigma
        clusters = torch.arange(clusters, device=device).repeat_interleave(n_prototypes)
        self.register_buffer("membership", clusters)

    @property
    def n_members(self) -> int:
        """How many members there are, B."""
        return len(self.log_sigma)

    @property
    def n_features(self) -> int:
        """How many features there are, d."""
        return (self.prototypes if self.metric is None else self.metric.T).shape[1]

    @property
    def sigma(self) -> Tensor:
        """Width of the gate, ``(B,)`` of several members, never so small that its square vanishes.

        The nearest prototype decides long before.
        """
        log_sigma = self.log_sigma if self.n_members > 1 else self.log_sigma.reshape(())
        log_sigma = log_sigma.to(_computing(self.log_sigma.dtype))
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
        return of_rows(log_prob(choices, self.mixture().logits[:, None, :]).T, Y, by="MMPL")

    def responsibilities(self, X: Tensor, Y: Tensor, *, missing: Missing = None) -> Tensor:
        """Probabilities ``(N, K)`` of the clusters given features and rankings: the E-step, equation 29."""
        return self._joint(X, Y, missing).softmax(-1)

    def predict_cluster(self, X: Tensor) -> Tensor:
        """Clusters ``(N,)`` of the nearest prototypes, int64; of several members the most probable clusters."""
        if self.n_members > 1:
            return self(X).argmax(-1)
        return nearest_of_members(self._check_features(X), self.mixture())[:, 0]

    def predict(self, X: Tensor, *, method: Prediction = "nearest") -> Tensor:
        """Predicted rankings as scores ``(N, L)``, larger = preferred.

        Args:
            X: ``(N, d)`` features.
            method: "nearest" gives the central ranking of the nearest prototype's cluster, scores L to 1, and their
                mean over several members; "mixture" the expected number of labels that each label precedes under the
                whole mixture.
        """
        check_choice(method, "method", PREDICTIONS)
        if method == "nearest":
            central = total_scores(self.logits.detach()).to(self.mixture().logits)
            return central[nearest_of_members(self._check_features(X), self.mixture())].mean(-2)
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
        order: let a DataLoader shuffle rows that are sorted. With ``n_init=1``, one member, and the Euclidean metric.

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
        if isinstance(Y, EMSettings):
            raise TypeError("Y is EMSettings; Y comes before the settings, so pass settings=EMSettings(...)")
        if settings is not None and not isinstance(settings, EMSettings):
            raise TypeError(f"settings is {type(settings).__name__}; expected torchrank.EMSettings(...) or None")
        B = self.n_members
        K, M = len(self.logits) // B, len(self.prototypes) // B
        chosen = EMSettings() if settings is None else settings
        options: dict[str, Any] = {"validation": validation, "generator": generator, "progress": progress}
        batches, metric = as_batches(X), None
        if batches is not None:
            if Y is not None:
                raise ValueError("Y of rows in batches comes with them; pass X=torchrank.Batches((X, Y))")
            if B > 1 or self.metric is not None:
                raise ValueError("rows in batches train one member with Euclidean distances; pass all rows at once")
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
            if self.metric is not None:
                check_features(X, Y)
                metric = ridge_metric(X, untied_label_ranks(Y), missing, chosen.metric_weight)
                if validation is not None:
                    self._check_shape(validation[0])
                    options["validation"] = validation[0].to(X.dtype) @ metric, validation[1]
                X = X @ metric
            fit = fit_mixture if B == 1 else partial(fit_members, n_members=B)
            mixture, evidence = fit(X, Y, K, M, settings=chosen, missing=missing, **options)
        if self.metric is not None and metric is not None:
            self.metric.copy_(metric)
        for name in ("prototypes", "membership", "logits"):
            getattr(self, name).copy_(getattr(mixture, name))
        self.log_sigma.copy_(mixture.sigma.log().reshape(B))
        return evidence

    def mixture(self) -> PrototypeMixture:
        """The parameters as one tuple, with their gradients; in single precision at least."""
        kind = _computing(self.prototypes.dtype)
        return PrototypeMixture(self.prototypes.to(kind), self.membership, self.logits.to(kind), self.sigma)

    def extra_repr(self) -> str:
        """Sizes, as ``print`` shows them."""
        M, (K, L), B = len(self.prototypes), self.logits.shape, self.n_members
        sigma = "?" if self.log_sigma.is_meta else f"{float(self.sigma.detach().mean()):.3g}"
        text = f"n_features={self.n_features}, n_labels={L}, n_clusters={K // B}, n_prototypes={M // K}, sigma={sigma}"
        text += f", n_members={B}" if B > 1 else ""
        return text if self.metric is None else f"{text}, metric='ridge'"

    def _joint(self, X: Tensor, Y: Tensor, missing: Missing) -> Tensor:
        """Log-probabilities ``(N, K)`` of cluster and ranking together."""
        gates, choices = self(X), self.ranking_log_probs(Y, missing=missing)
        if len(gates) != len(choices):
            raise ValueError(
                f"X has {len(gates)} rows and Y {len(choices)}; expected a ranking for each row of features"
            )
        return gates + choices

    def _check_features(self, X: Tensor) -> Tensor:
        """The features as the gate sees them, in a dtype to compute in."""
        self._check_shape(X)
        X = X.to(_computing(self.prototypes.dtype))
        return X if self.metric is None else X @ self.metric.to(X.dtype)

    def _check_shape(self, X: Tensor) -> None:
        check_n_features(X, self.n_features)
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
