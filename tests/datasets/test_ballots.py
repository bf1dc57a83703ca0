"""B19: ballots as strings with and without weights, marks, gaps, R's NA, and numbers in orders."""

import re

import numpy as np
import pandas as pd
import pytest

from torchrank.datasets import (
    from_comparisons,
    from_ranking_strings,
    ranking_data,
    read_label_ranking,
    read_rankings,
    to_ranking_strings,
)

FILE = "ballots.csv"
NAN = np.nan
VOTES = "who,n,age,vote\nann,3,31,A>B=C\nbob,2,48,C > A\ncem,1,20,NA\ndan,4,50,\neve,1,60,spoiled\n"


def test_a_column_of_ballots_in_files_and_data_frames(write):
    named = {"ballot": "vote", "weights": "n", "rankers": "who", "features": ["age"], "unranked": ["spoiled"]}
    for data in (read_rankings(write(VOTES), **named), ranking_data(pd.read_csv(write(VOTES)), **named)):
        assert (data.items, data.rankers) == (("A", "B", "C"), ("ann", "bob", "cem", "dan", "eve"))
        np.testing.assert_array_equal(data.scores, [[3, 2, 2], [2, NAN, 3], *[[NAN] * 3] * 3])
        np.testing.assert_array_equal(data.weights, [3, 2, 1, 4, 1])
        np.testing.assert_array_equal(data.X, [[31], [48], [20], [50], [60]])
    assert read_rankings(write(VOTES), **named, items=["A", "B", "C", "D", "NA", "spoiled"]).scores.shape == (5, 6)
    alone = read_rankings(write("A>B\nB>A\n"), ballot="0", header=False)
    np.testing.assert_array_equal(alone.scores, [[2, 1], [1, 2]])
    with pytest.raises(ValueError, match="has no column 'votes'"):
        read_rankings(write(VOTES), ballot="votes")
    with pytest.raises(ValueError, match="table has no column 'votes'"):
        ranking_data(pd.read_csv(write(VOTES)), ballot="votes")


def test_ballots_carry_weights_in_every_way(write):
    expected = [[2, 1], [1, 2], [2, 2]]
    for data in (
        from_ranking_strings(["A>B", "B>A", "A=B"], weights=[42, 1.5, 2]),
        from_ranking_strings(["42: A>B", "1.5 : B>A", "2:\tA=B"]),
        from_ranking_strings(["A>B * 42", "B>A *1.5", "A=B  *  2 "]),
        from_ranking_strings(["42: A>B", "B>A * 1.5", " 2: A=B"], items=["A", "B"]),
        read_rankings(write("vote\n42: A>B\n1.5: B>A\nA=B * 2\n"), ballot="vote"),
        ranking_data(pd.DataFrame({"vote": ["A>B * 42", "B>A * 1.5", "A=B * 2"]}), ballot="vote"),
        read_label_ranking(write("x,vote\n1,42: A>B\n2,1.5: B>A\n3,A=B * 2\n")),
    ):
        assert data.items == ("A", "B")
        np.testing.assert_array_equal(data.scores, expected)
        np.testing.assert_array_equal(data.weights, [42, 1.5, 2])
    assert from_ranking_strings(["3: A>B", "B>A", "7:", "2: "]).weights.tolist() == [3, 1, 7, 2]


def test_weights_that_are_none():
    with pytest.raises(ValueError, match=r"strings\[1\] is '2: B>A', with a weight; weights= gives it another"):
        from_ranking_strings(["A>B", "2: B>A"], weights=[1, 2])
    with pytest.raises(ValueError, match="weights has negative"):
        from_ranking_strings(["-2: A>B"])
    with pytest.raises(ValueError, match=r"weights has shape \(1,\)"):
        from_ranking_strings(["A>B", "B>A"], weights=[1])


@pytest.mark.parametrize("text", ["42:A>B", "10:30>11:00", "1: x>2: y", "2: A>B * 3", "A * 2>B * 3"])
def test_what_may_be_a_weight_or_a_name_is_refused(text):
    with pytest.raises(ValueError, match=r"may be a weight or a part of a name.*'42: L2>L1'.*items="):
        from_ranking_strings(["A>B", text])


@pytest.mark.parametrize(
    "names", [["10:30", "11:00"], ["1: x", "2: y"], ["A * 2", "B * 3"], ["4: a * 1", "4"], ["a: b", "B*27", "C:1", "*"]]
)
def test_names_with_colons_and_stars(names):
    """A label that items lists is a name; a weight is a number first and a blank, or a blank, a star and a number."""
    strings = [">".join(names), ">".join(names[::-1]), "=".join(names)]
    data = from_ranking_strings(strings, items=names)
    np.testing.assert_array_equal(data.weights, [1, 1, 1])
    assert to_ranking_strings(data) == strings
    if names[0] == "a: b":
        assert from_ranking_strings(strings).items == tuple(sorted(names))


@pytest.mark.parametrize(
    ("strings", "label"),
    [
        (["A>{B,C}"], "{B,C}"),
        (["A<B", "A>B"], "A<B"),
        (["A>B~C"], "B~C"),
        (["A>[B=C]"], "C]"),
        (["A\u227bB", "B>A"], "A\u227bB"),
        (["3 A>B", "B>A"], "3 A"),
        (["A>B (3)", "B>A"], "B (3)"),
        (["A>B x 3", "B"], "B x 3"),
        (["3x A>B", "A"], "3x A"),
        (["42;A>B", "B>A"], "42;A"),
        (["42%: A>B", "B>A"], "42%: A"),
        (["A>B", "B>A, 3"], "A, 3"),
        (["1.5e2 A>B", "B=A"], "1.5e2 A"),
        (["A->B->C", "B->A->C"], "A-"),
        (["A,B>C", "A>B>C"], "A,B"),
        (["Ann,Bob>Cem", "Ann,Bob>Cem"], "Ann,Bob"),
        (["B,C>A"], "B,C"),
        (["A/B>C", "A>B>C"], "A/B"),
        (["A and B>C", "A>B>C"], "A and B"),
        (["A>B;C"], "B;C"),
        (["A>(B=C)", "B>A>C"], "(B"),
        (["(42) A>B", "(17) B>A"], "(17) B"),
        (["1,000: A>B", "3: B>A"], "1,000: A"),
        (["1/2: A>B", "B>A"], "1/2: A"),
        (["A>B (3 votes)", "B>A (2 votes)"], "A (2 votes)"),
        (["A>B #3", "B>A #2"], "A #2"),
        (["3xA>B", "2xB>A"], "2xB"),
        (["A\u2265B>C", "A>B"], "A\u2265B"),
        (["A\u223cB>C", "A>B"], "A\u223cB"),
        (["A>NA", "B>A"], "NA"),
        (["A>nan", "B>A"], "nan"),
        (['"A>B', "B>A"], '"A'),
        (["1,5: A>B", "2: C>B"], "1,5: A"),
        (["A\uff1eB", "A>B"], "A\uff1eB"),
    ],
)
def test_ballots_written_otherwise_make_no_new_items(strings, label):
    expected = rf"strings\[\d\] is .*, where {re.escape(repr(label))} .*'42: A>B'.*pass items="
    for more in ([], ["C>A>B>D"]):
        with pytest.raises(ValueError, match=expected):
            from_ranking_strings(strings + more)
    names = sorted({name for text in strings for name in text.replace("=", ">").split(">")} | {"A", "B"})
    assert from_ranking_strings(strings, items=names).items == tuple(names)  # what items lists is a name


@pytest.mark.parametrize(
    ("strings", "label"),
    [
        (["A,B,C", "B,A,C"], "A,B,C"),
        (["3 A>B", "5 A>C"], "3 A"),
        (["A>B (3)", "A>C (2)"], "B (3)"),
        (["42|A>B", "17|A>C"], "42|A"),
        (["A&B", "B&A"], "A&B"),
        (["2 A", "5 B"], "2 A"),
    ],
)
def test_ballots_all_of_which_are_written_otherwise(strings, label):
    with pytest.raises(ValueError, match=rf"where {re.escape(repr(label))} .*'42: A>B'.*pass items="):
        from_ranking_strings(strings)


@pytest.mark.parametrize(
    "names",
    [
        ["10 mg", "20 mg", "5 mg"],
        ["Ward 1", "Ward 2"],
        ["Smith, John", "Doe, Jane"],
        ["7 up", "cola", "tea"],
        ["L1", "L"],
        ["A (inc.)", "B (inc.)"],
        ["1", "2", "10"],
        ["Toy Story", "Toy Story 2"],
        ["iPhone 12", "iPhone"],
        ["3M", "M"],
        ["Smith (Ind.)", "Smith (Dem.)"],
        ["O'Neil", "St. John"],
    ],
)
def test_names_with_numbers(names):
    strings = [">".join(names), ">".join(names[::-1])]
    assert set(from_ranking_strings(strings).items) == set(names)


def test_signs_without_width_make_no_labels():
    assert from_ranking_strings(["\ufeffA>B", "A\u200b>\u00a0B"]).items == ("A", "B")


def test_a_weight_within_a_string_is_refused():
    with pytest.raises(ValueError, match="'3: A' may be a weight or a part of a name"):
        from_ranking_strings(["n=3: A>B"])


def test_weights_with_exponents_and_weights_that_are_no_numbers():
    assert from_ranking_strings(["1e3: A>B", "B>A * 2.5E-1"]).weights.tolist() == [1000, 0.25]
    for text in ("inf: A>B", "nan: A>B", "A>B * inf"):
        with pytest.raises(ValueError, match="weights has negative, infinite or NaN values"):
            from_ranking_strings([text, "B>A"])


def test_ballots_in_orders_are_refused_by_the_name_of_what_reads_them(write):
    ballots = "vote\nA>B=C\nC>A\n"
    for call in (
        lambda: read_rankings(write(ballots), form="orders"),
        lambda: ranking_data(pd.read_csv(write(ballots)), form="orders"),
        lambda: ranking_data([["A>B=C"], ["C>A"]], form="orders"),
    ):
        with pytest.raises(ValueError, match=r"'A>B=C' in row 0, a whole ballot.*ballot=.*from_ranking_strings"):
            call()
    named = ranking_data([["p>5", "q"]], form="orders", items=["q", "p>5"])
    np.testing.assert_array_equal(named.scores, [[1, 2]])


@pytest.mark.parametrize("marks", [["overvote", "undervote", "skipped"], ("overvote", "undervote", "skipped", -9)])
def test_several_marks_mean_not_ranked(write, marks):
    orders = [["Ann", "Bob", "overvote"], ["Bob", "undervote", "undervote"], ["skipped", "", "NA"]]
    text = "1st,2nd,3rd\n" + "".join(",".join(row) + "\n" for row in orders)
    for data in (
        read_rankings(write(text), form="orders", unranked=marks),
        ranking_data([row[:2] if "NA" in row else row for row in orders], form="orders", unranked=marks),
        ranking_data(pd.read_csv(write(text)), form="orders", unranked=marks),
    ):
        assert data.items == ("Ann", "Bob")
        np.testing.assert_array_equal(data.scores, [[2, 1], [NAN, 1], [NAN, NAN]])


def test_several_marks_among_numbers(write):
    text = "a,b,c\n1,-,0\n2,1,skipped\n"
    expected = [[3, NAN, NAN], [2, 3, NAN]]
    for data in (
        read_rankings(write(text), form="positions", unranked=["-", "skipped", 0]),
        ranking_data([[1, "-", 0], [2, 1, "skipped"]], form="positions", unranked=["-", "skipped", 0]),
        ranking_data(np.array([[1, -1, 0], [2, 1, -1]]), form="positions", unranked=np.array([0, -1])),
    ):
        np.testing.assert_array_equal(data.scores, expected)
    scores = ranking_data([[5, -1, 99], [2, 99, 1]], form="scores", unranked=(-1, 99))
    np.testing.assert_array_equal(scores.scores, [[5, NAN, NAN], [2, NAN, 1]])
    labels = read_label_ranking(write("x,rank:a,rank:b,rank:c\n1,1,-,0\n2,2,1,-1\n"), unranked=["-", 0, -1])
    np.testing.assert_array_equal(labels.Y, expected)
    with pytest.raises(TypeError, match="unranked must be a number, got dict"):
        ranking_data([[1, 2]], form="scores", unranked={"a": 1})
    with pytest.raises(TypeError, match="unranked must be a number, got NoneType"):
        ranking_data([["a", "b"]], form="orders", unranked=["-", None])


def test_what_r_writes_for_nothing(write):
    text = '"1st","2nd"\n"DE","NA"\n"FR",NA\n"FR","DE"\n'
    data = read_rankings(write(text), form="orders")
    assert data.items == ("DE", "FR")
    np.testing.assert_array_equal(data.scores, [[1, NAN], [NAN, 1], [1, 2]])
    namibia = read_rankings(write(text), form="orders", items=["DE", "FR", "NA"])
    np.testing.assert_array_equal(namibia.scores[0], [2, NAN, 1])
    lists = [["DE", "NA"], ["FR", "NA"]]  # which may be of Namibia
    with pytest.raises(ValueError, match="'NA' in row 0, which programs write where there is nothing: pass unranked="):
        ranking_data(lists, form="orders")
    assert ranking_data(lists, form="orders", unranked="NA").items == ("DE", "FR")
    assert ranking_data(lists, form="orders", items=["DE", "FR", "NA"]).scores.tolist()[0][2] == 1


def test_gaps_are_closed_on_request(write):
    text = "1st,2nd,3rd,4th\nAnn,,Bob,\n,overvote,Cem,Ann\n,,,\n"
    with pytest.raises(ValueError, match=r"'Bob' in row 0 after a gap.*gaps='close'"):
        read_rankings(write(text), form="orders", unranked="overvote")
    expected = [[2, 1, NAN], [1, NAN, 2], [NAN] * 3]
    rows = [["Ann", None, "Bob"], [NAN, "overvote", "Cem", "Ann"], []]
    for data in (
        read_rankings(write(text), form="orders", unranked="overvote", gaps="close"),
        ranking_data(rows, form="orders", unranked="overvote", gaps="close"),
        ranking_data(np.array([[0, -1, 1, -1], [-1, -1, 2, 0], [-1] * 4]), form="orders", gaps="close"),
        ranking_data(pd.DataFrame([[0, NAN, 1, NAN], [NAN, NAN, 2, 0], [NAN] * 4]), form="orders", gaps="close"),
    ):
        np.testing.assert_array_equal(data.scores, expected)
    with pytest.raises(ValueError, match="'Ann' twice in row 0"):
        ranking_data([["Ann", "", "Ann"]], form="orders", gaps="close")
    with pytest.raises(ValueError, match="gaps='skip' is unknown"):
        ranking_data(rows, form="orders", gaps="skip")
    with pytest.raises(ValueError, match="gaps='close' is for form='orders'"):
        ranking_data([[1, 2]], form="scores", gaps="close")


@pytest.mark.parametrize("first", [0, 1, 1700000000000000001])
def test_numbers_in_orders_are_names_wherever_they_come_from(write, first):
    rows = [[first + 1, first], [first, first + 1], [first + 10]]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    for data in (
        ranking_data(rows, form="orders"),
        ranking_data([[str(entry) for entry in row] for row in rows], form="orders"),
        ranking_data([np.array(row) for row in rows], form="orders"),
        ranking_data([row + [-1] * (2 - len(row)) for row in rows], form="orders"),
        read_rankings(write(text), form="orders", header=False),
    ):
        assert data.items == (str(first), str(first + 1), str(first + 10))
        np.testing.assert_array_equal(data.scores, [[1, 2, NAN], [2, 1, NAN], [NAN, NAN, 1]])
    assert ranking_data([[1, 2], [2, 1]], form="orders").items == ("1", "2")


def test_numbers_that_are_no_items():
    with pytest.raises(ValueError, match=r"-2 in row 0; expected names, or numbers of items: integers from 0 on"):
        ranking_data([[0, -2]], form="orders")
    with pytest.raises(TypeError, match=r"0\.5 in row 1; expected names, or numbers of items"):
        ranking_data([[0, 1], [0.5]], form="orders")
    with pytest.raises(TypeError, match="True in row 0"):
        ranking_data([[True, False]], form="orders")
    with pytest.raises(ValueError, match=r"in floating point, where integers from 2\^53 on collide"):
        ranking_data([[1.7e18, 2.0]], form="orders")
    with pytest.raises(ValueError, match="orders has 2 at row 0, place 1; expected an item from 0 to 1"):
        ranking_data([[1, 2], [2, 1]], form="orders", items=["a", "b"])


def test_items_are_named_once():
    for call in (
        lambda items: ranking_data([["a", "b"]], form="orders", items=items),
        lambda items: ranking_data([[0, 1]], form="orders", items=items),
        lambda items: from_ranking_strings(["a>b"], items=items),
        lambda items: from_comparisons([("a", "b")], items=items),
        lambda items: to_ranking_strings([[1, 2, 3]], items),
    ):
        with pytest.raises(ValueError, match="items has 'a' twice"):
            call(["a", "b", "a"])


def test_chosen_labels_of_a_label_ranking_table(write):
    table = write("x,rank:a,rank:b,rank:c\n1,1,2,3\n2,3,1,2\n")
    chosen = read_label_ranking(table, items=["c", "a"])
    assert (chosen.items, chosen.feature_names) == (("c", "a"), ("x",))
    np.testing.assert_array_equal(np.argsort(chosen.Y), [[0, 1], [1, 0]])
    strings = write("x,day\n1,10:30>11:00\n2,none\n")
    with pytest.raises(ValueError, match="items="):
        read_label_ranking(strings, unranked="none")
    days = read_label_ranking(strings, unranked="none", items=["10:30", "11:00", "12:00"])
    np.testing.assert_array_equal(days.Y, [[3, 2, NAN], [NAN] * 3])
