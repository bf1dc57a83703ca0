"""B20, B18: PrefLib files as they are found: older layouts, gzipped, without names, cut off, with absurd counts."""

import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest

from torchrank.datasets import read_preflib

FILE = "f.toi"
NAN = np.nan
KINDS = ("soc", "soi", "toc", "toi")
HEADER = """# TITLE: Lunch
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 7
# NUMBER UNIQUE ORDERS: 2
# ALTERNATIVE NAME 1: Soup
# ALTERNATIVE NAME 2: Salad
# ALTERNATIVE NAME 3: Bread
"""
BALLOTS = "5: 3,{1,2}\n2: 2\n"
OLD = "3\n1,Soup\n2,Salad\n3,Bread\n7,7,2\n5,3,{1,2}\n2,2\n"
SCORES = [[1, 1, 2], [NAN, 1, NAN]]
FOLDER = Path(os.environ.get("TORCHRANK_DATA") or "nowhere") / "preflib"
FILES = [str(path.relative_to(FOLDER)) for path in sorted(FOLDER.rglob("*")) if path.suffix[1:] in KINDS]


def check(data, items=("Soup", "Salad", "Bread"), scores=SCORES):
    assert data.items == items
    np.testing.assert_array_equal(data.scores, scores)
    np.testing.assert_array_equal(data.weights, [5, 2])


@pytest.mark.parametrize("text", [HEADER + BALLOTS, OLD])
@pytest.mark.parametrize("kind", KINDS)
def test_gzipped_files_of_every_kind(tmp_path, text, kind):
    path = tmp_path / f"f.{kind}.gz"
    alike = text
    if kind.startswith("s"):
        alike = alike.replace("3,{1,2}", "3,1,2")
    if kind.endswith("c"):
        alike = alike.replace("2: 2\n", "2: 2,1,3\n").replace("\n2,2\n", "\n2,2,1,3\n")
    path.write_bytes(gzip.compress(alike.encode()))
    scores = [[2, 1, 3] if kind.startswith("s") else SCORES[0], [2, 3, 1] if kind.endswith("c") else SCORES[1]]
    check(read_preflib(path), scores=scores)
    check(read_preflib(str(path)), scores=scores)
    loud = tmp_path / f"F.{kind.upper()}.GZ"
    loud.write_bytes(path.read_bytes())
    check(read_preflib(loud), scores=scores)
    path.write_bytes(text.encode())
    with pytest.raises(ValueError, match=rf"f\.{kind}\.gz is not gzipped, as its name says"):
        read_preflib(path)
    with pytest.raises(ValueError, match=r"f\.cat\.gz is not one of \.soc"):
        read_preflib(tmp_path / "f.cat.gz")


@pytest.mark.parametrize("text", [HEADER + BALLOTS, OLD])
def test_ballots_are_of_the_kind_that_the_suffix_says(tmp_path, text):
    wrong = {
        "soc": "has a tie, and .soc files have none, which .toc files may have; correct the file or its name",
        "soi": "has a tie, and .soi files have none, which .toi files may have",
        "toc": "ranks 1 of 3 alternatives, and .toc files rank all, unlike .toi",
    }
    for kind, message in wrong.items():
        path = tmp_path / f"f.{kind}"
        path.write_text(text)
        with pytest.raises(ValueError, match=rf"f\.{kind}, line \d {re.escape(message)}"):
            read_preflib(path)
        with pytest.warns(UserWarning, match=re.escape(message.partition(";")[0])):
            check(read_preflib(path, lenient=True))


@pytest.mark.parametrize(
    "text",
    [
        "3\n0,Soup\n1,Salad\n2,Bread\n7,7,2\n5,2,{0,1}\n2,1\n",
        HEADER.replace("NAME 1", "NAME 0").replace("NAME 2", "NAME 1").replace("NAME 3", "NAME 2")
        + "5: 2,{0,1}\n2: 1\n",
        "3\n3,Soup\n4,Salad\n7,Bread\n7,7,2\n5,7,{3,4}\n2,4\n",  # numbers with gaps between them
        HEADER.replace("NAME 3", "NAME 9") + "5: 9,{1,2}\n2: 2\n",
        OLD.replace("3,Bread", "3,Bread").replace("7,7,2", "7,,"),  # totals that are not there
        OLD.replace("5,3,{1,2}", "5,3,{1,2},").replace("2,2", "2,2,"),
        OLD.replace("5,3,{1,2}", "5,3,{1,2,}, ").replace("2,2\n", "2,{},2,{}\n"),
        OLD.replace("1,Soup\n2,Salad\n3,Bread", "Soup\nSalad\nBread"),
        HEADER.replace("# NUMBER ALTERNATIVES: 3\n", "") + BALLOTS,
        HEADER.replace("# NUMBER VOTERS: 7\n", "").replace("# NUMBER UNIQUE ORDERS: 2\n", "") + BALLOTS,
    ],
)
def test_older_and_looser_layouts(write, text):
    check(read_preflib(write(text)))


@pytest.mark.parametrize(
    ("text", "items", "scores"),
    [
        (HEADER.replace("# ALTERNATIVE NAME 3: Bread\n", "") + BALLOTS, ("Soup", "Salad", "3"), SCORES),
        (HEADER.replace("# ALTERNATIVE NAME 1: Soup\n", "") + BALLOTS, ("1", "Salad", "Bread"), SCORES),
        ("# NUMBER ALTERNATIVES: 4\n" + BALLOTS, ("1", "2", "3", "4"), [[1, 1, 2, NAN], [NAN, 1, NAN, NAN]]),
        ("# TITLE: Lunch\n" + BALLOTS, ("1", "2", "3"), SCORES),
        ("# NUMBER ALTERNATIVES: 3\n5: 2,{0,1}\n2: 1\n", ("0", "1", "2"), SCORES),
        ("# TITLE: Lunch\n5: 2,{0,1}\n2: 1\n", ("0", "1", "2"), SCORES),
        ("# NUMBER ALTERNATIVES: 4\n5: 2,{0,1}\n2: 1\n", ("0", "1", "2", "3"), [[1, 1, 2, NAN], [NAN, 1, NAN, NAN]]),
        ("# NUMBER ALTERNATIVES: 3\n5: 8,{1,2}\n2: 2\n", ("1", "2", "8"), SCORES),
    ],
)
def test_alternatives_without_names_are_called_by_their_numbers(write, text, items, scores):
    check(read_preflib(write(text)), items, scores)


def test_a_ballot_of_empty_groups_ranks_nothing(write):
    data = read_preflib(write(HEADER + "5: {}\n2: 2\n"))
    np.testing.assert_array_equal(data.scores, [[NAN] * 3, [NAN, 1, NAN]])


def test_fewer_voters_than_announced(write, recwarn):
    path = write(HEADER.replace("VOTERS: 7", "VOTERS: 9").replace("ORDERS: 2", "ORDERS: 3") + BALLOTS)
    with pytest.raises(ValueError, match=r"f\.toi, line 3 announces NUMBER VOTERS 9 and holds 7.*lenient=True"):
        read_preflib(path)
    assert not recwarn.list
    check(read_preflib(path, lenient=True))
    (warning,) = recwarn.list
    message = "line 3 announces NUMBER VOTERS 9 and holds 7; f.toi, line 4 announces NUMBER UNIQUE ORDERS 3 and holds 2"
    assert message in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.parametrize("text", [HEADER + BALLOTS + "3: 1,2,3\n", OLD + "3,1,2,3\n"])
def test_a_file_cut_anywhere_in_its_last_line(write, recwarn, text):
    """With the totals of three ballots: whole lines count, and half of one does not."""
    text = text.replace("VOTERS: 7", "VOTERS: 10").replace("ORDERS: 2", "ORDERS: 3").replace("7,7,2", "10,10,3")
    start = text[:-1].rindex("\n") + 1
    order = start + 3  # from here on the votes are all there, and nothing else tells that the order may go on
    for end in range(start + 1, order):
        with pytest.warns(UserWarning, match=f"ends within line {text.count(chr(10))}, which was left out") as caught:
            check(read_preflib(write(text[:end]), lenient=True))
        assert len(caught) == 1
        with pytest.raises(ValueError, match=r"f\.toi"):
            read_preflib(write(text[:end]))
    more = text.replace("VOTERS: 10", "VOTERS: 20").replace("10,10,3", "20,20,3")
    with pytest.warns(UserWarning, match="which was left out; .* announces NUMBER VOTERS 20 and holds 7"):
        check(read_preflib(write(more[:-2]), lenient=True))  # other lines are missing too, so this may have gone on
    assert read_preflib(write(text[:-1]), lenient=True).weights.sum() == 10
    assert read_preflib(write(text), lenient=True).weights.sum() == 10
    assert not recwarn.list


def test_compressed_data_cut_off(tmp_path, recwarn):
    rows = "".join(f"1: {a},{b},{6 - a - b}\n" for a, b in [(1, 2), (2, 1), (3, 2), (1, 3)] * 500)
    text = HEADER.replace("VOTERS: 7", "VOTERS: 2000").replace("ORDERS: 2", "ORDERS: 4") + rows
    whole = gzip.compress(text.encode())
    path = tmp_path / "f.soc.gz"
    path.write_bytes(whole)
    assert read_preflib(path).weights.sum() == 2000
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(ValueError, match=r"f\.soc\.gz was cut off: its compressed data end too early.*lenient=True"):
        read_preflib(path)
    assert 0 < read_preflib(path, lenient=True).weights.sum() < 2000
    assert len(recwarn.list) == 1


@pytest.mark.parametrize(
    "text", [HEADER.replace("ALTERNATIVES: 3", "ALTERNATIVES: 1000000000") + BALLOTS, "1000000000\n" + OLD[2:]]
)
def test_a_thousand_million_alternatives(write, text):
    """B18: named, with the line, and without filling the memory."""
    with pytest.raises(ValueError, match=r"f\.toi, line 2 announces 1000000000.*right number|ends before its 10000"):
        read_preflib(write(text))


@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_every_file_is_read(name):
    data = read_preflib(FOLDER / name)
    assert len(data.items) == float(data.notes["NUMBER ALTERNATIVES"])
    assert sum(data.weights) == float(data.notes["NUMBER VOTERS"])
    assert len(data.weights) == float(data.notes["NUMBER UNIQUE ORDERS"])


@pytest.mark.data
def test_there_are_files(data_folder):
    assert len(FILES) >= 20
    assert any("old_format" in name for name in FILES)
