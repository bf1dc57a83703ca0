"""The 21 label-ranking sets of Grbovic et al. (2013), the published losses, folds and missing labels."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from torchrank import from_orders, from_positions
from torchrank.datasets import drop_labels, read_label_ranking

READINGS = ("inverted", "true")
METHODS = ("1-Rank", "Km-Mal", "Km-PL", "Naive-Km", "Naive-RT", "EBMS-RT", "K-o'm-RT", "RT-prune", "RT-iter", "MM-PL")

# Tables 6 (complete), 7 (30 % missing) and 8 (60 %) of the paper, in the order of METHODS; 1-Rank is in Table 6 only.
PAPER = {
    0.0: """
fried .493 .413 .414 .334 .273 .280 .276 .299 .238 .226
calhousing .380 .364 .364 .424 .335 .333 .333 .346 .331 .349
elevators .435 .347 .333 .300 .213 .211 .211 .217 .211 .171
pendigits .383 .290 .292 .308 .303 .294 .283 .264 .255 .172
cpu-small .431 .362 .369 .374 .353 .403 .354 .346 .337 .356
segment .419 .214 .221 .188 .153 .168 .145 .129 .112 .146
wisconsin .485 .451 .456 .443 .462 .449 .451 .459 .441 .433
vowel .334 .253 .268 .274 .211 .207 .208 .202 .194 .209
vehicle .335 .132 .125 .113 .101 .123 .102 .106 .092 .090
stock .445 .213 .213 .218 .169 .200 .168 .170 .138 .140
iris .451 .091 .096 .059 .056 .096 .056 .058 .056 .061
glass .171 .110 .113 .113 .110 .114 .100 .106 .104 .108
authorship .269 .072 .075 .066 .143 .178 .083 .115 .113 .079
bodyfat .450 .451 .453 .454 .448 .451 .450 .448 .448 .430
wine .234 .050 .044 .058 .082 .110 .080 .079 .079 .047
housing .412 .376 .384 .407 .400 .388 .364 .372 .358 .339
cold .401 .395 .395 .408 .413 .391 .410 .413 .404 .386
heat .464 .438 .440 .453 .457 .455 .457 .463 .453 .433
diau .348 .336 .340 .385 .380 .356 .367 .367 .345 .327
dtt .438 .416 .420 .432 .435 .425 .437 .439 .431 .410
spo .441 .431 .438 .440 .467 .448 .452 .461 .448 .431
sushi .392 .372 .342 .383 .375 .373 .380 .339 .336 .332
""",
    0.3: """
fried nan .412 .408 .320 .305 .278 .279 .283 .260 .236
calhousing nan .365 .364 .463 .346 .350 .344 .350 .339 .352
elevators nan .334 .330 .301 .218 .218 .216 .220 .218 .210
pendigits nan .289 .289 .287 .305 .302 .286 .266 .243 .181
cpu-small nan .363 .367 .389 .362 .366 .361 .358 .350 .356
segment nan .214 .223 .197 .180 .175 .167 .145 .136 .145
wisconsin nan .455 .456 .443 .481 .445 .458 .448 .444 .435
vowel nan .255 .260 .276 .238 .220 .226 .210 .208 .211
vehicle nan .131 .125 .165 .110 .140 .098 .099 .100 .095
stock nan .217 .217 .227 .176 .220 .195 .179 .183 .148
iris nan .093 .088 .142 .079 .131 .087 .090 .088 .088
glass nan .117 .114 .173 .125 .115 .116 .110 .110 .114
authorship nan .073 .072 .072 .128 .180 .134 .117 .110 .075
bodyfat nan .455 .453 .459 .459 .447 .443 .454 .452 .436
wine nan .051 .049 .163 .088 .128 .077 .076 .062 .045
housing nan .377 .375 .421 .389 .390 .391 .370 .358 .357
cold nan .405 .397 .404 .414 .406 .427 .416 .400 .393
heat nan .440 .442 .451 .457 .456 .459 .462 .455 .437
diau nan .339 .338 .376 .350 .357 .363 .361 .344 .338
dtt nan .422 .420 .428 .441 .432 .442 .452 .438 .417
spo nan .434 .439 .447 .454 .450 .455 .456 .429 .435
sushi nan .369 .342 .374 .367 .353 .378 .353 .342 .335
""",
    0.6: """
fried nan .422 .412 .395 .355 .301 .297 .299 .275 .251
calhousing nan .365 .364 .501 .367 .362 .358 .356 .354 .349
elevators nan .336 .332 .308 .238 .229 .229 .227 .221 .214
pendigits nan .291 .291 .337 .333 .317 .324 .270 .258 .202
cpu-small nan .365 .366 .413 .469 .379 .383 .364 .359 .360
segment nan .213 .217 .229 .208 .206 .238 .160 .157 .156
wisconsin nan .465 .472 .461 .490 .463 .467 .464 .453 .444
vowel nan .265 .265 .314 .277 .244 .271 .245 .233 .242
vehicle nan .136 .134 .210 .127 .146 .135 .118 .114 .109
stock nan .222 .222 .259 .233 .252 .256 .195 .200 .162
iris nan .136 .134 .188 .210 .208 .215 .194 .138 .127
glass nan .139 .134 .211 .127 .138 .156 .139 .126 .130
authorship nan .082 .075 .077 .143 .214 .163 .138 .129 .082
bodyfat nan .469 .465 .464 .466 .467 .480 .467 .453 .444
wine nan .087 .078 .220 .145 .149 .154 .151 .137 .076
housing nan .397 .396 .436 .399 .408 .415 .384 .370 .365
cold nan .404 .404 .418 .419 .406 .445 .445 .438 .398
heat nan .447 .445 .456 .458 .472 .467 .472 .454 .439
diau nan .345 .340 .378 .357 .357 .383 .382 .345 .343
dtt nan .424 .422 .432 .445 .434 .457 .458 .448 .422
spo nan .443 .440 .471 .467 .458 .462 .465 .461 .440
sushi nan .379 .341 .394 .368 .354 .388 .390 .350 .343
""",
}


def published(missing: float) -> dict[str, dict[str, float]]:
    """Published losses by set and method; sets in the paper's order."""
    rows = (line.split() for line in PAPER[missing].split("\n") if line)
    return {name: dict(zip(METHODS, map(float, values), strict=True)) for name, *values in rows}


SETS = tuple(name for name in published(0.0) if name != "sushi")


class LabelRankingSet(NamedTuple):
    """Features and complete label scores of one set."""

    X: np.ndarray
    Y: np.ndarray

    def take(self, rows: np.ndarray) -> "LabelRankingSet":
        """Some of the rows."""
        return LabelRankingSet(self.X[rows], self.Y[rows])


def load(folder: Path, name: str, reading: str) -> LabelRankingSet:
    """One of :data:`SETS`, ``label_ranking/NAME.csv.gz`` in the folder of data.

    The files hold the rank of each label, 1 for the best, and "true" reads them so. "inverted" takes the vector of
    ranks for a vector of labels, best first. That is a mistake, but what the published losses seem to be made of.
    """
    X, Y = _sushi(folder) if name == "sushi" else _file(folder, name)
    if reading == "true":
        return LabelRankingSet(X, Y)
    ranks = Y.shape[1] - Y  # 0 for the best
    return LabelRankingSet(X, from_orders(ranks.astype(np.int64), Y.shape[1]))


def _file(folder: Path, name: str) -> LabelRankingSet:
    data = read_label_ranking(folder / "label_ranking" / f"{name}.csv.gz")
    return LabelRankingSet(data.X, data.Y)


def _sushi(folder: Path) -> LabelRankingSet:
    """Ten kinds of sushi ranked by 5,000 people; ``sushi/sushi_a.csv.gz`` and the collector's ``sushi/sushi3.udata``.

    The file of people may not be passed on: get it from its collector, T. Kamishima. Its lines: a number, features.
    """
    people = folder / "sushi" / "sushi3.udata"
    if not people.exists():
        raise SystemExit(f"sushi needs {people}, the features of people, which only its collector gives out")
    ranks = np.loadtxt(folder / "sushi" / "sushi_a.csv.gz", delimiter=",", skiprows=1)
    return LabelRankingSet(np.loadtxt(people)[:, 1:], from_positions(ranks))


class Fold(NamedTuple):
    """Standardized features and training labels of which some may be missing; test labels are complete."""

    train: LabelRankingSet
    test: LabelRankingSet
    seed: int


def folds(data: LabelRankingSet, missing: float, repeat: int) -> Iterator[Fold]:
    """Cross-validation: 10 folds up to 3,000 rows, 5 above; features scaled by the training rows of each fold."""
    N, n_folds = len(data.X), n_folds_of(len(data.X))
    rng = np.random.default_rng([repeat, round(100 * missing)])
    fold = rng.permutation(np.arange(N) % n_folds)
    for number in range(n_folds):
        train, test = data.take(np.flatnonzero(fold != number)), data.take(np.flatnonzero(fold == number))
        mean, spread = train.X.mean(0), train.X.std(0)
        spread[spread == 0] = 1
        yield Fold(
            LabelRankingSet((train.X - mean) / spread, drop_labels(train.Y, missing, seed=rng)),
            LabelRankingSet((test.X - mean) / spread, test.Y),
            100 * repeat + number,
        )


def n_folds_of(n_rows: int) -> int:
    """10 up to 3,000 rows, 5 above."""
    return 10 if n_rows <= 3000 else 5


def n_repeats_of(n_rows: int) -> int:
    """5 below 1,000 rows, 1 from there on."""
    return 5 if n_rows < 1000 else 1
