"""Data sets of the papers from their public sources, kept in a cache; offline from a folder.

Each function takes ``folder`` (where the files lie or shall lie), ``download`` and ``progress``, see
:func:`fetch_apa`. The files come from GitHub, from addresses that name a commit, and the numbers read from them are
compared with a digest, so that everybody computes with the same data.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np

import torchrank.datasets.catalog as catalog
import torchrank.datasets.rda as rda
from torchrank.datasets.data import RankingData
from torchrank.datasets.expression import fetch_gene_expression
from torchrank.datasets.networks import NetworkData, fetch_davis, fetch_yamanishi
from torchrank.datasets.sources import Place, Table
from torchrank.rankings.convert import from_positions
from torchrank.rankings.validate import check_choice

__all__ = [
    "NetworkData",
    "fetch_apa",
    "fetch_davis",
    "fetch_eurovision",
    "fetch_gene_expression",
    "fetch_label_ranking",
    "fetch_sushi",
    "fetch_yamanishi",
]

CANDIDATES = ("A", "B", "C", "D", "E")
COUNTRIES = ("France", "Germany", "Greece", "Romania", "Russia", "Spain", "Ukraine", "United Kingdom")
YEARS = (2007, 2008, 2009, 2010, 2011, 2012)
SUSHI_ITEMS = (
    "shrimp",
    "sea eel",
    "tuna",
    "squid",
    "sea urchin",
    "salmon roe",
    "egg",
    "fatty tuna",
    "tuna roll",
    "cucumber roll",
)
SUSHI_TERMS = (
    "The sushi data belong to their collector, T. Kamishima: for research only, not to be "
    "redistributed without his permission, and his paper (KDD 2003) is to be cited. The terms themselves: "
    "https://www.kamishima.net/sushi/."
)


def fetch_apa(
    *, partial: bool = False, folder: str | Path | None = None, download: bool = True, progress: bool = True
) -> RankingData:
    """Ballots of the election of the American Psychological Association's president in 1980: five candidates.

    The source holds positions: a 1 in column A says that A is the voter's first choice. (The copy in the R package
    Rankcluster holds the same ballots as orders, although it calls them ranks; reading it as positions gives other
    first choices. Among them A has 18.4, B 13.5, C 28.0, D 20.4 and E 19.7 per cent here, as in Diaconis's book.)

    Args:
        partial: with the ballots that rank only the first one, two or three candidates.
        folder: where the file lies or shall lie, ``apa/NAME.rda`` in it; None means ``TORCHRANK_CACHE``, else
            ``torchrank`` in the user's cache folder.
        download: whether it may be fetched where it is not there; False works offline.
        progress: show a progress bar while it is fetched.

    Returns:
        The different ballots with ``weights`` that say how often each was cast: 120 of 5,738 voters, or 205 of 15,449
        with the partial ones, in which NaN stands for the candidates left out.

    Raises:
        FileNotFoundError: the file is not there and may not, or cannot, be fetched; the message says what to do by
            hand.
        ValueError: it holds other data than expected, also after it was fetched anew.
        ImportError: the package rdata, of the extra ``data``, is not installed.

    Source: the R package ConsRank (GPL-3), https://github.com/cran/ConsRank.

    Example:
        >>> votes = fetch_apa()
        >>> torchrank.borda(votes.scores, weights=votes.weights).round(2).tolist()
        [3.16, 2.84, 3.08, 2.91, 3.01]
    """
    rda.import_rdata()
    source, name = (catalog.APA_PARTIAL, "APAFULL") if partial else (catalog.APA_COMPLETE, "APAred")
    ballots = Place(folder, download, progress).get(source, lambda path: _read_ballots(path, name)).values
    return RankingData(
        from_positions(ballots[:, :-1], unranked=0),
        CANDIDATES,
        ballots[:, -1],
        title="APA presidential election 1980" + (", with partial ballots" if partial else ""),
        license="GPL-3 (the R package ConsRank)",
        citation="P. Diaconis, Group Representations in Probability and Statistics, IMS, 1988, page 96",
    )


def _read_ballots(path: Path, name: str) -> Table:
    """Different ballots as positions, 0 for candidates left out, and in the last column how often each was cast.

    A candidate is left out where there is no position, or one that several of a ballot's candidates share.
    """
    positions = np.nan_to_num(rda.as_matrix(rda.member(rda.read_objects(path), name)))
    shared = (positions[:, :, None] == positions[:, None, :]).sum(axis=2) > 1
    ballots, counts = np.unique(np.where(shared, 0, positions), axis=0, return_counts=True)
    complete_first = np.argsort(-(ballots > 0).sum(axis=1), kind="stable")
    return Table(np.column_stack([ballots, counts])[complete_first])


def fetch_eurovision(
    *, folder: str | Path | None = None, download: bool = True, progress: bool = True
) -> dict[int, RankingData]:
    """How 34 countries ranked the eight that reached all finals of the Eurovision song contest 2007 to 2012.

    Multivariate partial rankings: one data set a year, with the same 34 ``rankers`` in the same order, as
    :func:`torchrank.multivariate_gram` and :class:`torchrank.MultivariateKernel` take them. A country ranks only those
    of the eight that got points from it, one to six of them; the others, itself always among them, are NaN. They share
    the places after those ranked, so these are top-k rankings (``missing="topk"``). (The source's help page says 33
    countries; it holds 34.)

    Args:
        folder: as for :func:`fetch_apa`; the file is ``eurovision/eurovision.rda``.
        download: as there.
        progress: as there.

    Returns:
        Years from 2007 to 2012 and for each a data set with scores ``(34, 8)``; the year is also in its ``notes``.

    Raises:
        FileNotFoundError, ValueError, ImportError: as :func:`fetch_apa`.

    Source: the R package Rankcluster (GPL 2 or later), https://github.com/cran/Rankcluster.

    Example:
        >>> import functools
        >>> years = fetch_eurovision()
        >>> kernel = functools.partial(torchrank.kendall_gram, missing="topk")
        >>> parts = [year.scores for year in years.values()]
        >>> K = torchrank.multivariate_gram(parts, kernel=kernel)
    """
    rda.import_rdata()
    table = Place(folder, download, progress).get(catalog.EUROVISION, _read_eurovision)
    return {
        year: RankingData(
            from_positions(positions, unranked=0),
            COUNTRIES,
            np.ones(len(positions)),
            rankers=table.rows,
            title=f"Eurovision song contest {year}",
            license="GPL 2 or later (the R package Rankcluster)",
            citation="J. Jacques and C. Biernacki, Model-based clustering for multivariate partial ranking data, "
            "Journal of Statistical Planning and Inference 149, 2014, 201-217; the votes: https://eurovision.tv",
            notes={"year": year},
        )
        for year, positions in zip(YEARS, np.split(table.values, len(YEARS), axis=1), strict=True)
    }


def _read_eurovision(path: Path) -> Table:
    matrix = rda.member(rda.read_objects(path), "eurovision", "data")
    return Table(rda.as_matrix(matrix), rda.names_of(matrix, 0))


def fetch_sushi(*, folder: str | Path | None = None, download: bool = True, progress: bool = True) -> RankingData:
    """Complete rankings of ten kinds of sushi by 5,000 people: item set A of Kamishima's survey.

    **Terms of their owner**: for research only, not to be redistributed without permission, to
    be cited; https://www.kamishima.net/sushi/ has the terms themselves. They are also in the attribute ``license``, and
    are printed by the first call.

    Rows are in the order of the original file ``sushi3a.5000.10.order``, so that row i belongs to row i of its table
    of users. (PrefLib's copy numbers the items otherwise: its k is item k mod 10 of this one.)

    Args:
        folder: as for :func:`fetch_apa`; the file is ``sushi/sushi_rankings.rda``.
        download: as there.
        progress: as there.

    Returns:
        Scores ``(5000, 10)``, 10 for the most liked.

    Raises:
        FileNotFoundError, ValueError, ImportError: as :func:`fetch_apa`.

    Source: the R package BayesMallows (GPL-3), https://github.com/ocbe-uio/BayesMallows.

    Example:
        >>> sushi = fetch_sushi()
        >>> sushi.items[torchrank.borda(sushi.scores).argmax()]
        'fatty tuna'
    """
    rda.import_rdata()
    _show_once(SUSHI_TERMS)
    positions = Place(folder, download, progress).get(catalog.SUSHI, _read_sushi).values
    return RankingData(
        from_positions(positions),
        SUSHI_ITEMS,
        np.ones(len(positions)),
        title="Sushi preferences, item set A",
        license=f"{SUSHI_TERMS} The R package BayesMallows, which holds them, is under GPL-3.",
        citation="T. Kamishima, Nantonac collaborative filtering: recommendation based on order responses, KDD 2003, "
        "583-588",
    )


def _read_sushi(path: Path) -> Table:
    return Table(rda.as_matrix(rda.member(rda.read_objects(path), "sushi_rankings")))


@cache
def _show_once(message: str) -> None:
    print(message, file=sys.stderr)


def fetch_label_ranking(
    name: str, *, folder: str | Path | None = None, download: bool = True, progress: bool = True
) -> RankingData:
    """One of the 21 label-ranking sets of Cheng, Hühn and Hüllermeier.

    Complete rankings without ties. Features come scaled, apart from those of the five yeast sets (cold, diau, dtt,
    heat, spo), which share their features. Rows of iris, wine, glass and others are sorted by class: shuffle them
    before they are split. fried has 40,768 rows, one less than papers print; dtt is dtc in some papers.

    Args:
        name: authorship, bodyfat, calhousing, cold, cpu-small, diau, dtt, elevators, fried, glass, heat, housing,
            iris, pendigits, segment, spo, stock, vehicle, vowel, wine or wisconsin.
        folder: as for :func:`fetch_apa`; the file is ``label_ranking/NAME.csv``, and cpu.csv for cpu-small.
        download: as there.
        progress: as there.

    Returns:
        Features ``X`` ``(N, d)`` and scores ``Y`` ``(N, L)``, L for the label on top; ``items`` are the labels.

    Raises:
        FileNotFoundError, ValueError: as :func:`fetch_apa`; ``ValueError`` also for another name.

    Source: scikit-lr (MIT), https://github.com/alfaro96/scikit-lr.

    Example:
        >>> wine = fetch_label_ranking("wine")
        >>> wine.X.shape, wine.Y.shape
        ((178, 13), (178, 3))
    """
    check_choice(name, "name", tuple(catalog.LABEL_RANKING))
    known = catalog.LABEL_RANKING[name]
    table = Place(folder, download, progress).get(known.source(name), _read_label_ranking)
    X, ranks = np.split(table.values, [known.n_features], axis=1)
    return RankingData(
        from_positions(ranks),
        table.columns[known.n_features :],
        np.ones(len(X)),
        features=X,
        feature_names=table.columns[: known.n_features],
        title=f"{name} (label ranking)",
        license="MIT (scikit-lr); made from sets of UCI and Statlog and from measurements of yeast genes",
        citation="W. Cheng, J. Hühn and E. Hüllermeier, Decision tree and instance-based learning for label ranking, "
        "ICML 2009, 161-168",
    )


def _read_label_ranking(path: Path) -> Table:
    """Features and ranks; the first line has numbers of rows, features and labels, then names of the columns."""
    header, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    rows = [[float(field) for field in line.split(",")] for line in lines]
    names = tuple(header.split(",")[3:])
    if any(len(row) != len(names) for row in rows):
        raise ValueError(f"it has rows of another length than the {len(names)} columns that its first line names")
    return Table(np.array(rows).reshape(len(rows), len(names)), columns=names)
