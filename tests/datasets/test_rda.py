import bz2
import gzip
import lzma
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from tests.datasets.upstream import RMatrix, write_r
from torchrank.datasets.rda import as_matrix, as_strings, import_rdata, member, names_of, read_objects

VALUES = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0]])


@pytest.fixture
def back(tmp_path):
    """What is read of what was written."""

    def read(value):
        write_r(tmp_path / "file.rda", {"thing": value})
        return read_objects(tmp_path / "file.rda")["thing"]

    return read


@pytest.mark.parametrize(
    ("value", "rows", "columns"),
    [
        (VALUES, (), ()),
        (RMatrix(VALUES), (), ()),
        (RMatrix(VALUES, ["a", "b"], ["x", "y", "z"]), ("a", "b"), ("x", "y", "z")),
        (RMatrix(VALUES, None, ["x", "y", " z "]), (), ("x", "y", "z")),
        (RMatrix(VALUES, ["a", "b"], None), ("a", "b"), ()),
        (RMatrix(np.ma.masked_invalid(VALUES).filled(-1).astype(np.int32), ["1", "2"], None), (), ()),
        (pd.DataFrame(VALUES, columns=list("xyz"), index=pd.RangeIndex(1, 3)), (), ("x", "y", "z")),
        (pd.DataFrame({"x": [1, 4], "y": [2, 5]}, index=pd.Index(["a", "b"], dtype=object)), ("a", "b"), ("x", "y")),
    ],
)
def test_tables_in_all_their_forms(back, value, rows, columns):
    found = back(value)
    expected = np.asarray(value.values if hasattr(value, "values") else value, dtype=float)
    np.testing.assert_array_equal(as_matrix(found), expected)
    assert names_of(found, 0) == rows
    assert names_of(found, 1) == columns


@pytest.mark.parametrize("names", [None, ["x", "y", "z"]])
def test_missing_integers_become_nan(back, names):
    integers = np.ma.masked_invalid(VALUES).filled(-1).astype(np.int32)
    found = back(RMatrix(np.ma.masked_equal(integers, -1), None, names))
    np.testing.assert_array_equal(as_matrix(found), VALUES)
    frame = back(pd.DataFrame({"x": pd.array([1, None], dtype="Int32")}))
    np.testing.assert_array_equal(as_matrix(frame), [[1], [np.nan]])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (pd.Categorical(["b", "a", "b"], categories=["a", "b"]), ("b", "a", "b")),
        (np.array(["b ", "a"]), ("b", "a")),
        (np.array([-1.0, 1.0]), ("-1", "1")),
        (np.array([-1, 1], dtype=np.int32), ("-1", "1")),
    ],
)
def test_classes_in_all_their_forms(back, value, expected):
    assert as_strings(back(value)) == expected


def test_members(back):
    objects = {"list": back({"inner": {"x": np.array([1.0])}})}
    assert member(objects, "list", "inner", "x").tolist() == [1.0]
    with pytest.raises(ValueError, match=r"it holds no list\$other$"):
        member(objects, "list", "other")
    with pytest.raises(ValueError, match=r"it holds no list\$inner\$x\$y$"):
        member(objects, "list", "inner", "x", "y")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.arange(3.0), r"numbers of shape \(3,\)"),
        (np.array(["a", "b"]), "could not convert string to float"),
        ({"x": np.arange(3.0)}, "something else where a table of numbers was expected"),
        (None, r"numbers of shape \(\)"),
        (pd.DataFrame({"x": ["a", "b"]}, index=pd.RangeIndex(1, 3)), "could not convert string to float"),
    ],
)
def test_other_things_are_no_tables(back, value, message):
    with pytest.raises(ValueError, match=message):
        as_matrix(back(value))


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_files_that_are_not_whole(tmp_path, compress, share):
    path = tmp_path / "file.rda"
    write_r(path, {"thing": np.random.default_rng(0).random((20, 20))})
    whole = compress(gzip.decompress(path.read_bytes()))
    path.write_bytes(whole)
    assert read_objects(path)["thing"].shape == (20, 20)
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="it is not a whole R data file"):
        read_objects(path)


@pytest.mark.parametrize("content", [b"<html>please log in</html>", b"", b"\x1f\x8b\x08\0\0\0\0\0\0\0junk", b"RDX9\n"])
def test_files_that_are_something_else(tmp_path, content):
    (tmp_path / "file.rda").write_bytes(content)
    with pytest.raises(ValueError, match="it is not a"):
        read_objects(tmp_path / "file.rda")


def test_without_rdata(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(ImportError, match="pip install rdata"):
        import_rdata()


@pytest.mark.slow
def test_rdata_is_imported_only_where_it_reads():
    code = "import sys, torchrank.datasets.fetch; assert not {'rdata', 'pandas', 'xarray'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
