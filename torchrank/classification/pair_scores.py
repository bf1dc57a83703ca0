"""Scores of pairs of items between two classes of rankings, and the votes of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, get_args

import torch
from torch import Tensor
from typing_extensions import NamedTuple

from torchrank.classification.labels import class_numbers
from torchrank.classification.pair_blocks import all_pairs_margins as sum_votes
from torchrank.classification.pair_blocks import top_pairs
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.arrays import Matrix, Origin
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import check_same_items
from torchrank.rankings.orders import centered_mid_ranks
from torchrank.rankings.unmapped import COUNTS, unmapped
from torchrank.rankings.validate import Scores, as_scores, check_choice, check_count
from torchrank.typing import Array, Kind, Values, VoteTies

TIES = get_args(VoteTies)
_REMEDY = "pairs compare items of complete rankings: leave the item out, or fill in a score"


class ScoredPairs(NamedTuple, Generic[Kind]):
    """Pairs of items, best first; ``(k,)`` each."""

    above: Kind  # int64, the item that is above the other more often in the second class than in the first
    below: Kind  # int64
    score: Kind  # float64 in [0, 1]
    secondary: Kind  # float64 in [0, n)


@isolated
@unmapped(COUNTS)
def top_scoring_pairs(
    X: Scores[Array], y: Values, k: int = 1, *, disjoint: bool = False, progress: bool = False
) -> ScoredPairs[Array]:
    r"""Find the pairs of items whose order tells two classes apart best.

    .. math:: \Delta_{ij} = |p_{ij}(1) - p_{ij}(0)|, \qquad
        \Gamma_{ij} = |\gamma_{ij}(1) - \gamma_{ij}(0)|

    with p_ij(c) the share of samples of class c that have i above j, tied samples counting one half, and gamma_ij(c)
    the mean over class c of the difference of their ranks within a sample, tied items having the mean of their ranks.
    Pairs are ordered by Delta, the score of Geman et al. (2004), equal ones by Gamma, the secondary score of Tan et
    al. (2005), and pairs equal in both by their items, i < j and the smallest i first. Sums are integers, so nothing
    is lost to rounding. Geman et al. count i < j only, which is the same unless scores are tied.

    All n(n-1)/2 pairs are scored, in blocks, and k of them kept: memory grows with m n + k.

    Args:
        X: ``(m, n)`` scores, larger = preferred.
        y: ``(m,)`` class numbers 0 and 1.
        k: how many pairs.
        disjoint: no item in two pairs, as in Tan et al. (2005): after each pair all others with its items are passed
            over. Jiao and Vert (2018) do without.
        progress: show a progress bar.

    Returns:
        The pairs, oriented: with ``above`` over ``below`` a sample looks like class 1. A pair with score 0 has the
        lower item above. NumPy arrays for NumPy scores, tensors on the device of ``X`` for tensors.

    Raises:
        ValueError: NaN in ``X``; not two classes; ``k`` below 1 or above the number of pairs, which is n // 2 for
            disjoint ones.
        TypeError: scores or labels that are no numbers.

    References:
        Geman, d'Avignon, Naiman and Winslow, Classifying gene expression profiles from pairwise mRNA comparisons,
        Statistical Applications in Genetics and Molecular Biology 3(1), 2004, doi:10.2202/1544-6115.1071.
        Tan, Naiman, Xu, Winslow and Geman, Simple decision rules for classifying human cancers from gene expression
        profiles, Bioinformatics 21(20), 2005, doi:10.1093/bioinformatics/bti631.
    """
    scores, origin = as_scores(X)
    _check_samples(scores, "X")
    labels = class_numbers(y, len(scores), 2, scores.device)[0]
    n = scores.shape[1]
    most = n // 2 if disjoint else n * (n - 1) // 2
    check_count(k, "k", least=1)
    if k > most:
        raise ValueError(f"k={k} is too large; {n} items have {most} {'disjoint ' if disjoint else ''}pairs")
    ranks, n_first = _by_class(dense_ranks(scores, _REMEDY, "X")[0], labels)
    gaps = _gaps(ranks, n_first)
    find = _disjoint_pairs if disjoint else top_pairs
    places = find(ranks, n_first, gaps, int(k), progress)
    return _oriented(ranks, n_first, gaps, places, origin.wrap)


@isolated
def vote_margins(X: Scores[Array], pairs: ScoredPairs, ks: Sequence[int] | None = None) -> Array:
    """Margin of the majority vote of pairs, for any number of best pairs at once.

    A pair votes for class 1 where ``above`` has the larger score in a sample, for class 0 where the smaller; one half
    for each where they are tied, or where the pair itself has score 0.

    Args:
        X: ``(m, n)`` scores, larger = preferred.
        pairs: those of :func:`top_scoring_pairs`.
        ks: numbers of pairs that vote, the best first; None means all of them and no first dimension.

    Returns:
        ``(len(ks), m)`` or ``(m,)`` float64: votes for class 1 minus votes for class 0, divided by the number of pairs;
        from -1 to 1.

    Raises:
        ValueError: NaN in ``X``, an item that ``X`` does not have, or ``ks`` outside 1 to the number of pairs.
    """
    scores, origin = as_scores(X)
    _check_samples(scores, "X")
    above, below, score, _ = (torch.as_tensor(part, device=scores.device) for part in pairs)
    _check_items(above, below, scores.shape[1], "X has")
    last = _numbers_of_pairs([len(above)] if ks is None else ks, above)
    ranks = dense_ranks(scores, _REMEDY, "X")[0]
    votes = (ranks[:, above] - ranks[:, below]).sign() * (score > 0)
    totals = votes.cumsum(dim=1, dtype=torch.int64)[:, last - 1]
    margins = (totals / last.to(torch.float64)).mT.contiguous()
    margins = margins[0] if ks is None else margins
    return origin.wrap(without_gradient(margins, scores, what="votes of pairs are"))


@isolated
@unmapped(COUNTS)
def all_pairs_margins(
    X_train: Scores, y: Values, X: Scores[Array], *, ties: VoteTies = "half", progress: bool = False
) -> Array:
    """Margin of the majority vote of all n(n-1)/2 pairs, each oriented as :func:`top_scoring_pairs` says.

    Pairs are scored and vote block by block, and none is kept.

    Args:
        X_train: ``(m, n)`` scores, larger = preferred.
        y: ``(m,)`` class numbers 0 and 1.
        X: ``(m2, n)`` scores of the samples to classify.
        ties: "half": pairs that are tied in a sample, or as often in order in one class as in the other, vote one half
            for each class. "strict": for i < j an item i that is not above j counts as below it, in training and in the
            vote, and a pair that is not in order more often in class 1 counts as one of class 0. A fifth or more of
            all pairs of genes is in the same order in all samples, and under this rule they vote by the place of their
            columns, and decide. The accuracies that Jiao and Vert (2018) publish follow it.
        progress: show a progress bar.

    Returns:
        ``(m2,)`` float64, votes for class 1 minus votes for class 0 divided by the number of pairs; of the kind and on
        the device of ``X_train``.

    Raises:
        ValueError: NaN, not two classes, different numbers of items, or an unknown choice.
    """
    check_choice(ties, "ties", TIES)
    train, origin = as_scores(X_train, "X_train")
    new, own = as_scores(X)
    check_same_items(origin.items, own.items, "X_train", "X")
    new = new.to(train.device)
    for scores, name in ((train, "X_train"), (new, "X")):
        _check_samples(scores, name)
    n = train.shape[1]
    if new.shape[1] != n:
        raise ValueError(f"X ranks {new.shape[1]} items and X_train {n}; both must rank the same items")
    labels = class_numbers(y, len(train), 2, train.device)[0]
    ranks, n_first = _by_class(dense_ranks(train, _REMEDY, "X_train")[0], labels)
    votes = sum_votes(ranks, n_first, dense_ranks(new, _REMEDY, "X")[0], ties == "strict", progress)
    margins = votes.to(torch.float64) / (n * (n - 1) // 2)
    return origin.wrap(margins)


@isolated
def paired_items(pairs: ScoredPairs, n: int, ks: Sequence[int]) -> Array:
    """Which items are in the best pairs, for any number of best pairs at once.

    Args:
        pairs: those of :func:`top_scoring_pairs`.
        n: number of items.
        ks: numbers of pairs.

    Returns:
        ``(len(ks), n)`` bool, of the kind of ``pairs``.

    Raises:
        ValueError: a pair names an item from ``n`` on, or ``ks`` is outside 1 to the number of pairs.
    """
    origin = Origin.of(pairs.above)
    above, below = torch.as_tensor(pairs.above), torch.as_tensor(pairs.below)
    _check_items(above, below, n, "there are")
    last = _numbers_of_pairs(ks, above)
    order = torch.arange(len(above), device=above.device)
    first_pair = torch.full((n,), len(above), device=above.device)
    for items in (above, below):
        first_pair.scatter_reduce_(0, items, order, "amin")
    inside = first_pair < last[:, None]
    return origin.wrap(inside)


def _check_items(above: Tensor, below: Tensor, n: int, who: str) -> None:
    largest = int(torch.maximum(above.max(), below.max()))
    if largest >= n:
        raise ValueError(f"{who} {n} items; the pairs name item {largest}")


def _numbers_of_pairs(ks: Sequence[int], above: Tensor) -> Tensor:
    """Checked ``ks`` beside ``above``, one of the sides of all pairs."""
    sizes = list(ks)
    for size in sizes:
        check_count(size, "ks", least=1)
        if size > len(above):
            raise ValueError(f"ks names {size} pairs; there are {len(above)}")
    return torch.tensor(sizes, dtype=torch.int64, device=above.device)


def _check_samples(scores: Tensor, name: str) -> None:
    if scores.ndim != 2:
        raise ValueError(f"{name} has shape {tuple(scores.shape)}; expected (samples, items) without batch dimensions")


def _by_class(ranks: Tensor, labels: Tensor) -> tuple[Tensor, int]:
    """Rows of class 0, then rows of class 1, and how many the former are."""
    return ranks[labels.argsort(stable=True)], int((labels == 0).sum())


def _gaps(ranks: Tensor, n_first: int) -> Tensor:
    """For each item 2 n_first n_second times its mean rank in the second class minus that in the first; (n,) int64."""
    mid_ranks = centered_mid_ranks(ranks)  # twice a rank, up to a constant
    return n_first * mid_ranks[n_first:].sum(0) - (len(ranks) - n_first) * mid_ranks[:n_first].sum(0)


def _disjoint_pairs(ranks: Tensor, n_first: int, gaps: Tensor, k: int, progress: bool) -> Tensor:
    """The best pair, then the best among the other items, and so on: (k,) places i n + j.

    A list of the best pairs yields all of them that the walk along it meets with both items unused. Pairs beyond the
    list come later than those, so the walk goes on with a new list for the unused items.
    """
    n = ranks.shape[1]
    unused = torch.arange(n, device=ranks.device)
    chosen: list[int] = []
    while len(chosen) < k:
        size = len(unused)
        length = min(size * (size - 1) // 2, 20 * (k - len(chosen)))
        listed = top_pairs(ranks[:, unused], n_first, gaps[unused], length, progress)
        places = torch.stack([unused[listed // size], unused[listed % size]], dim=1).tolist()
        used: set[int] = set()
        for i, j in places:
            if len(chosen) < k and used.isdisjoint((i, j)):
                chosen.append(i * n + j)
                used.update((i, j))
        unused = unused[~torch.isin(unused, torch.tensor(sorted(used), device=unused.device))]
    return torch.tensor(chosen, device=ranks.device)


def _oriented(
    ranks: Tensor, n_first: int, gaps: Tensor, places: Tensor, wrap: Callable[[Tensor], Matrix]
) -> ScoredPairs:
    """Scores of the pairs at ``places``, and their items in the order that stands for the second class."""
    n_second, n = len(ranks) - n_first, ranks.shape[1]
    i, j = places // n, places % n
    signs = (ranks[:, i] - ranks[:, j]).sign().to(torch.int64)
    score = n_first * signs[n_first:].sum(0) - n_second * signs[:n_first].sum(0)
    swapped = score < 0
    # Divided by a tensor: CUDA would multiply by the inverse of a number, which is not the same in the last bit.
    scale = torch.full_like(score, 2 * n_first * n_second, dtype=torch.float64)
    parts = torch.where(swapped, j, i), torch.where(swapped, i, j)
    numbers = (part.abs().to(torch.float64) / scale for part in (score, gaps[i] - gaps[j]))
    return ScoredPairs(*(wrap(part) for part in (*parts, *numbers)))
