"""The engine "signs": makes bit-planes of as many item pairs as the workspace holds, and compares them tile by tile."""

import numpy as np

from torchrank.cpu import planes
from torchrank.cpu.job import Job, RowBlock, Tile
from torchrank.cpu.parallel import spans

_TILE_ROWS = 64  # the stretches of two tiles' rows stay in the second-level cache
_TILE_WORDS = 50_000_000  # words that a tile compares: about 20 ms, so that Ctrl-C is heard
_FILLED_BITS = 2**17  # bits that a tile writes at least: some 0.1 ms, for which no thread is worth starting
_CHUNK_BYTES = 32 * 2**20  # planes of this size stay in a last-level cache; longer ones are not faster
_LEAST_WORDS = 512  # shorter planes would cost more in starting than in counting


def count(job: Job) -> None:
    """Fill the job's score and strict pairs."""
    n = job.x.shape[2]
    distances = n // 2 + 1  # pairs are (i, i + d mod n) with 1 <= d <= n // 2
    whole, one = planes.words_of(n, 1, distances), planes.words_of(n, 1, 2)
    word_bytes = 8 if job.untied else 16
    if job.untied:
        job.score.fill(n * (n - 1) // 2)
    for block in job.blocks(word_bytes * max(one, min(whole, _LEAST_WORDS)), planes.ROWS):
        rows = _Planes(job, job.x[block.batches, block.rows])
        columns = rows if block.lower else _Planes(job, job.y[block.batches, block.columns])
        row_bytes = word_bytes * (rows.count if block.lower else rows.count + columns.count)
        words = min(job.workspace // row_bytes, max(_CHUNK_BYTES // row_bytes, 2 * _LEAST_WORDS))
        chunks = list(spans(distances, max(1, 64 * words // n), start=1))
        for side in {id(rows): rows, id(columns): columns}.values():
            side.reserve(planes.words_of(n, *chunks[0]))  # no chunk is longer than the first
        for first, last in chunks:
            for side in {id(rows): rows, id(columns): columns}.values():
                side.make(first, last)
            _compare(job, block, rows, columns, share=job.share(block) / len(chunks), finished=last == distances)


class _Planes:
    """The planes of one side of a block, for a range of distances at a time."""

    def __init__(self, job: Job, ranks: np.ndarray) -> None:
        self.job, self.ranks = job, ranks
        b, m, n = ranks.shape
        self.rows = -(-m // planes.ROWS) * planes.ROWS
        self.count = b * self.rows
        tied = np.zeros((b, self.rows), np.bool_)  # or not complete; rows that fill up a group are neither
        tied[:, :m] = ranks.max(axis=-1) < n - 1
        self.tied = np.asarray(tied.reshape(b, -1, planes.ROWS).any(axis=-1))
        self.unsigned = np.uint16 if n < 2**16 else np.uint32  # its largest value stands for unranked
        self.signs: np.ndarray = np.empty((b, 0, 0), np.uint64)
        self.strict: np.ndarray = self.signs

    def reserve(self, words: int) -> None:
        """Allocate planes of ``words`` words; all chunks share them."""
        self.memory = np.empty((1 if self.job.untied else 2, self.count * words), np.uint64)

    def make(self, first: int, last: int) -> None:
        """Make the planes of distances ``first`` to ``last - 1``."""
        b, m, n = self.ranks.shape
        shape = (b, self.rows, planes.words_of(n, first, last))
        self.signs, *masks = (plane[: self.count * shape[2]].reshape(shape) for plane in self.memory)
        self.strict = masks[0] if masks else np.empty((b, 0, 0), np.uint64)
        self.pairs = planes.pairs_of(n, first, last)
        for plane in (self.signs, *masks):
            plane[:, m:] = 0  # the rows that fill up a group of four

        def fill(tile: Tile) -> None:
            rows = slice(tile.r0, tile.r1)
            circle = np.empty(2 * n + 64, self.unsigned)
            planes.fill_planes(
                self.ranks[tile.batch, rows],
                first,
                last,
                circle,
                self.signs[tile.batch, rows],
                self.strict[tile.batch, rows],
            )

        rows = max(16, _FILLED_BITS // max(1, self.pairs))
        self.job.run([Tile(batch, *some, 0, 0) for batch in range(b) for some in spans(m, rows)], fill)


def _compare(job: Job, block: RowBlock, rows: _Planes, columns: _Planes, share: float, *, finished: bool) -> None:
    side = planes.ROWS * max(1, min(_TILE_ROWS, int((_TILE_WORDS / rows.signs.shape[2]) ** 0.5)) // planes.ROWS)
    score = job.score[block.batches, block.rows, block.columns]
    strict = job.strict[block.batches, block.rows, block.columns]

    def compare(tile: Tile) -> None:
        b, r0, r1, c0, c1 = tile
        x, y, lower = rows.signs[b], columns.signs[b], block.lower
        if job.untied:
            planes.plain_tile(x, y, r0, r1, c0, c1, lower, score[b])
        else:
            strict_x, strict_y = rows.strict[b], columns.strict[b]
            tied = rows.tied[b], columns.tied[b]
            planes.masked_tile(x, y, strict_x, strict_y, *tied, rows.pairs, r0, r1, c0, c1, lower, score[b], strict[b])
        if finished:
            job.mirror(block, tile)

    job.run(job.tiles(block, side, side), compare, share)
