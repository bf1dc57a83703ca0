"""Gene-expression sets from their sources: small ones in all forms, and the real ones."""

import numpy as np
import pandas as pd
import pytest

from tests.datasets.upstream import RMatrix, write_expression, write_r
from torchrank.datasets import catalog
from torchrank.datasets.expression import fetch_gene_expression
from torchrank.datasets.sources import digest

X = np.array([[1.5, 2.0, -3.0], [0.1, 0.0, 7.0], [5.0, 5.0, 5.0], [1e6, 2.0, 0.5]])
LABELS = ["Tumor", "Normal", "Normal", "Tumor"]
CODES = [1, 0, 0, 1]


@pytest.fixture
def publish(monkeypatch, public, server, cached):
    """Publish a small prostate1 set, of which these numbers are expected."""
    known = catalog.EXPRESSION["prostate1"]
    numbers = np.column_stack([CODES, X])
    source = type(known.source)(**{**vars(known.source), "digest": digest(numbers, "<f4")})
    monkeypatch.setitem(catalog.EXPRESSION, "prostate1", known._replace(source=source, test=slice(3, None)))
    return lambda content: write_r(public / source.name, {"pc": content})


FORMS = {
    "one part, factor": {"x": RMatrix(X, list("abcd"), ["g", "h", "i"]), "y": pd.Categorical(LABELS)},
    "two parts, factors": {
        "xtrain": RMatrix(X[:3], list("abc"), ["g", "h", "i"]),
        "ytrain": pd.Categorical(LABELS[:3]),
        "xtest": RMatrix(X[3:], ["d"], ["g", "h", "i"]),
        "ytest": pd.Categorical(LABELS[3:], categories=["Normal", "Tumor"]),
    },
    "NULL for the second part, text": {
        "xtrain": RMatrix(X, list("abcd"), ["g", "h", "i"]),
        "ytrain": np.array(LABELS),
        "xtest": None,
        "ytest": None,
    },
    "data frame": {
        "x": pd.DataFrame(X, index=pd.Index(list("abcd"), dtype=object), columns=["g", "h", "i"]),
        "y": pd.Categorical(LABELS),
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_sources(publish, form):
    publish(FORMS[form])
    data = fetch_gene_expression("prostate1", progress=False)
    np.testing.assert_array_equal(data.scores, X)
    assert data.classes.tolist() == CODES
    assert data.class_names == ("Normal", "Tumor")
    assert data.items == ("g", "h", "i")
    assert data.rankers == ("a", "b", "c", "d")
    assert data.notes["test"].tolist() == [False, False, False, True]
    assert data.weights.tolist() == [1, 1, 1, 1]
    assert "Singh" in data.citation


def test_without_names(publish):
    publish({"x": X, "y": pd.Categorical(LABELS)})
    data = fetch_gene_expression("prostate1", progress=False)
    assert data.items == ("0", "1", "2")
    assert data.rankers == ()


def test_numbers_are_as_exact_as_the_source_has_them(publish):
    fine = X * (1 + 1e-9)  # float32 sees no difference
    publish({"x": fine, "y": pd.Categorical(LABELS)})
    np.testing.assert_array_equal(fetch_gene_expression("prostate1", progress=False).scores, fine)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"x": X * 1.001, "y": pd.Categorical(LABELS)}, "the SHA-256 of its numbers"),
        ({"x": X, "y": pd.Categorical([*LABELS[::-1], "Tumor"])}, "it has 5 classes of 4 samples"),
        ({"x": X, "y": pd.Categorical(["benign", *LABELS[1:]])}, "the class 'benign', which is neither 'Normal' nor"),
        ({"x": X}, "it holds no y"),
        ({"z": X}, "its pc holds neither x nor xtrain"),
        (X, "its pc holds neither x nor xtrain"),
    ],
)
def test_other_content_is_refused(publish, content, message):
    publish(content)
    with pytest.raises(ValueError, match=rf"pc\.rda holds another file than expected: .*{message}"):
        fetch_gene_expression("prostate1", progress=False)


def test_unknown_names():
    with pytest.raises(ValueError, match=r"name='breast'.*dlbcl"):
        fetch_gene_expression("breast")


@pytest.mark.data
@pytest.mark.parametrize("name", catalog.EXPRESSION)
def test_expression_sets(data_folder, public, server, cached, name):
    write_expression(data_folder, public, name)
    data = fetch_gene_expression(name, progress=False)
    with np.load(data_folder / "gene_expression" / f"{name}.npz") as copy:
        np.testing.assert_array_equal(data.scores.astype(np.float32), copy["X"])
        np.testing.assert_array_equal(data.classes, copy["y"])
        assert data.class_names == tuple(copy["class_names"])
        if "feature_names" in copy:
            assert data.items == tuple(gene.strip() for gene in copy["feature_names"])
        if "sample_names" in copy and name != "dlbcl":  # whose samples are numbered only
            assert data.rankers == tuple(copy["sample_names"])
        assert ("test" in data.notes) == ("split" in copy)
        if "split" in copy:
            np.testing.assert_array_equal(data.notes["test"], copy["split"] == 1)
    for sample, row in enumerate(data.scores[:3]):
        assert len(np.unique(row)) == len(np.unique(row.astype(np.float32))), sample
