"""Rankings drawn from mixtures of Mallows and Plackett-Luce distributions, with the truth they were drawn from."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from torchrank.datasets.data import RankingData
from torchrank.datasets.label_ranking import check_chance, drop_labels
from torchrank.distributions.mallows import Mallows
from torchrank.distributions.plackett_luce import PlackettLuce
from torchrank.distributions.support import RankingDistribution
from torchrank.rankings.convert import to_orders
from torchrank.rankings.validate import as_weights, check_at_least, check_count


def make_mallows_mixture(
    n_rankings: int = 1000,
    n_items: int = 10,
    n_components: int = 3,
    *,
    lam: ArrayLike = 0.5,
    centers: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    missing: float = 0.0,
    seed: int | None = None,
) -> RankingData:
    """Rankings from a mixture of Mallows distributions, :class:`torchrank.Mallows`.

    Args:
        n_rankings: number of rankings m.
        n_items: number of items n.
        n_components: number of components c.
        lam: concentration: a number or ``(c,)``; 0 makes all rankings alike, 1 leaves few far from the center.
        centers: ``(c, n)`` scores of the centers, complete and without ties; by default random orders.
        weights: ``(c,)``, how large the components are, up to a factor; by default all alike.
        missing: chance of each item of each ranking to be left out (NaN).
        seed: of NumPy's generator, from which torch's is seeded too; torch's own state is left alone.

    Returns:
        ``classes`` tells the component of each ranking; ``notes`` has "centers" (c, n), "central_orders" (c, n),
        "lam" (c,) and "weights" (c,), which add up to 1.

    Raises:
        ValueError: shapes that do not fit, counts too small, ``missing`` outside 0 to 1, centers with ties or NaN,
            infinite or NaN ``lam``, bad weights.

    Example:
        >>> data = make_mallows_mixture(200, 6, 2, lam=1.0, seed=0)
        >>> data
        RankingData('Mallows mixture': 200 rankings of 6 items)
    """
    rng = _generator(n_rankings, n_items, n_components, seed)
    if centers is None:
        centers = rng.permuted(np.tile(np.arange(1.0, n_items + 1), (n_components, 1)), axis=1)
    center = _parameter(centers, "centers", (n_components, n_items))
    concentration = _parameter(lam, "lam", (n_components,))
    Mallows(center, concentration, validate_args=True)  # names the component in which something is wrong
    shares, classes = _components(rng, n_rankings, n_components, weights)
    scores = _sample(rng, Mallows(center[classes], concentration[classes], validate_args=False), missing)
    truth = {"centers": center.numpy(), "central_orders": to_orders(center).numpy(), "lam": concentration.numpy()}
    return _as_data("Mallows mixture", scores, classes, truth | {"weights": shares})


def make_plackett_luce_mixture(
    n_rankings: int = 1000,
    n_items: int = 10,
    n_components: int = 3,
    *,
    spread: float = 2.0,
    logits: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    missing: float = 0.0,
    seed: int | None = None,
) -> RankingData:
    """Rankings from a mixture of Plackett-Luce distributions, :class:`torchrank.PlackettLuce`.

    Args:
        n_rankings: number of rankings m.
        n_items: number of items n.
        n_components: number of components c.
        spread: standard deviation of the normal distribution from which logits are drawn; 0 makes all rankings alike.
        logits: ``(c, n)`` logarithms of the items' worths, in place of random ones.
        weights: as for :func:`make_mallows_mixture`.
        missing: as for :func:`make_mallows_mixture`.
        seed: as for :func:`make_mallows_mixture`.

    Returns:
        ``classes`` tells the component of each ranking; ``notes`` has "logits" (c, n), "central_orders" (c, n), the
        most probable ranking of each component, and "weights" (c,), which add up to 1.

    Raises:
        ValueError: shapes that do not fit, counts too small, ``missing`` outside 0 to 1, ``spread`` negative, logits
            that are NaN or infinite, bad weights.

    Example:
        >>> data = make_plackett_luce_mixture(200, 6, 2, seed=0)
        >>> data.notes["central_orders"].shape
        (2, 6)
    """
    rng = _generator(n_rankings, n_items, n_components, seed)
    check_at_least(spread, "spread", 0)
    if logits is None:
        logits = spread * rng.standard_normal((n_components, n_items))
    parameter = _parameter(logits, "logits", (n_components, n_items))
    mode = PlackettLuce(parameter, validate_args=True).mode
    shares, classes = _components(rng, n_rankings, n_components, weights)
    scores = _sample(rng, PlackettLuce(parameter[classes], validate_args=False), missing)
    truth = {"logits": parameter.numpy(), "central_orders": to_orders(mode).numpy()}
    return _as_data("Plackett-Luce mixture", scores, classes, truth | {"weights": shares})


def _generator(n_rankings: int, n_items: int, n_components: int, seed: int | None) -> np.random.Generator:
    check_count(n_rankings, "n_rankings", least=1)
    check_count(n_items, "n_items", least=2)
    check_count(n_components, "n_components", least=1)
    return np.random.default_rng(seed)


def _parameter(value: ArrayLike, name: str, shape: tuple[int, ...]) -> Tensor:
    """A float64 copy of ``value``, one number repeated."""
    array = np.array(value, dtype=np.float64)
    if array.ndim == 0 and len(shape) == 1:
        array = np.full(shape, array)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; expected {shape} for n_components={shape[0]}")
    return torch.from_numpy(array)


def _components(
    rng: np.random.Generator, n_rankings: int, n_components: int, weights: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """The components' shares, and from which one each ranking comes."""
    given = _parameter(1.0 if weights is None else weights, "weights", (n_components,))
    shares = as_weights(given, given[:, None]).numpy()
    shares = shares / shares.sum()
    return shares, rng.choice(n_components, n_rankings, p=shares)


def _sample(rng: np.random.Generator, rankings: RankingDistribution, missing: float) -> np.ndarray:
    """One sample of each of m distributions, some of its items left out."""
    check_chance(missing, "missing")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**62)))
        scores = rankings.sample().numpy()
    return drop_labels(scores, missing, seed=rng)


def _as_data(title: str, scores: np.ndarray, classes: np.ndarray, truth: dict[str, Any]) -> RankingData:
    m, n = scores.shape
    return RankingData(scores, tuple(map(str, range(n))), np.ones(m), classes=classes, title=title, notes=truth)
