"""How to call what takes more than one line, and what to ask of it."""

from typing import Any

import numpy as np
import torch

import torchrank as tr
from torchrank import estimators

EDGES = np.argwhere(np.ones((4, 4)))  # of a complete graph of 4 nodes
_REGRESSION = tr.PlackettLuceRegression(3).requires_grad_(False)
_REGRESSION.coefficients.copy_(torch.tensor([0.5, -1.0, 0.25]))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator(device="cpu").manual_seed(seed)


def relaxed_sample(V: torch.Tensor) -> torch.Tensor:
    """A smooth sample for each row of logits, drawn alike in every call."""
    logits = V if V.is_floating_point() else V.double()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return tr.RelaxedPlackettLuce(0.7, logits).rsample()


def together(labels: Any) -> Any:
    """Which rows are in one cluster, whatever the clusters are called."""
    return labels[:, None] == labels[None, :]


def module(make: Any, *what: str) -> Any:
    """Fit a module on X with weights w and give which rows it puts together, and what else it says of X."""

    def call(X: Any, w: Any = None) -> Any:
        model = make()
        model.fit(X, generator=seeded(), weights=w)
        return [together(model.predict(X))] + [getattr(model, name)(X) for name in what]

    return call


def landmark_products(n_landmarks: int) -> Any:
    """Products of features, which are the kernel where all different rows are landmarks."""

    def call(X: Any, w: Any = None) -> Any:
        model = tr.LandmarkFeatures(tr.KendallKernel(), n_landmarks)
        model.fit(X, w, generator=seeded())
        features = model(X)
        return features @ features.T

    return call


def fitted(make: Any, *what: str, clusters: bool = False) -> Any:
    """Fit an estimator and give what it says of X."""

    def call(X: Any, w: Any = None, z: Any = None) -> Any:
        model = make()
        model.fit(X, *([] if z is None else [z]), **({} if w is None else {"sample_weight": w}))
        says = [getattr(model, name)(X) for name in what]
        return [together(s) if clusters and s.dtype.kind == "i" else s for s in says]

    return call


def like(array: np.ndarray, other: Any) -> Any:
    return torch.from_numpy(array) if isinstance(other, torch.Tensor) else array


def column(X: Any) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, 0]
    return X[:, 0] if hasattr(X, "shape") else [row[0] for row in X]


def fitted_mm_pl(V: Any, X: Any) -> Any:
    model = tr.MMPL(2, 5, 2, 4, dtype=V.dtype)
    model.fit(V, X, tr.EMSettings(n_updates=200), generator=seeded(0))
    return model.predict(V), model.predict_cluster(V)


def voted_by_pairs(X: Any, z: Any) -> Any:
    model = tr.TopScoringPairs(k=3)
    model.fit(X, z)
    return model(X)


def fisher_decisions(X: Any, z: Any) -> Any:
    model = tr.KernelFisherDiscriminant(tr.KendallKernel(), X)
    model.fit(z)
    return model(X), model.predict(X)


def kronecker_scores(K: Any, F: Any) -> Any:
    model = tr.KroneckerRLS(lambda a, b: a @ b.mT, K)
    model.fit(F)
    return model(K)


def pair_kernel_products(K: Any, F: Any) -> Any:
    """Between all pairs, and between edges."""
    kernel, edges = tr.PairKernel(K), like(EDGES, K)
    listed = tr.PairKernel(K, relation="symmetric", out_edges=edges, in_edges=edges)
    weights = F.reshape(-1) if hasattr(F, "reshape") else np.ravel(F)
    return kernel @ F, kernel.to_dense(), listed @ weights, listed.to_dense()


def pair_kernel_of_weights(K: Any, F: Any) -> Any:
    """Products with weights of all pairs, and of edges."""
    edges, F = like(EDGES, K), F if hasattr(F, "reshape") else np.asarray(F)
    listed = tr.PairKernel(K, relation="reciprocal", out_edges=edges, in_edges=edges)
    return tr.PairKernel(K) @ F, listed @ F.reshape(*F.shape[:-2], -1)


def regression_log_probs(X: Any, F: Any) -> Any:
    """Log-probabilities of rankings, and logits, of items with features."""
    return _REGRESSION.log_prob(X, F), _REGRESSION(F)


def of_mallows(X: Any) -> Any:
    """Log-probabilities of rankings under a law around the first one, and what is known of the law."""
    law = tr.Mallows(X[..., :1, :] if X.layout == torch.strided else X, 0.5)
    return law.log_prob(X), law.mean_distance[..., 0], law.mode[..., 0, :]


def duals_of_edges(K: Any, F: Any) -> Any:
    return tr.kron_edge_rls(K, None, like(EDGES, K), F.reshape(-1) if hasattr(F, "reshape") else np.ravel(F), 1.0).duals


def parts(X: Any) -> Any:
    """A ranking of all items, and one of three of them."""
    if hasattr(X, "iloc"):
        return [X, X.iloc[:, :3]]
    if isinstance(X, torch.Tensor) and X.layout != torch.strided:
        return [X, X.index_select(1, torch.arange(3))]
    return [X, X[..., :3] if hasattr(X, "shape") else [row[:3] for row in X]]


def selected_items(X: Any, z: Any) -> Any:
    return estimators.TSPSelector(2).fit(X, z).get_support()


def label_ranker(make: Any) -> Any:
    """Fit an estimator of label rankings and give the rankings that it predicts."""
    return lambda V, Y: make().fit(V, Y).predict(V)


def in_reverse(X: Any) -> Any:
    """The rankings in another order, in the same kind of container."""
    return (
        X.flip(0)
        if isinstance(X, torch.Tensor) and X.layout == torch.strided
        else X
        if isinstance(X, torch.Tensor)
        else X[::-1]
        if not hasattr(X, "iloc")
        else X.iloc[::-1]
    )
