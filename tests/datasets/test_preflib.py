"""PrefLib files: both layouts, ties, repeated lines, totals, and every way in which a file can be wrong."""

import numpy as np
import pytest

from torchrank.datasets.preflib import read_preflib
from torchrank.rankings.convert import to_positions

FILE = "f.toi"
HEADER = """# FILE NAME: f.toi
# TITLE: Lunch
# DATA TYPE: toi
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: {voters}
# NUMBER UNIQUE ORDERS: {orders}
# ALTERNATIVE NAME 1: Soup
# ALTERNATIVE NAME 2: Salad: green
# ALTERNATIVE NAME 3: Bread
"""


def new(*ballots, voters=None, orders=None):
    total = sum(float(ballot.split(":")[0]) for ballot in ballots) if voters is None else voters
    return HEADER.format(voters=total, orders=len(ballots) if orders is None else orders) + "\n".join(ballots) + "\n"


def test_ties_and_unranked_items(write):
    data = read_preflib(write(new("5: 3,{1,2}", "2: 2", "1: {1, 3}, 2")))
    nan = np.nan
    np.testing.assert_array_equal(data.scores, [[1, 1, 2], [nan, 1, nan], [2, 1, 2]])
    np.testing.assert_array_equal(data.weights, [5, 2, 1])
    assert data.items == ("Soup", "Salad: green", "Bread")
    assert data.title == "Lunch"
    assert data.expanded().shape == (8, 3)
    assert repr(data) == "RankingData('Lunch': 3 rankings of 3 items, total weight 8)"


def test_the_last_tie_can_stand_for_unranked_items(write):
    path = write(new("5: 3,{1,2}", "2: 2,1,3", "1: {1,2,3}"))
    data = read_preflib(path, last_tie="unranked")
    np.testing.assert_array_equal(np.isnan(data.scores), [[1, 1, 0], [0, 0, 0], [0, 0, 0]])


def test_repeated_lines_are_summed_and_weights_may_be_fractions(write):
    data = read_preflib(write(new("1.5: 1,2,3", "2: 2,1,3", "0.25: 1,2,3")))
    np.testing.assert_array_equal(data.weights, [1.75, 2])
    with pytest.raises(ValueError, match="not whole numbers"):
        data.expanded()


def test_the_older_layout(write):
    data = read_preflib(write("3\n1,Soup\n2,Salad, green\n3,Bread\n7,7,2\n4,3,{1,2}\n3,2\n"))
    np.testing.assert_array_equal(data.scores, [[1, 1, 2], [np.nan, 1, np.nan]])
    np.testing.assert_array_equal(data.weights, [4, 3])
    assert data.items == ("Soup", "Salad, green", "Bread")


def test_different_orders_are_counted_as_lines_or_as_what_differs(write):
    for announced in (3, 2):
        text = new("1: 1,{2,3}", "2: 2,1,3", "4: 1,{3,2}", orders=announced)
        np.testing.assert_array_equal(read_preflib(write(text)).weights, [5, 2])
    with pytest.raises(ValueError, match="announces NUMBER UNIQUE ORDERS 1 and holds 2"):
        read_preflib(write(new("1: 1,2", "2: 2,1", "4: 1,2", orders=1)))


def test_windows_files_are_read(tmp_path):
    path = tmp_path / "f.soi"
    path.write_bytes(b"\xef\xbb\xbf" + new("2: 1,3").replace("Soup", "Süppchen").replace("\n", "\r\n").encode())
    data = read_preflib(path)
    assert data.items[0] == "Süppchen"
    assert "PrefLib" in data.citation
    path.write_bytes(new("2: 1,3").replace("Soup", "Süppchen").encode("latin-1"))
    with pytest.raises(ValueError, match=r"f\.soi is not in utf-8.*PrefLib's files are UTF-8"):
        read_preflib(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (new("5: 3,4"), r"f\.toi, line 10: alternative 4 does not exist"),
        (new("5: 3,0"), "alternative 0 does not exist"),
        (new("5: 3,{1,3}"), "line 10: alternative 3 is listed twice"),
        (new("1: 3,{1,2"), "not an order such as"),
        (new("1: "), "not an order such as"),
        (new("1: 3,,2"), "not an order such as"),
        (new("1: a,2"), "alternatives that are not numbers"),
        (new("1: -1,2"), "alternatives that are not numbers"),
        (new("1: {1,,2}"), "alternatives that are not numbers"),
        (new(f"1: 1,{9:05000d}"), r"f\.toi, line 10: the number of an alternative has 5000 digits"),
        (
            new("1: 1,2").replace("NAME 1", f"NAME {9:05000d}"),
            r"line \d+: the number of an alternative has 5000 digits",
        ),
        (new(f"1{0:05000d}: 1,2"), r"line 10: '10{39}\.\.\.' is not a number$"),
        (new("1: 1", voters=1).replace("1: 1", "x: 1"), "'x' is not a number"),
        (new("1: 1", voters=1).replace("1: 1", "1_0: 1"), "'1_0' is not a number"),
        (new("-1: 1,2"), "line 10: -1 votes"),
        (new("inf: 1,2"), "inf votes"),
        (new("nan: 1,2"), "nan votes"),
        ("1\n1,A\n1,1,1\n-1,1\n", "line 4: -1 votes"),
        (new("1: 1", voters=1).replace("1: 1", "1 2 3"), "is not 'votes: order'"),
        (new("1: 1,2", voters=7), "announces NUMBER VOTERS 7 and holds 1"),
        (new("1: 1,2", orders=2), "announces NUMBER UNIQUE ORDERS 2 and holds 1"),
        (new("1: 1,2") + "# ALTERNATIVE NAME 4: Tea", r"f\.toi, line 4 announces 3 alternatives, and the file names 4"),
        (new("1: 1,2") + "# ALTERNATIVE NAME 3: Tea", "line 11: alternative 3 has a name already"),
        (new("1: 1,2 3"), "line 10: '1,2 3' is not an order such as"),
        (new("1: 1,2").replace("TIVES: 3", "TIVES: 3.5"), r"line 4 has NUMBER ALTERNATIVES 3\.5; expected a whole"),
        (new("1: 1,2").replace("TIVES: 3", "TIVES: three"), "line 4 has NUMBER ALTERNATIVES: 'three' is not a number"),
        (new("1: 1,2").replace("TIVES: 3", "TIVES: inf"), "line 4 has NUMBER ALTERNATIVES inf; expected a finite"),
        (new("1: 1,2").replace("TIVES: 3", "TIVES: -3"), "line 4 has NUMBER ALTERNATIVES -3"),
        (new("1: 1,2", orders=1.5), r"line 6 has NUMBER UNIQUE ORDERS 1\.5; expected a whole number"),
        (new("1: 1,2", voters="nan"), "line 5 has NUMBER VOTERS nan"),
        ("2.5\n1,A\n2,B\n1,1,1\n1,2\n", r"line 1 has NUMBER ALTERNATIVES 2\.5; expected a whole number"),
        ("", "is empty"),
        ("3\n1,a\n2,b\n", "ends before its 3 alternatives"),
        ("2\n1,A\nB\n1,1,1\n", "line 3: 'B' is not 'number,name of an alternative'"),
        ("1\n1,A\n1,1\n", "is not 'voters,votes,different ballots'"),
        ("1\n1,A\n1,1,1\n1\n", "is not 'votes,order'"),
    ],
)
def test_what_is_wrong_is_named(write, text, message):
    with pytest.raises(ValueError, match=message):
        read_preflib(write(text))


def test_other_kinds_of_files_are_refused(write):
    with pytest.raises(ValueError, match=r"f\.cat is not one of \.soc"):
        read_preflib(write("", "f.cat"))


@pytest.mark.data
def test_every_sample_agrees_with_its_header(data_folder):
    paths = [path for path in (data_folder / "preflib").rglob("*") if path.suffix in (".soc", ".soi", ".toc", ".toi")]
    assert len(paths) >= 20
    for path in paths:
        data = read_preflib(path)
        assert sum(data.weights) == float(data.notes["NUMBER VOTERS"])
        assert len(data.weights) == float(data.notes["NUMBER UNIQUE ORDERS"])
        if path.suffix in (".soc", ".toc"):
            assert not np.isnan(data.scores).any(), path
        if path.suffix in (".soc", ".soi"):
            positions = to_positions(data.scores, ties="raise")
            assert np.nanmin(positions) == 1


@pytest.mark.data
@pytest.mark.parametrize("name", ["00012-00000001.soc", "00032-00000001.soi", "00032-00000004.toc"])
def test_both_layouts_hold_the_same_ballots(data_folder, name):
    def ballots(path):
        data = read_preflib(path)
        rows = np.nan_to_num(to_positions(data.scores, ties="min")).tolist()
        return sorted(zip(map(tuple, rows), data.weights.tolist(), strict=True))

    assert ballots(data_folder / "preflib" / name) == ballots(data_folder / "preflib" / "old_format" / name)


@pytest.mark.data
def test_imbued_ballots_can_be_taken_back(data_folder):
    def ballots(name, **settings):
        data = read_preflib(data_folder / "preflib" / name, **settings)
        positions = np.nan_to_num(to_positions(data.scores))
        one_left = (positions > 0).sum(axis=1) >= positions.shape[1] - 1  # a single item left over is last either way
        return {
            (tuple(row), weight)
            for row, weight, skip in zip(positions, data.weights, one_left, strict=True)
            if not skip
        }

    complete = ballots("00007-00000001.toc", last_tie="unranked")
    assert len(complete) > 100
    assert complete == ballots("00007-00000001.soi")
