"""How many components: a range of mixtures, each fitted until two independent series of starts agree."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from torchrank._docs import shares_arguments
from torchrank._repr import short_repr
from torchrank._warnings import warn, warn_not_converged
from torchrank.clustering.arguments import ARGUMENTS
from torchrank.mixtures.em import MixtureFit
from torchrank.mixtures.mixture import CRITERIA, Mixture
from torchrank.rankings.arrays import Matrix, as_tensor
from torchrank.rankings.isolation import isolated
from torchrank.rankings.prepared import weights_said
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import Scores, check_at_least, check_choice, check_count, check_generator
from torchrank.typing import Array, Criterion, Values


class ComponentsFit(NamedTuple):
    """The best mixture of some number of components that was found, and whether it was found twice."""

    n_components: int
    criterion: float
    log_likelihood: float
    model: Mixture
    fit: MixtureFit
    n_init: int  # starts of each of the two series
    difference: float  # between the best objectives of the two series
    agreed: bool  # whether that is within the tolerance

    __repr__ = short_repr


@dataclass(frozen=True)
class MixtureFits:
    """Mixtures of a range of numbers of components."""

    rows: tuple[ComponentsFit, ...]  # in the order that was asked for
    criterion: str  # "bic" or "aic"

    __repr__ = short_repr

    @property
    def best(self) -> ComponentsFit:
        """The row with the lowest criterion."""
        return min(self.rows, key=lambda row: row.criterion)

    @property
    def agreed(self) -> bool:
        """Whether the two series of starts agreed for every number of components."""
        return all(row.agreed for row in self.rows)


@isolated
@unmapped(SEARCHES)
@shares_arguments(ARGUMENTS)
def fit_mixtures(
    make: Callable[[int], Mixture],
    X: Scores[Array],
    n_components: Iterable[int],
    weights: Values | None = None,
    *,
    criterion: Criterion = "bic",
    tol: float = 1e-6,
    max_init: int = 160,
    generator: torch.Generator | None = None,
    progress: bool = False,
) -> MixtureFits:
    """Fit mixtures of a range of numbers of components, with as many starts as it takes for two seeds to agree.

    A likelihood has many maxima, and what the best of ten starts comes to may differ between seeds by more than one
    component changes it. So two series of starts, with seeds of their own, are run for each number of components, and
    the starts of each are doubled until the best objectives of both agree, or ``max_init`` is reached. That they agree
    does not prove that there is nothing better; that they do not proves that there were too few starts.

    Args:
        make: gives a new mixture of a number of components, as ``lambda k: MallowsMixture(5, k, missing="topk")``. Its
            ``n_init`` is the number of starts of a series to begin with.
        X: ``(m, n)`` rankings, or what the mixture takes.
        n_components: numbers of components, such as ``range(1, 8)``.
        weights: {weights}
        criterion: "bic" or "aic", see :meth:`torchrank.MallowsMixture.criterion`.
        tol: two series agree when their best objectives, which for Mallows mixtures are log-likelihoods, differ by no
            more than this per unit of weight.
        max_init: most starts of a series.
        generator: {generator}
        progress: {progress}

    Returns:
        :class:`MixtureFits`: a row for each number of components, with the better of both fits.

    Raises:
        ValueError: no numbers of components, numbers out of range, a mixture of another number of components than
            ``make`` was asked for, and what the mixture's ``fit`` refuses.
        TypeError: ``make`` gives something else than a mixture, ``n_components`` is one number, and what ``fit``
            refuses.

    Warns:
        ConvergenceWarning: once, of numbers of components for which ``max_init`` starts were not enough.
        UserWarning: what the fits that were kept warn of, with their numbers of components.

    Example:
        >>> from torchrank import MallowsMixture
        >>> X = [[4, 3, 2, 1]] * 6 + [[1, 2, 4, 3]] * 5 + [[4, 3, 1, 2]] * 3
        >>> fits = fit_mixtures(lambda k: MallowsMixture(4, k, max_lam=3.0), X, [1, 2])
        >>> fits.best.n_components, fits.agreed
        (2, True)
    """
    check_choice(criterion, "criterion", CRITERIA)
    check_at_least(tol, "tol", 0)
    check_count(max_init, "max_init", 1)
    check_generator(generator)
    if isinstance(n_components, int):
        raise TypeError(
            f"n_components={n_components} is one number; pass a list of them, or range(1, {n_components + 1})"
        )
    numbers = list(n_components)
    if not numbers:
        raise ValueError("n_components is empty; pass numbers of components, such as range(1, 8)")
    for number in numbers:
        check_count(number, "n_components", 1)
    source = "cpu" if generator is None else generator.device
    seeds = torch.randint(2**62, (len(numbers), 2), generator=generator, device=source).tolist()
    weights = weights_said(X, weights)
    total = _total_weight(X, weights)
    rows = []
    for number, pair in zip(numbers, seeds, strict=True):
        series = [_Series(make, number, X, weights, seed, progress) for seed in pair]
        difference = _grow(series, max_init, tol * total)
        best = min(series, key=lambda one: one.loss)
        assert best.model is not None
        assert best.fit is not None
        for message in best.messages:
            warn(f"n_components={number}: {message.message}", message.category)
        value = best.model.criterion(X, weights, criterion)
        rows.append(
            ComponentsFit(
                number,
                value,
                best.fit.log_likelihood,
                best.model,
                best.fit,
                best.n_init,
                difference,
                difference <= tol * total,
            )
        )
    open_ones = {row.n_components: row.difference for row in rows if not row.agreed}
    if open_ones:
        listed = ", ".join(f"{number} ({difference:.3g})" for number, difference in open_ones.items())
        warn_not_converged(
            f"two seeds did not agree after max_init={max_init} starts for n_components {listed}, with the difference "
            f"of their best objectives, where {tol * total:.3g} was allowed; raise max_init or tol"
        )
    return MixtureFits(tuple(rows), criterion)


def _total_weight(X: Any, weights: Matrix | None) -> float:
    return float(len(X)) if weights is None else float(as_tensor(weights, "weights")[0].sum())


def _grow(series: list[_Series], max_init: int, allowed: float) -> float:
    """Double the starts until the series agree; gives back by how much they differ."""
    while True:
        for one in series:
            one.run(max_init)
        difference = abs(series[0].loss - series[1].loss)
        if difference <= allowed or series[0].n_init >= max_init or series[0].n_components == 1:
            return difference


class _Series:
    """The best of a growing number of starts from one seed."""

    def __init__(
        self,
        make: Callable[[int], Mixture],
        n_components: int,
        X: Scores,
        weights: Matrix | None,
        seed: int,
        progress: bool,
    ) -> None:
        self.make, self.n_components, self.X, self.weights, self.progress = make, n_components, X, weights, progress
        self.generator = torch.Generator().manual_seed(seed)
        self.n_init, self.loss = 0, math.inf
        self.model: Mixture | None = None
        self.fit: MixtureFit | None = None
        self.messages: list[Any] = []

    def run(self, max_init: int) -> None:
        """The first starts, or as many again as there were."""
        model = self.make(self.n_components)
        if not isinstance(model, Mixture):
            raise TypeError(f"make gives {type(model).__name__}; expected a mixture, such as MallowsMixture(n, k)")
        if model.n_components != self.n_components:
            raise ValueError(
                f"make({self.n_components}) gives a mixture of {model.n_components} components; expected "
                f"{self.n_components}, as from lambda k: MallowsMixture(n, k)"
            )
        first = model.n_init
        model.n_init = min(self.n_init or first, max_init - self.n_init)
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            fit = model.fit(self.X, self.weights, generator=self.generator, progress=self.progress)
        model.n_init = first
        self.n_init += len(fit.losses)  # one component has one start
        if min(fit.losses) < self.loss:
            self.model, self.fit, self.loss, self.messages = model, fit, min(fit.losses), messages
