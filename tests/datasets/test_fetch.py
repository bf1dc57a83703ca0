"""Rankings from their sources: small ones for the machinery, and the real ones for what comes back."""

import functools
import itertools
import sys

import numpy as np
import pandas as pd
import pytest

from tests.datasets.upstream import (
    RMatrix,
    read_csv,
    write_apa,
    write_eurovision,
    write_label_ranking,
    write_r,
    write_sushi,
    write_text,
)
from torchrank import kendall_gram, multivariate_gram
from torchrank.datasets import catalog, fetch
from torchrank.datasets.fetch import (
    fetch_apa,
    fetch_eurovision,
    fetch_gene_expression,
    fetch_label_ranking,
    fetch_sushi,
)
from torchrank.datasets.label_ranking import read_label_ranking
from torchrank.datasets.sources import digest

NAN = np.nan
BALLOTS = np.array([[1, 2, 3], [2, 1, 0], [1, 2, 3], [0, 0, 1], [3, 1, 2], [2, 1, 0], [1, 2, 3]])
COUNTED = np.array([[1, 2, 3, 3], [3, 1, 2, 1], [2, 1, 0, 2], [0, 0, 1, 1]])  # complete first, then as numbers
IRIS = "3,2,3,length,width,setosa,versicolor,virginica\r\n0.5,1,1,2,3\r\n-1e-3,2,3,1,2\r\n0,0.25,2,3,1\r\n"
IRIS_NUMBERS = [[0.5, 1, 1, 2, 3], [-0.001, 2, 3, 1, 2], [0, 0.25, 2, 3, 1]]


@pytest.fixture
def iris(monkeypatch, public, server, cached):
    """A small iris set, public and expected."""
    small = catalog.LabelRankingSet(2, digest(np.array(IRIS_NUMBERS)))
    monkeypatch.setitem(catalog.LABEL_RANKING, "iris", small)
    write_text(public / "label_ranking" / "iris.csv", IRIS)
    return public / "label_ranking" / "iris.csv"


def test_label_ranking(iris, server, cached):
    data = fetch_label_ranking("iris", progress=False)
    assert data.X.tolist() == [[0.5, 1], [-0.001, 2], [0, 0.25]]
    assert data.Y.tolist() == [[3, 2, 1], [1, 3, 2], [2, 1, 3]]
    assert data.items == ("setosa", "versicolor", "virginica")
    assert data.feature_names == ("length", "width")
    assert data.weights.tolist() == [1, 1, 1]
    assert "MIT" in data.license
    assert "ICML 2009" in data.citation
    assert server.paths == [
        "/alfaro96/scikit-lr/251aec165e92f95b33ad72b3d5a955795ca87478/sklr/datasets/data/label_ranking/iris.csv"
    ]
    assert [path.name for path in cached.rglob("*.*")] == ["iris.csv"]


def test_what_is_in_the_cache_or_in_a_folder_is_not_fetched(iris, server, tmp_path):
    first = fetch_label_ranking("iris", progress=False)
    again = fetch_label_ranking("iris", download=False)
    np.testing.assert_array_equal(again.X, first.X)
    given = tmp_path / "given"
    write_text(given / "label_ranking" / "iris.csv", IRIS.replace("\r\n", "\n"))
    np.testing.assert_array_equal(fetch_label_ranking("iris", folder=given, download=False).Y, first.Y)
    assert len(server.paths) == 1


def test_progress_is_shown_where_asked_for(iris, capsys):
    fetch_label_ranking("iris", progress=False)
    assert capsys.readouterr().err == ""
    (iris.parents[1].parent / "cache" / "label_ranking" / "iris.csv").unlink()
    fetch_label_ranking("iris")
    assert "iris.csv" in capsys.readouterr().err


def test_offline_says_what_to_get_and_where_to_put_it(iris, cached):
    with pytest.raises(FileNotFoundError, match=r"iris\.csv is not there and download=False.*http"):
        fetch_label_ranking("iris", download=False)
    assert not cached.exists()


@pytest.mark.parametrize("behaviors", [["cut"], ["cut", 503, "cut"], ["lie"], ["no length", "cut"], [500, 500]])
def test_bad_answers_are_overcome(iris, server, cached, behaviors):
    server.behaviors = behaviors
    assert fetch_label_ranking("iris", progress=False).X.shape == (3, 2)
    assert [path.name for path in cached.rglob("*.*")] == ["iris.csv"]


def test_an_interrupted_fetch_goes_on_in_the_next_call(iris, server):
    server.behaviors = ["cut"] * 4
    with pytest.raises(FileNotFoundError, match=r"bytes arrived\).*http"):
        fetch_label_ranking("iris", progress=False)
    assert fetch_label_ranking("iris", progress=False).X.shape == (3, 2)
    assert server.ranges[-1] is not None


def test_a_source_that_is_gone(iris):
    iris.unlink()
    with pytest.raises(FileNotFoundError, match=r"HTTP Error 404.*http"):
        fetch_label_ranking("iris", progress=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (IRIS.replace("0.25", "0.26"), r"the SHA-256 of its numbers is [0-9a-f]{64}, not [0-9a-f]{64}"),
        (IRIS[:-10], "rows of another length than the 5 columns"),
        ("".join(IRIS.splitlines(keepends=True)[:-1]), "SHA-256 of its numbers"),
        ("<html>please log in</html>", "SHA-256 of its numbers"),
        ("", "SHA-256 of its numbers"),
        (IRIS.replace("0.25", "much"), "could not convert string to float: 'much'"),
    ],
)
def test_other_content_is_refused_and_not_kept(iris, server, cached, content, message):
    iris.write_text(content, newline="")
    with pytest.raises(
        ValueError, match=f"iris.csv holds another file than expected: .*{message}.*Try again later, or"
    ):
        fetch_label_ranking("iris", progress=False)
    assert len(server.paths) == 2
    assert list(cached.rglob("*.*")) == []
    iris.write_text(IRIS, newline="")
    assert fetch_label_ranking("iris", progress=False).X.shape == (3, 2)


def test_a_wrong_copy_is_left_alone_offline_and_replaced_online(iris, cached):
    write_text(cached / "label_ranking" / "iris.csv", IRIS.replace("0.25", "0.26"))
    with pytest.raises(ValueError, match=r"iris\.csv is not the file it should be: the SHA-256 "):
        fetch_label_ranking("iris", download=False)
    assert (cached / "label_ranking" / "iris.csv").is_file()
    assert fetch_label_ranking("iris", progress=False).X[2, 1] == 0.25


def test_unknown_names():
    with pytest.raises(ValueError, match=r"name='irises'.*wisconsin"):
        fetch_label_ranking("irises")


ENCODINGS = {
    "zeros": BALLOTS.astype(float),
    "NaN": RMatrix(np.where(BALLOTS == 0, NAN, BALLOTS), None, list("ABC")),
    "NA": RMatrix(np.ma.masked_equal(BALLOTS.astype(np.int32), 0), None, list("ABC")),
    "data frame": pd.DataFrame(np.where(BALLOTS == 0, NAN, BALLOTS), columns=list("ABC"), index=range(1, 8)),
}


@pytest.fixture
def small_apa(monkeypatch, public, server, cached):
    monkeypatch.setattr(fetch, "CANDIDATES", ("A", "B", "C"))

    def publish(ballots):
        source = catalog.APA_PARTIAL
        write_r(public / source.name, {"APAFULL": ballots})
        monkeypatch.setattr(catalog, "APA_PARTIAL", expecting(source, COUNTED))

    return publish


def expecting(source, values):
    """The same source with the digest of these numbers."""
    fields = {**vars(source), "digest": digest(np.asarray(values, dtype=float), source.dtype)}
    return type(source)(**fields)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_partial_ballots_however_they_are_marked(small_apa, encoding):
    small_apa(ENCODINGS[encoding])
    data = fetch_apa(partial=True, progress=False)
    np.testing.assert_array_equal(data.scores, [[3, 2, 1], [1, 3, 2], [2, 3, NAN], [NAN, NAN, 3]])
    assert data.weights.tolist() == [3, 1, 2, 1]
    assert data.items == ("A", "B", "C")


def test_candidates_that_share_a_place_are_left_out(small_apa, monkeypatch):
    small_apa(np.array([[1, 2, 2], [2, 3, 1], [1, 2, 2]]))
    monkeypatch.setattr(catalog, "APA_PARTIAL", expecting(catalog.APA_PARTIAL, [[2, 3, 1, 1], [1, 0, 0, 2]]))
    np.testing.assert_array_equal(fetch_apa(partial=True, progress=False).scores, [[2, 1, 3], [3, NAN, NAN]])


def test_an_r_file_of_something_else(small_apa, public):
    small_apa(ENCODINGS["zeros"])
    write_r(public / catalog.APA_PARTIAL.name, {"APAred": BALLOTS})
    with pytest.raises(ValueError, match=r"APAFULL\.rda .* no APAFULL\."):
        fetch_apa(partial=True, progress=False)


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_an_r_file_that_is_not_whole(small_apa, public, share):
    small_apa(ENCODINGS["NaN"])
    file = public / catalog.APA_PARTIAL.name
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"APAFULL\.rda .* not a whole R data file"):
        fetch_apa(partial=True, progress=False)


@pytest.mark.parametrize("call", [fetch_apa, fetch_eurovision, fetch_sushi, lambda: fetch_gene_expression("colon")])
def test_without_rdata_nothing_is_fetched(monkeypatch, server, cached, call):
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(ImportError, match="pip install rdata"):
        call()
    assert server.paths == []


def test_the_terms_of_the_sushi_data_are_shown_once(monkeypatch, public, server, cached, capsys):
    fetch._show_once.cache_clear()
    positions = np.array(list(itertools.islice(itertools.permutations(range(1, 11)), 3)), dtype=float)
    monkeypatch.setattr(catalog, "SUSHI", expecting(catalog.SUSHI, positions))
    write_r(public / catalog.SUSHI.name, {"sushi_rankings": RMatrix(positions)})
    data = fetch_sushi(progress=False)
    assert "not to be redistributed" in capsys.readouterr().err
    fetch_sushi(progress=False)
    assert capsys.readouterr().err == ""
    assert "not to be redistributed" in data.license
    np.testing.assert_array_equal(data.scores, 11 - positions)


@pytest.mark.data
@pytest.mark.parametrize(("partial", "copy"), [(False, "apa.csv"), (True, "apa_partial.csv")])
def test_apa(data_folder, public, server, cached, partial, copy):
    write_apa(data_folder, public)
    data = fetch_apa(partial=partial, progress=False)
    _, rows = read_csv(data_folder / "apa" / copy)
    ranks = np.array([row[:5] for row in rows], dtype=float)
    np.testing.assert_array_equal(data.scores, np.where(ranks > 0, 6 - ranks, NAN))
    np.testing.assert_array_equal(data.weights, [float(row[-1]) for row in rows])
    assert data.weights.sum() == (15449 if partial else 5738)
    assert data.items == tuple("ABCDE")
    if not partial:
        firsts = data.weights @ (data.scores == 5) / 57.38
        np.testing.assert_array_equal(firsts.round(1), [18.4, 13.5, 28.0, 20.4, 19.7])


@pytest.mark.data
def test_eurovision(data_folder, public, server, cached):
    write_eurovision(data_folder, public)
    years = fetch_eurovision(progress=False)
    header, rows = read_csv(data_folder / "eurovision" / "eurovision.csv")
    assert list(years) == [2007, 2008, 2009, 2010, 2011, 2012]
    kernel = functools.partial(kendall_gram, missing="topk")
    assert multivariate_gram([data.scores for data in years.values()], kernel=kernel).shape == (34, 34)
    for year, data in years.items():
        columns = [column for column, name in enumerate(header) if name.startswith(f"{year}_")]
        ranks = np.array([[float(row[column]) for column in columns] for row in rows])
        np.testing.assert_array_equal(data.scores, np.where(ranks > 0, 9 - ranks, NAN))
        assert data.items == tuple(header[column][5:].replace("_", " ") for column in columns)
        assert data.rankers == tuple(row[0] for row in rows)
        assert data.notes == {"year": year}
        for country in data.items:
            assert np.isnan(data.scores[data.rankers.index(country), data.items.index(country)])


@pytest.mark.data
def test_sushi(data_folder, public, server, cached):
    write_sushi(data_folder, public)
    data = fetch_sushi(progress=False)
    header, rows = read_csv(data_folder / "sushi" / "sushi_a.csv.gz")
    np.testing.assert_array_equal(data.scores, 11 - np.array(rows, dtype=float))
    assert data.items == tuple(name.removeprefix("rank_").replace("_", " ") for name in header)
    assert (data.scores[:, data.items.index("fatty tuna")] == 10).mean().round(3) == 0.343


@pytest.mark.data
@pytest.mark.parametrize("name", catalog.LABEL_RANKING)
def test_label_ranking_sets(data_folder, public, server, cached, name):
    write_label_ranking(data_folder, public, name)
    data = fetch_label_ranking(name, progress=False)
    expected = read_label_ranking(data_folder / "label_ranking" / f"{name}.csv.gz")
    np.testing.assert_array_equal(data.X, expected.X)
    np.testing.assert_array_equal(data.Y, expected.Y)
    assert data.items == expected.items
    assert data.feature_names == expected.feature_names
    assert len(data.X) == 40768 or name != "fried"
