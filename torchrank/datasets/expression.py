"""Gene-expression sets of two classes from their public sources: each sample ranks the genes."""

from pathlib import Path

import numpy as np

import torchrank.datasets.catalog as catalog
import torchrank.datasets.rda as rda
from torchrank.datasets.data import RankingData
from torchrank.datasets.sources import Place, Table, characters
from torchrank.rankings.validate import check_choice


def fetch_gene_expression(
    name: str, *, folder: str | Path | None = None, download: bool = True, progress: bool = True
) -> RankingData:
    """One of eight two-class sets of gene expression, five of them with the files of Jiao and Vert's experiments.

    ========================  ==============  =============================================
    name                      expressions     classes
    ========================  ==============  =============================================
    colon                     62 x 2,000      40 tumour, 22 normal (CT in the paper)
    medulloblastoma           60 x 7,129      39 Class0, 21 Class1 (MB)
    prostate1                 136 x 12,600    59 Normal, 77 Tumor; 34 are for testing (PC1)
    prostate2                 21 x 12,600     13 Non-relapse, 8 Relapse (PC2)
    lung_adenocarcinoma       86 x 7,129      62 -1, 24 1 (LA1)
    lung_cancer2              181 x 12,533    150 adenocarcinoma, 31 mesothelioma (LC2)
    leukemia                  72 x 7,129      47 ALL, 25 AML; 34 are for testing
    dlbcl                     77 x 7,129      58 DLBCL, 19 FL
    ========================  ==============  =============================================

    Values are as measured, neither logarithms nor normalized, and many of a sample are tied.

    Args:
        name: one of these.
        folder: as for :func:`torchrank.datasets.fetch_apa`; the files are in ``gene_expression``.
        download: as there.
        progress: as there.

    Returns:
        Scores ``(samples, genes)``: each sample ranks the genes by their expression, so ``items`` are genes (0, 1, ...
        where the source has no names, and not always unique) and ``rankers`` are samples where these have names.
        ``classes`` index ``class_names``. Where samples were set aside for testing, ``notes["test"]`` is True at them.

    Raises:
        FileNotFoundError, ValueError, ImportError: as :func:`torchrank.datasets.fetch_apa`; ``ValueError`` also for
            another name.

    Source: https://github.com/YunlongJiao/kendallkernel_demo (no license stated) and, for the last three, the R package
    datamicroarray (MIT), https://github.com/ramhiser/datamicroarray; the names of colon's genes: the R package
    plsgenomics (GPL 2 or later), https://github.com/cran/plsgenomics.

    Example:
        >>> colon = fetch_gene_expression("colon")
        >>> K = torchrank.kendall_gram(colon.scores)
    """
    check_choice(name, "name", tuple(catalog.EXPRESSION))
    rda.import_rdata()
    known, place = catalog.EXPRESSION[name], Place(folder, download, progress)
    table = place.get(known.source, lambda path: _read_expression(path, known.name, known.classes))
    classes, scores = table.values[:, 0].astype(np.int64), table.values[:, 1:]
    genes = place.get(catalog.COLON_GENES, _read_colon_genes).columns if name == "colon" else table.columns
    notes = {}
    if known.test is not None:
        notes["test"] = np.zeros(len(scores), dtype=bool)
        notes["test"][known.test] = True
    return RankingData(
        scores,
        genes or tuple(map(str, range(scores.shape[1]))),
        np.ones(len(scores)),
        rankers=table.rows,
        classes=classes,
        class_names=known.class_names,
        title=known.title,
        license=catalog.EXPRESSION_LICENSES[known.source.repository],
        citation=known.citation,
        notes=notes,
    )


def _read_expression(path: Path, name: str, classes: tuple[str, str]) -> Table:
    """The class index of each sample, then its expressions; a training and a test part are put together."""
    parts = rda.member(rda.read_objects(path), name)
    present = [pair for pair in (("x", "y"), ("xtrain", "ytrain"), ("xtest", "ytest")) if _has(parts, pair[0])]
    if not present:
        raise ValueError(f"its {name} holds neither x nor xtrain")
    X = [rda.member(parts, x) for x, _ in present]
    labels = [label for _, y in present for label in rda.as_strings(rda.member(parts, y))]
    unknown = set(labels).difference(classes)
    if unknown:
        raise ValueError(f"it has the class {min(unknown)!r}, which is neither {classes[0]!r} nor {classes[1]!r}")
    rows = tuple(row for part in X for row in rda.names_of(part, 0))
    codes = [float(classes.index(label)) for label in labels]
    expressions = np.concatenate([rda.as_matrix(part) for part in X])
    if len(codes) != len(expressions):
        raise ValueError(f"it has {len(codes)} classes of {len(expressions)} samples")
    return Table(np.column_stack([codes, expressions]), rows, rda.names_of(X[0], 1))


def _has(parts: object, key: str) -> bool:
    return isinstance(parts, dict) and parts.get(key) is not None


def _read_colon_genes(path: Path) -> Table:
    names = rda.as_strings(rda.member(rda.read_objects(path), "Colon", "gene.names"))
    return Table(characters(names), columns=names)
