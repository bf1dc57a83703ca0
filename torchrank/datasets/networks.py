"""Networks of drugs and proteins with similarities of their nodes, from their public sources."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import torchrank.datasets.catalog as catalog
from torchrank.datasets.sources import Place, Table, characters
from torchrank.rankings.arrays import refuse_masks
from torchrank.rankings.validate import check_choice


@dataclass(frozen=True, eq=False)
class NetworkData:
    """Labels of pairs of nodes of two kinds, with a similarity for each kind.

    Attributes:
        labels: ``(m, n)``, larger = stronger.
        row_kernel: ``(m, m)`` between the m nodes of the rows.
        column_kernel: ``(n, n)`` between the n nodes of the columns.
        rows: names of the m nodes.
        columns: names of the n nodes.
        title: what the data set is called.
        license: terms of use, as the source states them.
        citation: the works to cite.
        notes: what was done to the source's numbers.

    Raises:
        TypeError: masked arrays.
    """

    labels: np.ndarray
    row_kernel: np.ndarray
    column_kernel: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    title: str = ""
    license: str = ""
    citation: str = ""
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("labels", "row_kernel", "column_kernel"):
            refuse_masks(getattr(self, name), name)

    def __repr__(self) -> str:
        m, n = self.labels.shape
        return f"NetworkData({self.title!r}: {m} x {n} labels)"


def fetch_davis(
    *, raw: bool = False, folder: str | Path | None = None, download: bool = True, progress: bool = True
) -> NetworkData:
    """How strongly 68 drugs bind 442 kinases, with similarities of structure and of sequence.

    Args:
        raw: labels and similarities as the source has them: dissociation constants Kd in nanomolar (10,000, which 70
            per cent have, where no binding was measured; smaller = stronger), and for the kinases Smith-Waterman scores
            from 80 to 16,832.
        folder: as for :func:`torchrank.datasets.fetch_apa`; the five files are in ``davis``.
        download: as there.
        progress: as there.

    Returns:
        Labels ``(68, 442)`` of drugs and kinases, ``-log10(Kd / 1e9)``: 5 for no binding, 9 for one nanomolar. Kernels:
        2-D similarity of the drugs, and Smith-Waterman scores k of the kinases as ``k_ij / sqrt(k_ii k_jj)``; both are
        positive semi-definite.

    Raises:
        FileNotFoundError, ValueError: as :func:`torchrank.datasets.fetch_apa`.

    Source: DeepDTA (no license stated), https://github.com/hkmztrk/DeepDTA.

    Example:
        >>> davis = fetch_davis(raw=True)
        >>> davis.labels.shape, int((davis.labels <= 30).sum())
        ((68, 442), 1527)
    """
    place = Place(folder, download, progress)
    labels = place.get(catalog.DAVIS_LABELS, _read_plain_table).values
    drugs = place.get(catalog.DAVIS_DRUGS, _read_plain_table).values
    targets = place.get(catalog.DAVIS_TARGETS, _read_plain_table).values
    notes = {"labels": "Kd in nanomolar"}
    if not raw:
        labels = 9 - np.log10(labels)
        targets = targets / np.sqrt(np.outer(targets.diagonal(), targets.diagonal()))
        notes = {"labels": "-log10(Kd / 1e9), Kd in nanomolar", "column_kernel": "normalized to a diagonal of 1"}
    return NetworkData(
        labels,
        drugs,
        targets,
        place.get(catalog.DAVIS_DRUG_NAMES, _read_keys).columns,
        place.get(catalog.DAVIS_TARGET_NAMES, _read_keys).columns,
        title="Davis: drugs and kinases",
        license="not stated (DeepDTA)",
        citation="M. I. Davis et al., Nature Biotechnology 29(11), 2011, 1046-1051; similarities: T. Pahikkala et al., "
        "Briefings in Bioinformatics 16(2), 2015, 325-337",
        notes=notes,
    )


def fetch_yamanishi(
    name: str, *, raw: bool = False, folder: str | Path | None = None, download: bool = True, progress: bool = True
) -> NetworkData:
    """One of the four networks of drugs and proteins of Yamanishi et al. (2008).

    ================  =====  ========  =====
    name              drugs  proteins  links
    ================  =====  ========  =====
    nuclear_receptor  54     26        90
    gpcr              223    95        635
    ion_channel       210    204       1,476
    enzyme            445    664       2,926
    ================  =====  ========  =====

    The source's similarities of drugs (SIMCOMP) are not quite symmetric, and most not positive semi-definite. Those of
    proteins are normalized Smith-Waterman scores, but for the enzymes, of which no copy was found that could be
    checked: there they come from a network of protein interactions, and are far from positive semi-definite.

    Args:
        name: one of these.
        raw: similarities as the source has them.
        folder: as for :func:`torchrank.datasets.fetch_apa`; the three files are in ``yamanishi``.
        download: as there.
        progress: as there.

    Returns:
        Labels 0 and 1 of drugs (rows) and proteins (columns). The kernels are the symmetric parts of the similarities
        with, where the lowest eigenvalue is negative, that much added to the diagonal; ``notes`` say how much.

    Raises:
        FileNotFoundError, ValueError: as :func:`torchrank.datasets.fetch_apa`; ``ValueError`` also for another name.

    Source: PyDTI (GPL-2), https://github.com/stephenliu0423/PyDTI; the enzymes' protein similarity: KronRLSMKLStacking
    (no license stated), https://github.com/sudiptap/KronRLSMKLStacking.

    Example:
        >>> receptors = fetch_yamanishi("nuclear_receptor")
        >>> receptors.labels.shape, int(receptors.labels.sum())
        ((54, 26), 90)
    """
    check_choice(name, "name", tuple(catalog.YAMANISHI))
    known, place = catalog.YAMANISHI[name], Place(folder, download, progress)
    labels = place.get(known.labels, _read_named_table)
    drugs = place.get(known.drugs, _read_named_table).values
    proteins = place.get(known.targets, _read_named_table).values
    notes: dict[str, Any] = {}
    if not raw:
        drugs, notes["added to the diagonal of row_kernel"] = as_kernel(drugs)
        proteins, notes["added to the diagonal of column_kernel"] = as_kernel(proteins)
    license = "GPL-2 (PyDTI)"
    if known.targets.repository != known.labels.repository:
        license += "; not stated for column_kernel (KronRLSMKLStacking)"
    return NetworkData(
        labels.values.T.copy(),
        drugs,
        proteins,
        labels.columns,
        labels.rows,
        title=f"{known.title} and drugs (Yamanishi)",
        license=license,
        citation="Y. Yamanishi et al., Bioinformatics 24(13), 2008, i232-i240",
        notes=notes,
    )


def as_kernel(similarity: np.ndarray) -> tuple[np.ndarray, float]:
    """The symmetric part, made positive semi-definite by adding to its diagonal, and how much was added."""
    symmetric = (similarity + similarity.T) / 2
    values = np.linalg.eigvalsh(symmetric)
    rounding = len(values) * np.finfo(np.float64).eps * values[-1]
    shift = -float(values[0]) if values[0] < -rounding else 0.0
    return symmetric + shift * np.eye(len(symmetric)), shift


def _read_plain_table(path: Path) -> Table:
    return Table(_numbers([line.split() for line in path.read_text(encoding="utf-8").splitlines()]))


def _read_named_table(path: Path) -> Table:
    """A line of column names, with or without a word for the column of row names, then a name and numbers a line."""
    header, *lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()] or [[]]
    values = _numbers([line[1:] for line in lines])
    corner = len(header) - values.shape[1]
    if corner not in (0, 1):
        raise ValueError(f"its first line names {len(header)} columns; the others have {values.shape[1]} numbers")
    return Table(values, tuple(line[0] for line in lines), tuple(header[corner:]))


def _numbers(rows: list[list[str]]) -> np.ndarray:
    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        raise ValueError(f"it is not a table of numbers; its rows have {sorted(lengths)} entries")
    return np.array([[float(field) for field in row] for row in rows])


def _read_keys(path: Path) -> Table:
    """The keys of a JSON object, in the order of the file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError("it does not hold a JSON object")
    return Table(characters(tuple(content)), columns=tuple(content))
