"""Files as their public sources have them, written from converted copies of the data sets.

``python -m tests.datasets.upstream FOLDER`` writes all of them from the folder that TORCHRANK_DATA names. With
``TORCHRANK_CACHE=FOLDER`` the fetch functions then work without a network, and check these files as they check the
public ones.
"""

import argparse
import csv
import gzip
import json
import lzma
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torchrank.datasets import catalog
from torchrank.datasets.sources import Source


@dataclass
class RMatrix:
    """A matrix with row and column names, which rdata reads but does not write."""

    values: np.ndarray
    rows: list[str] | None = None
    columns: list[str] | None = None


def _writer() -> Any:
    """The part of rdata that writes, which the package itself does not use: it came with 1.0, for Python 3.11."""
    return pytest.importorskip("rdata.conversion.to_r", reason="this rdata does not write R files")


def _to_r(matrix: RMatrix, converter: Any) -> Any:
    from rdata.parser import RObjectType

    names = [None if n is None else np.array(n) for n in (matrix.rows, matrix.columns)]
    shape = np.array(matrix.values.shape, dtype=np.int32)
    values = np.ma.ravel(matrix.values, order="F")
    kind = RObjectType.INT if values.dtype.kind == "i" else RObjectType.REAL
    attributes = converter.convert_to_r_attributes({"dim": shape, "dimnames": names})
    return _writer().build_r_object(kind, value=values, attributes=attributes)


def write_r(path: Path, objects: dict[str, Any]) -> None:
    """An R data file as R wrote them for many years: serialization format 2; xz for .RData, gzip for .rda."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {**_writer().DEFAULT_CLASS_MAP, RMatrix: _to_r}
    import rdata

    rdata.write_rda(path, objects, compression=None, format_version=2, constructor_dict=known)
    content = path.read_bytes()
    path.write_bytes(lzma.compress(content, preset=0) if path.suffix == ".RData" else gzip.compress(content, 1))


def write_text(path: Path, text: str) -> None:
    """A text file, line endings as they are given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def all_sources() -> Iterator[Source]:
    """Every file that the fetch functions may ask for."""
    yield from (catalog.APA_COMPLETE, catalog.APA_PARTIAL, catalog.EUROVISION, catalog.SUSHI)
    yield from (known.source(name) for name, known in catalog.LABEL_RANKING.items())
    yield from (known.source for known in catalog.EXPRESSION.values())
    yield from (catalog.COLON_GENES, catalog.DAVIS_LABELS, catalog.DAVIS_DRUGS, catalog.DAVIS_TARGETS)
    yield from (catalog.DAVIS_DRUG_NAMES, catalog.DAVIS_TARGET_NAMES)
    for known in catalog.YAMANISHI.values():
        yield from (known.labels, known.drugs, known.targets)


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a table, which may be gzipped."""
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


def write_all(data: Path, folder: Path) -> None:
    """All files, from the converted copies in ``data``."""
    write_apa(data, folder)
    write_eurovision(data, folder)
    write_sushi(data, folder)
    for name in catalog.LABEL_RANKING:
        write_label_ranking(data, folder, name)
    for name in catalog.EXPRESSION:
        write_expression(data, folder, name)
    write_davis(data, folder)
    for name in catalog.YAMANISHI:
        write_yamanishi(data, folder, name)


def write_apa(data: Path, folder: Path) -> None:
    """A row a voter, in no order; what was not ranked is NA."""
    rng = np.random.default_rng(0)
    for source, name, copy in (
        (catalog.APA_COMPLETE, "APAred", "apa.csv"),
        (catalog.APA_PARTIAL, "APAFULL", "apa_partial.csv"),
    ):
        _, rows = read_csv(data / "apa" / copy)
        ranks = np.array([row[:5] for row in rows], dtype=np.int32)
        ballots = rng.permutation(np.repeat(ranks, [int(row[-1]) for row in rows], axis=0))
        write_r(folder / source.name, {name: RMatrix(np.ma.masked_equal(ballots, 0), None, list("ABCDE"))})


def write_eurovision(data: Path, folder: Path) -> None:
    """A list of the matrix and other things."""
    header, rows = read_csv(data / "eurovision" / "eurovision.csv")
    ranks = np.array([row[1:] for row in rows], dtype=float)
    matrix = RMatrix(ranks, [row[0] for row in rows], header[1:])
    frequency = RMatrix(np.column_stack([ranks, np.ones(len(ranks))]))
    content = {"data": matrix, "frequency": frequency, "m": np.full(6, 8.0)}
    write_r(folder / catalog.EUROVISION.name, {"eurovision": content})


def write_sushi(data: Path, folder: Path) -> None:
    """A matrix of integers."""
    header, rows = read_csv(data / "sushi" / "sushi_a.csv.gz")
    items = [name.removeprefix("rank_").replace("_", " ") for name in header]
    matrix = RMatrix(np.array(rows, dtype=np.int32), None, items)
    write_r(folder / catalog.SUSHI.name, {"sushi_rankings": matrix})


def write_label_ranking(data: Path, folder: Path, name: str) -> None:
    """Numbers of rows, features and labels and the names in one line; lines end as on Windows."""
    header, rows = read_csv(data / "label_ranking" / f"{name}.csv.gz")
    n_labels = sum(column.startswith("rank:") for column in header)
    sizes = [str(len(rows)), str(len(header) - n_labels), str(n_labels)]
    lines = [sizes + [column.removeprefix("rank:") for column in header], *rows]
    text = "".join(",".join(line) + "\r\n" for line in lines)
    write_text(folder / catalog.LABEL_RANKING[name].source(name).name, text)


def write_expression(data: Path, folder: Path, name: str) -> None:
    """A list of matrices and factors: xtrain, ytrain, and NULL or xtest, ytest; or x and y."""
    import pandas as pd

    known = catalog.EXPRESSION[name]
    with np.load(data / "gene_expression" / f"{name}.npz") as copy:
        X, y = copy["X"].astype(float), copy["y"]
        samples = list(copy["sample_names"]) if "sample_names" in copy else None
        genes = list(copy["feature_names"]) if "feature_names" in copy else None
    labels = pd.Categorical.from_codes(y.astype(int), list(known.classes))
    if known.source.name.endswith(".RData"):
        write_r(folder / known.source.name, {known.name: {"x": RMatrix(X, samples, genes), "y": labels}})
        return
    columns = None if name == "colon" else genes
    n_train = len(X) if known.test is None else known.test.start
    content: dict[str, Any] = {
        "xtrain": RMatrix(X[:n_train], samples[:n_train], columns),
        "ytrain": labels[:n_train],
        "xtest": None,
        "ytest": None,
    }
    if n_train < len(X):
        content |= {"xtest": RMatrix(X[n_train:], samples[n_train:], columns), "ytest": labels[n_train:]}
    write_r(folder / known.source.name, {known.name: content})
    if name == "colon":
        other = {"X": X, "Y": 2.0 - y, "gene.names": np.array(genes)}
        write_r(folder / catalog.COLON_GENES.name, {"Colon": other})


def write_davis(data: Path, folder: Path) -> None:
    """Numbers with blanks between them, and JSON objects by name."""
    with np.load(data / "drug_target" / "davis.npz") as copy:
        for source, key in (
            (catalog.DAVIS_LABELS, "kd_nM"),
            (catalog.DAVIS_DRUGS, "drug_sim"),
            (catalog.DAVIS_TARGETS, "target_sim"),
        ):
            lines = [" ".join(f"{value!r}".removesuffix(".0") for value in row) for row in copy[key].tolist()]
            write_text(folder / source.name, "\n".join(lines) + "\n")
        for source, key in ((catalog.DAVIS_DRUG_NAMES, "drug_ids"), (catalog.DAVIS_TARGET_NAMES, "target_ids")):
            write_text(folder / source.name, json.dumps({str(name): "C" for name in copy[key]}))


def write_yamanishi(data: Path, folder: Path, name: str) -> None:
    """Tables with tabs, column names in the first line and row names in the first column."""
    known = catalog.YAMANISHI[name]
    with np.load(data / "drug_target" / f"{name}.npz") as copy:
        drugs, targets = list(copy["drug_ids"]), list(copy["target_ids"])
        target_sim = copy["target_sim" if "target_sim" in copy else "target_sim_ppi"]
        write_named_table(folder / known.labels.name, copy["adj"], targets, drugs)
        write_named_table(folder / known.drugs.name, copy["drug_sim"], drugs, drugs)
        write_named_table(folder / known.targets.name, target_sim, targets, targets)


def write_named_table(path: Path, values: np.ndarray, rows: list[str], columns: list[str], corner: str = "") -> None:
    """One of their tables."""
    lines = [[corner, *columns]] + [[row, *map(repr, line)] for row, line in zip(rows, values.tolist(), strict=True)]
    write_text(path, "".join("\t".join(line) + "\n" for line in lines))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    data = os.environ.get("TORCHRANK_DATA")
    folder = parser.parse_args().folder
    if not data or not Path(data).is_dir():
        raise SystemExit("set TORCHRANK_DATA to the folder of converted data sets")
    write_all(Path(data), folder)


if __name__ == "__main__":
    main()
