"""Top scoring pairs and the majority vote of all pairs as modules: scores of items in, decisions about classes out."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from typing_extensions import override

from torchrank.classification.labels import class_numbers, class_pairs, decided_class, one_against_one
from torchrank.classification.pair_scores import (
    TIES,
    ScoredPairs,
    all_pairs_margins,
    top_scoring_pairs,
    vote_margins,
)
from torchrank.evidence import Evidence
from torchrank.linalg.precision import KeepsPrecision
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import RemembersItems
from torchrank.rankings.unmapped import COUNTS, unmapped
from torchrank.rankings.validate import as_scores, check_choice, check_count
from torchrank.typing import VoteTies


@isolated
class TopScoringPairs(KeepsPrecision, RemembersItems):
    """Majority vote of the k pairs of items that tell two classes apart best; several classes one against one.

    ``k=1`` is the classifier of Geman et al. (2004), larger k that of Tan et al. (2005), with ``disjoint=True`` as
    they have it. The pairs are buffers, so ``state_dict`` is the whole model. See :func:`top_scoring_pairs` for how
    pairs are scored and ordered. Comparisons have no gradient.

    Args:
        k: pairs for each pair of classes.
        n_classes: number of classes.
        disjoint: no item in two pairs.

    Raises:
        ValueError: ``k`` below 1 or fewer than two classes.
    """

    above: Tensor
    below: Tensor
    score: Tensor
    secondary: Tensor

    def __init__(self, k: int = 1, *, n_classes: int = 2, disjoint: bool = False) -> None:
        super().__init__()
        check_count(k, "k", least=1)
        check_count(n_classes, "n_classes", least=2)
        self.k, self.n_classes, self.disjoint = k, n_classes, disjoint
        shape = (n_classes * (n_classes - 1) // 2, k)
        for name, dtype in zip(ScoredPairs._fields, [torch.int64] * 2 + [torch.float64] * 2, strict=True):
            self.register_buffer(name, torch.zeros(shape, dtype=dtype))

    @unmapped(COUNTS)
    @torch.no_grad()
    def fit(self, X: Tensor, y: Any, *, progress: bool = False) -> Evidence:
        """Choose the pairs for samples ``(m, n)`` with class numbers ``(m,)``; each class needs a sample.

        Returns:
            Evidence of a closed form: there is nothing to iterate, and no loss.
        """
        X, origin = as_scores(X)
        labels = class_numbers(y, len(X), self.n_classes, X.device)[0]
        for row, (first, second) in enumerate(class_pairs(self.n_classes)):
            of_two = (labels == first) | (labels == second)
            found = top_scoring_pairs(
                X[of_two], labels[of_two] == second, self.k, disjoint=self.disjoint, progress=progress
            )
            for name, part in found._asdict().items():
                getattr(self, name)[row] = part
        self.remember(origin.items)
        return Evidence.closed_form()

    def forward(self, X: Tensor) -> Tensor:
        """Decision values of samples ``(m, n)``: ``(m,)`` float64, positive for class 1, or ``(m, n_classes)``.

        Two classes: votes for class 1 minus votes for class 0, divided by k. More: how many other classes each wins
        against, an even vote counting one half, plus less than 1/3 either way by margins.
        """
        self.check_items(as_scores(X)[1].items)
        pairs = [ScoredPairs(*parts) for parts in zip(self.above, self.below, self.score, self.secondary, strict=True)]
        margins = torch.stack([torch.as_tensor(vote_margins(X, p)) for p in pairs])
        return one_against_one(margins, self.n_classes)

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Tensor) -> Tensor: ...

    def predict(self, X: Tensor) -> Tensor:
        """Class numbers ``(m,)`` int64; the lowest one among equals."""
        return decided_class(self(X))

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        return f"k={self.k}, n_classes={self.n_classes}, disjoint={self.disjoint}"


@isolated
class AllPairsMajorityVote(KeepsPrecision, RemembersItems):
    """Majority vote of all n(n-1)/2 pairs of items; several classes one against one.

    There are too many pairs to keep, so a copy of the training samples is kept instead, as buffers, and pairs are
    scored again with every call: classify many samples at once. It is the APMV of Jiao and Vert (IEEE TPAMI 40(7),
    2018); see :func:`all_pairs_margins` for how pairs vote.

    Args:
        X: ``(m, n)`` scores, larger = preferred.
        y: ``(m,)`` class numbers.
        n_classes: number of classes; None means one more than the largest number in ``y``.
        ties: "half" for a neutral vote, "strict" to reproduce published accuracies; see :func:`all_pairs_margins`.

    Raises:
        ValueError: labels that do not fit, or an unknown choice.
    """

    samples: Tensor
    labels: Tensor

    @unmapped(COUNTS)
    def __init__(self, X: Tensor, y: Any, *, n_classes: int | None = None, ties: VoteTies = "half") -> None:
        super().__init__()
        check_choice(ties, "ties", TIES)
        X, origin = as_scores(X)
        self.remember(origin.items)
        labels, self.n_classes = class_numbers(y, len(X), n_classes, X.device)
        self.ties: VoteTies = ties
        self.register_buffer("samples", X.clone())  # loading a state writes into buffers
        self.register_buffer("labels", labels.clone())

    def forward(self, X: Tensor, *, progress: bool = False) -> Tensor:
        """Decision values of samples ``(m2, n)``: ``(m2,)`` float64, positive for class 1, or ``(m2, n_classes)``."""
        self.check_items(as_scores(X)[1].items)
        margins = []
        for first, second in class_pairs(self.n_classes):
            of_two = (self.labels == first) | (self.labels == second)
            train, classes = self.samples[of_two], self.labels[of_two] == second
            margins.append(all_pairs_margins(train, classes, X, ties=self.ties, progress=progress))
        return one_against_one(torch.stack(margins), self.n_classes)

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Tensor, *, progress: bool = False) -> Tensor: ...

    def predict(self, X: Tensor) -> Tensor:
        """Class numbers ``(m2,)`` int64; the lowest one among equals."""
        return decided_class(self(X))

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        return f"samples={tuple(self.samples.shape)}, n_classes={self.n_classes}, ties={self.ties!r}"
