"""Drug-target interactions in the four settings: Davis as in a published tutorial, and the Yamanishi sets.

``TORCHRANK_DATA=folder python -m benchmarks.papers.conditional_drug_target``. The tutorial is that of the RLScore
package (Pahikkala and Airola, JMLR 17 (2016)): raw Kd values as labels, linear kernels on the rows of the similarity
matrices, concordance over all pairs of edges.
"""

from pathlib import Path

import numpy as np

from benchmarks.papers.conditional_data import YAMANISHI, Interactions, data_folder, davis, yamanishi
from benchmarks.registry import Recorder
from torchrank.conditional import KroneckerEigh, two_step_loo
from torchrank.metrics import concordance_index
from torchrank.typing import Exclude

# setting: lam in powers of two where the tutorial peaks, and its concordance there
TUTORIAL = {"A": (21, 0.897650), "B": (32, 0.715542), "C": (23, 0.860152), "D": (32, 0.687180)}
POWERS = range(15, 35)


def davis_concordance(folder: Path, powers: range = POWERS) -> dict[str, dict[int, float]]:
    """Concordance by setting and power of two of lam, on the tutorial's splits (legacy NumPy seed 1)."""
    data, lam = davis(folder), 2.0 ** np.array(powers)
    drugs, targets = data.drug_similarity, data.target_similarity
    results = {"A": _by_power(powers, data.F, KroneckerEigh(drugs @ drugs.T, targets @ targets.T).loo(data.F, lam))}
    for setting in "BCD":
        random = np.random.RandomState(1)
        drug_order, target_order = list(range(len(drugs))), list(range(len(targets)))
        if setting in "BD":
            random.shuffle(drug_order)
        if setting in "CD":
            random.shuffle(target_order)
        train_d, test_d = (drug_order[:40], drug_order[40:]) if setting in "BD" else (drug_order, drug_order)
        train_t, test_t = (target_order[:300], target_order[300:]) if setting in "CD" else (target_order, target_order)
        D, T = drugs[train_d], targets[train_t]
        solver = KroneckerEigh(D @ D.T, T @ T.T)
        solver.solve(data.F[np.ix_(train_d, train_t)], lam)
        scores = solver.predict(drugs[test_d] @ D.T, targets[test_t] @ T.T)
        results[setting] = _by_power(powers, data.F[np.ix_(test_d, test_t)], scores)
    return results


def yamanishi_concordance(data: Interactions) -> dict[str, dict[int, float]]:
    """The same for leave-out predictions of all edges; D by two-step regression with the root of lam on each side."""
    powers = range(-8, 9, 2)
    lam = 2.0 ** np.array(powers)
    solver = KroneckerEigh(data.drug_similarity, data.target_similarity)
    excludes: dict[str, Exclude] = {"A": "edge", "B": "start", "C": "end"}
    results = {
        setting: _by_power(powers, data.F, solver.loo(data.F, lam, exclude=exclude))
        for setting, exclude in excludes.items()
    }
    roots = np.sqrt(lam)
    both = [two_step_loo(data.drug_similarity, data.target_similarity, data.F, root, root) for root in roots]
    return {**results, "D": _by_power(powers, data.F, np.stack(both))}


def _by_power(powers: range, F: np.ndarray, scores: np.ndarray) -> dict[int, float]:
    return {power: concordance_index(F, scores[i]) for i, power in enumerate(powers)}


def _report(
    recorder: Recorder, name: str, results: dict[str, dict[int, float]], wanted: dict[str, tuple[int, float]]
) -> None:
    for setting, curve in results.items():
        best = max(curve, key=lambda power: curve[power])
        published = wanted.get(setting, (None, None))[1]
        recorder.append(
            data=name, setting=setting, power=best, concordance=curve[best], published=published, curve=curve
        )
        print(f"{name:<17} {setting} lam=2^{best:<3} concordance {curve[best]:.6f}  published {published or '-'}")


def main() -> None:
    """Run all and record the results."""
    folder, recorder = data_folder(), Recorder("conditional_drug_target")
    _report(recorder, "davis", davis_concordance(folder), TUTORIAL)
    for name in YAMANISHI:
        _report(recorder, name, yamanishi_concordance(yamanishi(folder, name)), {})


if __name__ == "__main__":
    main()
