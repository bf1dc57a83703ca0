"""B18: files that are large, in another format, cut off, or not on this machine."""

import csv
import gzip
import io
import time
from pathlib import Path

import numpy as np
import pytest

from torchrank.datasets import read_comparisons, read_label_ranking, read_preflib, read_rankings
from torchrank.datasets.files import local_path, read_text

FILE = "table.csv"
NAN = np.nan


def test_time_grows_with_the_columns_alone(tmp_path):
    """Four times the columns take far less than the 16 times of a search for each name among all."""

    def seconds(n, form):
        path = tmp_path / "wide.csv"
        path.write_text(",".join(f"g{k}" for k in range(n)) + "\n" + ",".join(map(str, range(1, n + 1))) + "\n")
        took = []
        for _ in range(3):
            start = time.perf_counter()
            data = read_rankings(path, form=form)
            took.append(time.perf_counter() - start)
        assert data.scores.shape == (1, n)
        return min(took)

    for form in ("scores", "positions", "orders"):
        seconds(100, form)
        assert seconds(20_000, form) < 10 * max(seconds(5_000, form), 0.01)


def test_a_long_field_is_named_or_read(write):
    text = f"1st,2nd\n{'x' * 200_000},y\n"
    with pytest.raises(ValueError, match=r"table\.csv, line 2: field larger.*csv\.field_size_limit\(200011\)"):
        read_rankings(write(text), form="orders")
    before = csv.field_size_limit(200_011)
    try:
        assert len(read_rankings(write(text), form="orders").items[0]) == 200_000
    finally:
        csv.field_size_limit(before)
    open_quote = '1st,2nd\na,"b\n' + "c,d\n" * 50_000
    with pytest.raises(ValueError, match=r"table\.csv, line \d+: field larger.*quotation mark that is never closed"):
        read_rankings(write(open_quote), form="orders")


@pytest.mark.parametrize("other", [";", "\t", "|"])
def test_another_delimiter_is_suspected(write, other):
    message = r"table\.csv, line 1 is one field, 'Ann.*; are fields separated at .*delimiter="
    for text, settings in (
        ("Ann{0}Bob\nBob{0}Ann\n", {"form": "orders", "header": False}),
        ("Ann{0}Bob\nBob{0}Ann\nBob\n", {"form": "orders"}),
        ("Ann{0}Bob\n1{0}2\n", {"form": "scores"}),
        ("Ann{0}Bob\n1,5{0}2,5\n", {"form": "scores"}),
        ("Ann{0}Bob\n1{0}2\n", {"user": "Ann", "item": "Bob", "score": "Cem"}),
        ("Ann{0}Bob\n1{0}2\n", {"ballot": "Bob"}),
    ):
        with pytest.raises(ValueError, match=message):
            read_rankings(write(text.format(other)), **settings)
        if settings.get("form") == "orders":
            read = read_rankings(write(text.format(other)), **settings, delimiter=other)
            assert read.items == ("Ann", "Bob")
    with pytest.raises(ValueError, match=r"line 2 is one field, 'Bob(.|\\t)Ann'"):
        read_rankings(write(f"Ann\nBob{other}Ann\n"), form="orders", header=False)
    with pytest.raises(ValueError, match="delimiter="):
        read_comparisons(write(f"w{other}l\na{other}b\n"), winner="w", loser="l")


def test_one_column_is_one_column_otherwise(write):
    assert read_rankings(write("Ann\nBob\n"), form="orders", header=False).items == ("Ann", "Bob")
    with pytest.raises(ValueError, match=r"is one field, 'Ann,Bob'; are fields separated at ','"):
        read_rankings(write("Ann,Bob\nBob,Ann\n"), form="orders", delimiter=";")
    assert read_rankings(write("vote\nA>B|C\n"), ballot="vote").items == ("A", "B|C")
    for delimiter in ("", ", ", None):
        with pytest.raises(ValueError, match=r"delimiter=.*; expected one character"):
            read_rankings(write("a,b\n1,2\n"), form="scores", delimiter=delimiter)


def test_rows_cut_off_at_the_end(write, recwarn):
    text = "who,a,b,c\nann,1,2,3\nbob,3,1,2\ncem,2,1,3\n"
    for end in range(text.index("cem") + 1, text.index("cem") + 8):  # "c" to "cem,2,1": one to three fields
        with pytest.raises(ValueError, match=r"line 4 has \d fields.*lenient=True"):
            read_rankings(write(text[:end]), form="positions", rankers="who")
        with pytest.warns(UserWarning, match=r"table\.csv was cut off: 2 rows are whole, 1 at its end") as caught:
            data = read_rankings(write(text[:end]), form="positions", rankers="who", lenient=True)
        assert len(caught) == 1
        assert data.rankers == ("ann", "bob")
    assert len(read_rankings(write(text), form="positions", rankers="who", lenient=True).scores) == 3
    with pytest.raises(ValueError, match="line 3 has 2 fields"):  # in the middle it is no cut
        read_rankings(write("a,b,c\n1,2,3\n1,2\n3,2,1\n"), form="positions", lenient=True)
    assert not recwarn.list


def test_every_reader_of_tables_is_lenient_on_request(write):
    for text, read in (
        ("w,l\na,b\nb,c\na\n", lambda path, **settings: read_comparisons(path, winner="w", loser="l", **settings)),
        ("x,rank:a,rank:b\n1,1,2\n2,2,1\n3\n", read_label_ranking),
        ("u,i,s\na,x,1\na,y,2\nb\n", lambda path, **kw: read_rankings(path, user="u", item="i", score="s", **kw)),
    ):
        with pytest.raises(ValueError, match=r"line 4 has 1 fields.*lenient=True"):
            read(write(text))
        with pytest.warns(UserWarning, match="2 rows are whole, 1 at its end were left out"):
            read(write(text), lenient=True)


def test_compressed_tables_cut_off(tmp_path):
    rng = np.random.default_rng(0)
    table = rng.integers(1, 1000, (5000, 3))
    buffer = io.StringIO()
    np.savetxt(buffer, table, "%d", ",", header="a,b,c", comments="")
    whole = gzip.compress(buffer.getvalue().encode())
    path = tmp_path / "t.csv.gz"
    for share in (0.3, 0.6, 0.999):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(ValueError, match=r"t\.csv\.gz was cut off: its compressed data end too early.*lenient"):
            read_rankings(path, form="scores")
        with pytest.warns(
            UserWarning, match=r"t\.csv\.gz was cut off: (\d+) rows are whole, [12] at its end"
        ) as caught:
            data = read_rankings(path, form="scores", lenient=True)
        assert len(caught) == 1
        assert 0 < len(data.scores) < 5000
        np.testing.assert_array_equal(data.scores, table[: len(data.scores)])
    path.write_bytes(whole)
    np.testing.assert_array_equal(read_rankings(path, form="scores").scores, table)
    path.write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"2,1\n") + b"\0" * 8)  # as pigz and tapes do
    np.testing.assert_array_equal(read_rankings(path, form="scores").scores, [[1, 2], [2, 1]])
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"t\.csv\.gz is not gzipped, as its name says, or damaged"):
        read_rankings(path, form="scores", lenient=True)
    renamed = path.with_suffix("")
    renamed.write_bytes(whole)
    with pytest.raises(ValueError, match=r"t\.csv is gzipped; give it a name that ends in \.gz"):
        read_rankings(renamed, form="scores")


READERS = (
    lambda path: read_rankings(path, form="scores"),
    lambda path: read_comparisons(path, winner="w", loser="l"),
    read_label_ranking,
    read_preflib,
)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("path", ["https://somewhere.org/a.csv", "HTTP://x/a.soc", "s3://b/a.csv", "file:/tmp/a.soc"])
def test_addresses_are_no_paths(read, path):
    with pytest.raises(ValueError, match=r"path='.*' is an address.*Download it first.*fetch_"):
        read(path)
    with pytest.raises(ValueError, match="is an address"):
        read(Path(path))


@pytest.mark.parametrize("read", READERS)
def test_paths_are_paths(read, tmp_path):
    with pytest.raises(TypeError, match="path is StringIO; expected where a file lies"):
        read(io.StringIO("a,b\n1,2\n"))
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.soc")
    assert local_path("C:/data/a.csv").name == "a.csv"


def test_encodings(write):
    with pytest.raises(ValueError, match="encoding='klingon' is unknown"):
        read_rankings(write("a,b\n1,2\n"), form="scores", encoding="klingon")
    path = write("")
    path.write_bytes("a,ö\n1,2\n3,4 ü".encode()[:-1])
    with pytest.raises(ValueError, match=r"table\.csv is not in utf-8-sig.*encoding="):
        read_text(path, "utf-8-sig", remedy="pass its encoding=")
    assert read_text(path, "utf-8-sig", remedy="", lenient=True) == ("table.csv", "a,ö\n1,2\n3,4 ", True)
