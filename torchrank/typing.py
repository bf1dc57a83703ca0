"""Types of the public functions: the caller's kind of array, what may be one, and words of options.

A function takes ``Scores[Array]`` and gives ``Array``: a tensor for tensors, an array for arrays and lists. Both sides
of a matrix are of one kind; where one is a tensor and the other an array, functions work, but types do not say so.
Of losses it is the prediction that decides.
Types know no data frames, whose results are frames or series: these are ``Any``. Nor do they know sparse tensors, of
which :func:`torchrank.rank` makes sparse rankings.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from torch import Tensor
from typing_extensions import TypeVar

# Of functions: what comes back where nothing but lists of numbers came in is an array.
Array = TypeVar("Array", Tensor, np.ndarray, default=np.ndarray)
# Of classes and aliases: without a kind they are of any.
Kind = TypeVar("Kind", default=Any)
Kind_co = TypeVar("Kind_co", covariant=True)


class ArrayLike(Protocol[Kind_co]):
    """A tensor or an array, known by a method that gives its own kind, and that data frames lack."""

    def ravel(self) -> Kind_co:
        """All elements in one dimension."""
        ...


class FrameLike(Protocol[Kind_co]):
    """A data frame or a series of pandas, whose attributes are of any kind."""

    @property
    def attrs(self) -> Mapping[Any, Kind_co]:
        """What is noted about the frame."""
        ...


class NamesLike(Protocol):
    """An array of names, or an index or a series of pandas; a text is none."""

    def tolist(self) -> Any:
        """The names."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """One name after the other."""
        ...


class DataSetLike(Protocol[Kind_co]):
    """A data set of rankings, :class:`torchrank.datasets.RankingData`."""

    @property
    def scores(self) -> Kind_co:
        """``(m, n)``."""
        ...

    @property
    def weights(self) -> Any:
        """``(m,)``."""
        ...

    @property
    def rankers(self) -> Sequence[Any]:
        """Names of the rows, which prepared rankings have not."""
        ...


class SparseMatrix(Protocol):
    """A matrix of ``scipy.sparse``, which need not be imported to take one."""

    def tocoo(self) -> Any:
        """Row, column and value of each stored entry."""
        ...


Lists: TypeAlias = Sequence[float] | Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]]
# Numbers in any container, a list of tensors or arrays of one shape among them.
Values: TypeAlias = ArrayLike[Kind] | FrameLike[Kind] | Sequence[ArrayLike[Kind]] | Lists
Names: TypeAlias = list[str] | tuple[str, ...] | NamesLike

# Words of options. Each alias is what the check of the same option reads, by typing.get_args.
Variant: TypeAlias = Literal["a", "b"]
MissingWord: TypeAlias = Literal["raise", "interleaving", "topk", "pairwise"]
PartialWord: TypeAlias = Literal["interleaving", "topk"]
VoteWord: TypeAlias = Literal["raise", "interleaving", "topk"]
PositionWord: TypeAlias = Literal["raise", "topk"]
Noise: TypeAlias = Literal["uniform", "gaussian"]
ItemWeights: TypeAlias = Literal["hyperbolic"]
PairMethod: TypeAlias = Literal["auto", "signs", "inversions", "reference"]
SmoothedMethod: TypeAlias = Literal["auto", "exact", "sweep", "reference"]
Estimator: TypeAlias = Literal["full", "paired"]
Scheme: TypeAlias = Literal["product", "sum", "hyperbolic"]
LossScheme: TypeAlias = Literal["sum", "product"]
Reduction: TypeAlias = Literal["mean", "sum", "none"]
Sign: TypeAlias = Literal["positive", "negative", "either"]
Alternative: TypeAlias = Literal["two-sided", "greater", "less"]
Correction: TypeAlias = Literal["fdr_bh", "fdr_by", "bonferroni"]
TestMethod: TypeAlias = Literal["auto", "exact", "asymptotic"]
PositionTies: TypeAlias = Literal["average", "min", "dense", "raise"]
GivenTies: TypeAlias = Literal["allow", "raise"]
KemenyMethod: TypeAlias = Literal["auto", "local"]
Center: TypeAlias = Literal["kemeny", "borda", "copeland"]
MallowsTies: TypeAlias = Literal["raise", "unknown"]
WorthTies: TypeAlias = Literal["raise", "davidson"]
WorthMethod: TypeAlias = Literal["auto", "newton", "cg", "mm"]
Covariance: TypeAlias = Literal["auto", "full", "diagonal", "none"]
Init: TypeAlias = Literal["k-means++", "random"]
Criterion: TypeAlias = Literal["bic", "aic"]
RidgeOn: TypeAlias = Literal["kernel", "scatter"]
Threshold: TypeAlias = Literal["midpoint", "zero"]
VoteTies: TypeAlias = Literal["half", "strict"]
RankingScale: TypeAlias = Literal["count", "share", "tau"]
Loss: TypeAlias = Literal["regression", "ranking"]
Direction: TypeAlias = Literal["outgoing", "incoming"]
Relation: TypeAlias = Literal["ordinary", "symmetric", "reciprocal"]
KrylovMethod: TypeAlias = Literal["cg", "bicgstab"]
Exclude: TypeAlias = Literal["edge", "start", "end", "query"]
NodesExcluded: TypeAlias = Literal["start", "end", "both"]
FeatureCenter: TypeAlias = Literal["mallows", "plackett-luce"]
ClusterMethod: TypeAlias = Literal["naive", "ebms", "k-o-means"]
TreeInit: TypeAlias = Literal["rows", "random"]
Prediction: TypeAlias = Literal["nearest", "mixture"]
GateMetric: TypeAlias = Literal["euclidean", "ridge"]
EMInit: TypeAlias = Literal["cells", "tree", "random"]
EMScores: TypeAlias = Literal["gradient", "mm"]
EMStep: TypeAlias = Literal["normalized", "gradient"]
EMStop: TypeAlias = Literal["never", "loss", "likelihood"]
EMSchedule: TypeAlias = Literal["geometric", "paper"]
TreeMethod: TypeAlias = Literal["iterative", "pruned"]
LeafOrder: TypeAlias = Literal["given", "leaves"]
TableForm: TypeAlias = Literal["scores", "positions", "orders"]
Gaps: TypeAlias = Literal["raise", "close"]
Solver: TypeAlias = Literal["auto", "eigen", "cg", "bicgstab"]
