"""CSV files of scores, positions, orders and comparisons, and the ways in which one can be misread."""

import gzip

import numpy as np
import pandas as pd
import pytest

from torchrank.datasets.csv_files import read_comparisons, read_rankings
from torchrank.datasets.tables import ranking_data

FILE = "votes.csv"
NAN = np.nan
POSITIONS = "who,age,n,soup,salad,bread\nann,31,2,1,3,2\nbob,48,1,2,,1\n"


def test_positions_with_everything_named(write):
    data = read_rankings(write(POSITIONS), form="positions", weights="n", rankers="who", features=["age"])
    np.testing.assert_array_equal(data.scores, [[3, 1, 2], [2, NAN, 3]])
    np.testing.assert_array_equal(data.weights, [2, 1])
    np.testing.assert_array_equal(data.X, [[31], [48]])
    assert (data.items, data.rankers) == (("soup", "salad", "bread"), ("ann", "bob"))
    assert (data.title, data.feature_names) == ("votes.csv", ("age",))
    chosen = read_rankings(write(POSITIONS), form="positions", items=["bread", "soup"], title="lunch")
    np.testing.assert_array_equal(chosen.scores, [[1, 2], [2, 1]])
    assert (chosen.items, chosen.title) == (("bread", "soup"), "lunch")


def test_equals_what_pandas_reads(write):
    path = write(POSITIONS)
    for form in ("scores", "positions"):
        named = {"form": form, "weights": "n", "rankers": "who", "features": ["age"]}
        ours, theirs = read_rankings(path, **named), ranking_data(pd.read_csv(path), **named)
        for part in ("scores", "weights", "features"):
            np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part))
        assert (ours.items, ours.rankers, ours.feature_names) == (theirs.items, theirs.rankers, theirs.feature_names)


def test_zipped_semicolons_and_r_without_values(tmp_path):
    path = tmp_path / "votes.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write('"soup; cold";salad;bread\n4.5;NA;3\n\n1;NaN;-\n')
    data = read_rankings(path, form="scores", delimiter=";", unranked="-")
    np.testing.assert_array_equal(data.scores, [[4.5, NAN, 3], [1, NAN, NAN]])
    assert data.items == ("soup; cold", "salad", "bread")


def test_orders_of_names_may_be_ragged(write):
    data = read_rankings(write("n,1st,2nd,3rd\n2,soup,bread,salad\n1,bread\n"), form="orders", weights="n")
    assert data.items == ("bread", "salad", "soup")
    np.testing.assert_array_equal(data.scores, [[2, 1, 3], [1, NAN, NAN]])
    np.testing.assert_array_equal(data.weights, [2, 1])


@pytest.mark.parametrize("first", [0, 1])
def test_orders_of_numbers_mean_the_same_from_0_and_from_1(write, first):
    text = "\n".join(",".join(str(item + first) for item in order) for order in ([2, 0, 9], [9, 2])) + "\n"
    data = read_rankings(write(text), form="orders", header=False)
    np.testing.assert_array_equal(data.scores, [[2, 3, 1], [NAN, 1, 2]])
    assert data.items == tuple(str(item + first) for item in (0, 2, 9))
    padded = read_rankings(write("2,0\n0,-1\n"), form="orders", header=False, unranked=-1, items=["0", "1", "2"])
    np.testing.assert_array_equal(padded.scores, [[1, NAN, 2], [1, NAN, NAN]])


def test_a_first_line_of_numbers_is_not_guessed(write):
    path = write("1,2,3\n3,1,2\n")
    assert read_rankings(path, form="positions", header=False).scores.shape == (2, 3)
    assert read_rankings(path, form="positions", header=True).items == ("1", "2", "3")
    with pytest.raises(ValueError, match=r"starts with numbers: '1,2,3'.*header=False"):
        read_rankings(path, form="positions")


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("a,b\n1\n", {}, r"votes\.csv, line 2 has 1 fields"),
        ("a,b\n1,x\n", {}, r"line 2, column 'b' has a field that is not a number: 'x'.*unranked="),
        ("a,a\n1,2\n", {}, "2 columns called 'a'"),
        ("a;b\n1;2\n", {}, r"votes\.csv, line 1 is one field, 'a;b'.*delimiter=';'"),
        ("a\n1\n", {}, "1 columns of items: 'a'"),
        ("a,b\n1,2\n", {"weights": "n"}, "has no column 'n'"),
        ("who,b\nann,2\n", {"rankers": "Who"}, "has no column 'Who'"),
        ("a:n\n1:2\n", {"weights": "n"}, r"has no column 'n'.*delimiter="),
        ('a,b\n1,2\n1,"2,5"\n', {}, r"line 3, column 'b' has a field that is not a number: '2,5'.*decimal=','"),
        ("a,b\n1,2\n1,1_0\n", {}, r"line 3, column 'b' has a field that is not a number: '1_0'"),
        ("a,b\n1,2\n,1_0\n", {}, r"line 3, column 'b' has a field that is not a number: '1_0'"),
        ("a,b\n1,2\n1,1e400\n", {}, r"line 3, column 'b' .*'1e400'; float64 holds numbers up to"),
        ("a,b\n1,2\n,-1e400\n", {}, r"line 3, column 'b' .*'-1e400'; float64 holds numbers up to"),
        ('a,b\n1,"2.000,5"\n', {"decimal": ","}, r"column 'b' .*'2\.000,5'; with decimal=',' numbers have no points"),
        ("a,b\n1,2.000\n", {"decimal": ","}, r"column 'b' .*'2\.000'; with decimal=',' numbers have no points"),
        ("a,b\n\n\n1\n", {}, "line 4 has 1 fields"),
        ("", {}, r"votes\.csv is empty"),
        ("\n \n", {}, r"votes\.csv is empty"),
        ("a,b\n", {}, "a header and no rows: 'a,b'"),
        (",a,b\n1,1,2\n", {}, r"a column without a name, as data frames write their index.*rankers=''"),
        ("a,b\n1,2\n", {"decimal": ";"}, "decimal=';'"),
        ("a,b\n1,2\n", {"items": ["a", "c"]}, "has no column 'c'"),
        ("a,b,n\n1,2,-1\n", {"weights": "n"}, "weights has negative"),
        ("a,b\n0,1\n", {}, "positions has 0 at row 0, item 0"),
        ("a,b\n1,2\n", {"form": "ranks"}, "form='ranks'"),
    ],
)
def test_what_is_wrong_is_named(write, text, settings, message):
    with pytest.raises(ValueError, match=message):
        read_rankings(write(text), **{"form": "positions"} | settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": [1.0]}, "weights is list"),
        ({"features": "a"}, r"features='a' is a text.*features="),
        ({"items": "ab"}, "items='ab' is a text"),
    ],
)
def test_names_of_columns_are_texts_and_lists_of_texts(write, settings, message):
    with pytest.raises(TypeError, match=message):
        read_rankings(write("a,b\n1,2\n"), form="scores", **settings)


def test_what_spreadsheets_write(tmp_path):
    """Semicolons, commas in numbers, encodings before UTF-8, delimiters at the ends of lines, a last line of blanks."""
    text = "Käufer;Zahl;Müsli;Käse;;\r\nJürgen;1,5;4,25;1;;\r\nZoë;2;;3;;\r\n \r\n"
    named = {"form": "scores", "rankers": "Käufer", "weights": "Zahl", "delimiter": ";", "decimal": ","}
    for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16"):
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes(text.encode(encoding))
        other = {} if encoding.startswith("utf-8") else {"encoding": encoding}
        if other:
            with pytest.raises(ValueError, match=r"\.csv is not in utf-8-sig \(.*\).*encoding="):
                read_rankings(path, **named)
        data = read_rankings(path, **named, **other)
        np.testing.assert_array_equal(data.scores, [[4.25, 1], [NAN, 3]])
        np.testing.assert_array_equal(data.weights, [1.5, 2])
        assert (data.items, data.rankers) == (("Müsli", "Käse"), ("Jürgen", "Zoë"))


def test_the_index_of_a_data_frame_names_the_rows(write):
    data = read_rankings(write(",a,b\n7,1,2\n9,2,1\n"), form="scores", rankers="")
    np.testing.assert_array_equal(data.scores, [[1, 2], [2, 1]])
    assert data.rankers == ("7", "9")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_rankings(tmp_path / "none.csv", form="scores")


def test_comparisons_are_counted(write):
    path = write("won,lost,times\nsoup,bread,2\nbread,soup,1\nsoup,bread,0.5\nsoup,salad,1\n")
    data = read_comparisons(path, winner="won", loser="lost", weights="times")
    assert (data.items, data.title) == (("bread", "salad", "soup"), "votes.csv")
    np.testing.assert_array_equal(data.scores, [[1, NAN, 2], [2, NAN, 1], [NAN, 1, 2]])
    np.testing.assert_array_equal(data.weights, [2.5, 1, 1])
    plain = read_comparisons(
        write("2,10\n10,2\n", "plain.csv"), winner="0", loser="1", header=False, items=["2", "3", "10"]
    )
    np.testing.assert_array_equal(plain.scores, [[2, NAN, 1], [1, NAN, 2]])
    with pytest.raises(ValueError, match="has no column 'winner'"):
        read_comparisons(path, winner="winner", loser="lost")


def test_every_form_round_trips_through_a_file(write):
    rng = np.random.default_rng(0)
    scores = np.argsort(rng.random((20, 6)), axis=1) + 1.0
    header = ",".join("abcdef") + "\n"
    names = np.array(list("abcdef"))
    lines = {
        "scores": [",".join(map(str, row)) for row in scores],
        "positions": [",".join(map(str, 7 - row)) for row in scores],
        "orders": [",".join(names[np.argsort(-row)]) for row in scores],
    }
    for form, rows in lines.items():
        data = read_rankings(write(header + "\n".join(rows)), form=form)
        np.testing.assert_array_equal(data.scores, scores)
        assert data.items == tuple("abcdef")


@pytest.mark.data
@pytest.mark.parametrize(("name", "votes", "different"), [("apa", 5738, 120), ("apa_partial", 15449, 205)])
def test_ballots_of_psychologists(data_folder, name, votes, different):
    items = [f"rank_{candidate}" for candidate in "ABCDE"]
    data = read_rankings(
        data_folder / "apa" / f"{name}.csv", form="positions", items=items, weights="count", unranked=0
    )
    assert (len(data.scores), data.weights.sum()) == (different, votes)
    assert data.items == tuple(items)
    if name == "apa":
        first = np.bincount(data.scores.argmax(axis=1), data.weights) / votes
        np.testing.assert_allclose(first, [0.184, 0.135, 0.280, 0.204, 0.197], atol=5e-4)  # Diaconis (1988), page 96


@pytest.mark.parametrize("mark", [";", "|", "\t"])
def test_another_delimiter_below_a_header_is_suspected(tmp_path, mark):
    path = tmp_path / "orders.csv"
    path.write_text(f"first\na{mark}b\nb{mark}a\n")
    with pytest.raises(ValueError, match="line 2 is one field"):
        read_rankings(path, form="orders")


def test_infinite_scores_that_are_written_so(write):
    data = read_rankings(write("a,b,c\n1,inf,-Infinity\n2,1,\n"), form="scores")
    np.testing.assert_array_equal(data.scores, [[1, np.inf, -np.inf], [2, 1, np.nan]])


def test_numbers_that_data_frames_made_floats_are_the_names_they_were(write):
    """pandas writes a column of integers with a gap as 2.0, beside 2 in another column."""
    frame = pd.DataFrame({"1st": [1, 2, 3], "2nd": [2, 1, np.nan]})
    data = read_rankings(write(frame.to_csv(index=False)), form="orders")
    assert data.items == ("1", "2", "3")
    np.testing.assert_array_equal(data.scores, ranking_data(frame, form="orders").scores)
    games = read_comparisons(write("w,l\n1,2.0\n2,1.0\n"), winner="w", loser="l")
    assert (games.items, games.weights.tolist()) == (("1", "2"), [1, 1])
    long = read_rankings(write("u,i,s\n7.0,1,3\n8,2.0,4\n8,1,2\n"), user="u", item="i", score="s")
    assert (long.rankers, long.items) == (("7", "8"), ("1", "2"))
    versions = read_rankings(write("a,b\n1.0,1.1\n2.0,1.0\n"), form="orders", header=True)
    assert versions.items == ("1.0", "1.1", "2.0")  # these are no integers
    listed = read_rankings(write("a,b\n1.0,2.0\n"), form="orders", header=True, items=["1.0", "2.0"])
    assert listed.items == ("1.0", "2.0")
    for text, settings in (
        ("p1,p2,p3\n1,2.0,3\n2,1.0,NA\n", {}),
        ("p1,p2,p3\n1,2.0,3\n2,1.0,-\n", {"unranked": "-"}),
        ("p1;p2;p3\n1;2,0;3\n2;1,0;\n", {"delimiter": ";", "decimal": ","}),
    ):
        assert read_rankings(write(text), form="orders", **settings).items == ("1", "2", "3")
    with pytest.raises(ValueError, match=r"9007199254740993\.0, a number in floating point, where integers from 2\^53"):
        read_comparisons(write("w,l\n1,9007199254740993.0\n"), winner="w", loser="l")


def test_large_numbers_with_a_fraction_of_zero_stay_apart(write):
    data = read_rankings(write("a,b\n9007199254740992.0,9007199254740993.0\n"), form="scores")
    np.testing.assert_array_equal(np.argsort(data.scores), [[0, 1]])
    assert data.scores[0, 0] != data.scores[0, 1]
