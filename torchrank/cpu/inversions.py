"""The engine "inversions": each row is sorted once, and pairs are counted in sets with counted prefixes."""

import numpy as np

from torchrank.cpu import position_sets
from torchrank.cpu.job import Job, RowBlock, Tile
from torchrank.cpu.parallel import spans

_WIDTH = 4  # rankings that one walk meets: more would push their sets out of the first-level cache
_TILE_ITEMS = 4_000_000  # items walked in a tile, times rankings met: about 20 ms, so that Ctrl-C is heard


def count(job: Job) -> None:
    """Fill the job's score and strict pairs."""
    n = job.x.shape[2]
    unsigned = np.dtype(np.uint16 if n < 2**16 else np.uint32)  # its largest value stands for unranked
    for block in job.blocks(unsigned.itemsize * n * (2 if job.untied else 5), _WIDTH):
        _count_block(job, block, unsigned)


def _count_block(job: Job, block: RowBlock, unsigned: np.dtype) -> None:
    walked, met = job.x[block.batches, block.rows], job.y[block.batches, block.columns]
    (b, m, n), m2 = walked.shape, met.shape[1]
    order = np.empty((b, m, n), unsigned)
    starts = np.empty((b, m, n + 1), unsigned)
    placed = np.empty((b, m2 * n), unsigned)
    groups = np.empty((b, m2, 0 if job.untied else n, 2), unsigned)
    score = job.score[block.batches, block.rows, block.columns]
    strict = job.strict[block.batches, block.rows, block.columns]

    def sort(tile: Tile) -> None:
        rows = slice(tile.r0, tile.r1)
        position_sets.sort_rows(walked[tile.batch, rows], order[tile.batch, rows], starts[tile.batch, rows])

    def place(tile: Tile) -> None:
        rows = slice(tile.c0, tile.c1)
        position_sets.place_rows(
            met[tile.batch, rows], placed[tile.batch, tile.c0 * n : tile.c1 * n], groups[tile.batch, rows]
        )

    def walk(tile: Tile) -> None:
        batch, r0, r1, c0, c1 = tile
        sets = position_sets.empty_sets(n, c1 - c0)
        columns = placed[batch, c0 * n : c1 * n]
        if job.untied:
            position_sets.plain_tile(order[batch], columns, c1 - c0, r0, r1, c0, block.lower, sets, score[batch])
        else:
            own = groups[batch, c0:c1].copy()  # the walk moves the next free positions, and tiles share the groups
            position_sets.tied_tile(
                order[batch], starts[batch], columns, own, r0, r1, c0, block.lower, sets, score[batch], strict[batch]
            )
        job.mirror(block, tile)

    job.run([Tile(batch, *rows, 0, 0) for batch in range(b) for rows in spans(m, 16)], sort)
    job.run([Tile(batch, 0, 0, *columns) for batch in range(b) for columns in spans(m2, _WIDTH)], place)
    job.run(job.tiles(block, max(1, min(m, _TILE_ITEMS // (_WIDTH * n))), _WIDTH), walk, job.share(block))
