"""Two-class sets of gene expression and proteomic spectra of Jiao and Vert (2018), Table 1, and two more.

A set is a file NAME.npz in the folder ``gene_expression`` of the folder named by ``TORCHRANK_DATA``: ``X`` (samples,
features), ``y`` (index of the class) and, where the authors had one, ``split`` (0 training, 1 test).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Source:
    """What a set is called in the paper, and what has to be in the file."""

    paper: str | None  # column of Table 2
    shape: tuple[int, int]  # samples, features
    origin: str


# Those that tell methods apart come first; on the last three no method beats the larger class.
SOURCES = {
    "colon": Source("CT", (62, 2000), "Alon et al. (1999)"),
    "prostate1": Source("PC1", (136, 12600), "Singh et al. (2002)"),
    "lung_cancer2": Source("LC2", (181, 12533), "Gordon et al. (2002)"),
    "leukemia": Source(None, (72, 7129), "Golub et al. (1999)"),
    "dlbcl": Source(None, (77, 7129), "Shipp et al. (2002)"),
    "medulloblastoma": Source("MB", (60, 7129), "Pomeroy et al. (2002)"),
    "lung_adenocarcinoma": Source("LA1", (86, 7129), "Beer et al. (2002)"),
    "prostate2": Source("PC2", (21, 12600), "Singh et al. (2002), relapse"),
    "breast_cancer1": Source("BC1", (95, 23624), "van 't Veer et al. (2002), 76 + 19 samples"),
    "breast_cancer2": Source("BC2", (198, 22283), "Desmedt et al. (2007), GEO series GSE7390"),
    "breast_cancer3": Source("BC3", (209, 22283), "Wang et al. (2005), GEO series GSE2034"),
    "ovarian_cancer": Source("OC", (253, 15154), "Petricoin et al. (2002), NCI PBSII"),
}


@dataclass(frozen=True)
class Samples:
    """One set."""

    name: str
    X: np.ndarray  # (m, n) float64
    y: np.ndarray  # (m,) 0 or 1
    test: np.ndarray | None  # (m,) bool where training and test samples are given


def load(folder: Path, name: str) -> Samples:
    """Read a set.

    Raises:
        FileNotFoundError: the set is not there; the message says where it comes from and how to make the file.
        ValueError: the file has other dimensions than the paper's Table 1.
    """
    source, path = SOURCES[name], folder / "gene_expression" / f"{name}.npz"
    if not path.exists():
        m, n = source.shape
        raise FileNotFoundError(
            f"{path} is missing. {name} is the set of {source.origin}, {m} samples x {n} features; the authors' R "
            "files are in github.com/YunlongJiao/kendallkernel_demo, folder geneexpr/data. Read one (in R load, in "
            "Python for example the package rdata) and keep it by "
            f"np.savez_compressed({path.name!r}, X=..., y=..., split=...): y 0 or 1, split 0 for training and 1 for "
            "test samples, left out where there is none."
        )
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.int64)
        given = file["split"] == 1 if "split" in file and name in ("prostate1", "breast_cancer1") else None
    if X.shape != source.shape:
        raise ValueError(
            f"{path} holds {X.shape[0]} samples x {X.shape[1]} features; the paper's set is {source.shape}"
        )
    return Samples(name, X, y, given)


def at_hand(folder: Path) -> list[str]:
    """Names of the sets whose file is there, in the order of :data:`SOURCES`."""
    return [name for name in SOURCES if (folder / "gene_expression" / f"{name}.npz").exists()]
