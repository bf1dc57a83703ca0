"""Data sets of the conditional-ranking experiments, read from the folder that TORCHRANK_DATA names.

At hand (public copies, see each function): newsgroups, Davis kinases, the four Yamanishi sets. Not at hand: the
bacterial species and the enzymes of Pahikkala et al. (2013); :func:`bacteria` and :func:`enzymes` say which files
they expect.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

YAMANISHI = ("nuclear_receptor", "gpcr", "ion_channel", "enzyme")
SET_1 = ("rec.autos", "rec.sport.baseball", "comp.sys.ibm.pc.hardware", "comp.windows.x")


def data_folder() -> Path:
    """The folder that TORCHRANK_DATA names, or an error that says what to do."""
    folder = os.environ.get("TORCHRANK_DATA")
    if not folder or not Path(folder).is_dir():
        raise SystemExit("set TORCHRANK_DATA to the folder of data sets, for example TORCHRANK_DATA=data")
    return Path(folder)


@dataclass(frozen=True)
class Interactions:
    """Labels between two sets of nodes, a similarity on each."""

    F: np.ndarray  # (drugs, targets)
    drug_similarity: np.ndarray
    target_similarity: np.ndarray


def davis(folder: Path) -> Interactions:
    """68 drugs, 442 kinases, Kd in nanomolar (``drug_target/davis.npz``); targets compared by raw alignment scores."""
    with np.load(folder / "drug_target" / "davis.npz") as data:
        return Interactions(data["kd_nM"], data["drug_sim"], data["target_sim"])


def yamanishi(folder: Path, name: str) -> Interactions:
    """One of :data:`YAMANISHI`, 0/1 labels (``drug_target/NAME.npz``), its similarities turned into kernels.

    For the enzymes only a similarity from a protein network is at hand instead of that of sequences.
    """
    with np.load(folder / "drug_target" / f"{name}.npz") as data:
        target = data["target_sim" if "target_sim" in data else "target_sim_ppi"]
        return Interactions(data["adj"].T.astype(float), as_kernel(data["drug_sim"]), as_kernel(target))


def as_kernel(similarity: np.ndarray) -> np.ndarray:
    """The symmetric part, shifted by its lowest eigenvalue where that is negative."""
    symmetric = (similarity + similarity.T) / 2
    return symmetric + max(0.0, -np.linalg.eigvalsh(symmetric)[0]) * np.eye(len(symmetric))


@dataclass(frozen=True)
class Posts:
    """Word counts and groups of posts."""

    counts: csr_matrix  # (posts, words)
    labels: np.ndarray  # (posts,) group numbers
    group_names: list[str]

    def take(self, posts: np.ndarray) -> "Posts":
        """Some of the posts."""
        return Posts(csr_matrix(self.counts[posts]), self.labels[posts], self.group_names)

    def kernel(self, others: "Posts") -> np.ndarray:
        """Inner products of word counts."""
        return np.asarray((self.counts @ others.counts.T).todense(), dtype=float)

    def relevance(self, others: "Posts") -> np.ndarray:
        """2 for the same group, 1 for the same top level (rec, comp), 0 otherwise."""
        top = np.array([name.split(".")[0] for name in self.group_names])
        same_group = self.labels[:, None] == others.labels[None]
        return same_group.astype(float) + (top[self.labels][:, None] == top[others.labels][None])


def newsgroups(folder: Path) -> tuple[Posts, Posts]:
    """Sets 1 and 2 of Section 6.2: four and five groups (``newsgroups/newsgroups9.npz``)."""
    with np.load(folder / "newsgroups" / "newsgroups9.npz") as data:
        counts = csr_matrix((data["data"].astype(float), data["indices"], data["indptr"]), shape=tuple(data["shape"]))
        posts = Posts(counts, data["labels"].astype(int), [str(name) for name in data["group_names"]])
    first = np.isin(np.array(posts.group_names)[posts.labels], SET_1)
    return posts.take(np.flatnonzero(first)), posts.take(np.flatnonzero(~first))


def bacteria(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Fatty acid profiles and species of Slabbinck et al. (2010): 955 profiles of 73 species.

    Not published with the paper. Expects ``bacteria/fame.csv``: a header, then a column ``species`` and one column
    for each fatty acid. Linear node kernel, label 1 for the same species; the two largest species are divided between
    the training set and test set 1, 26 of the others train and 27 are test set 2 (Section 6.3).
    """
    table = np.genfromtxt(folder / "bacteria" / "fame.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    features = np.stack([table[name] for name in table.dtype.names or () if name != "species"], axis=1).astype(float)
    return features, table["species"]


def enzymes(folder: Path, similarity: str) -> tuple[np.ndarray, np.ndarray]:
    """A kernel between 1730 enzymes and their catalytic similarity, Stock et al. (2012).

    Not published with the paper. Expects ``enzymes/NAME.npy`` for NAME among cb, fp, wfp, mcs, lpcs, a ``(1730,
    1730)`` matrix, and ``enzymes/ec.txt`` with one EC number a line. The label of a pair is how many leading fields
    of the numbers agree.
    """
    numbers = [line.split(".") for line in (folder / "enzymes" / "ec.txt").read_text().split()]
    codes = np.array(numbers)
    agree = np.cumprod(codes[:, None] == codes[None], axis=2)
    return np.load(folder / "enzymes" / f"{similarity}.npy"), agree.sum(2).astype(float)
