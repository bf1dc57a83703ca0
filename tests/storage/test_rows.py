"""Rows of blocks of a matrix in a file, which are safe without files of their blocks."""

import time

import numpy as np
import pytest

import torchrank as tr
from tests.interruptions import Killed
from tests.storage.cases import MATRICES, N_BLOCKS, X, keep, killed_at, safe
from torchrank.kernels.block_stream import BlockStream
from torchrank.storage import block_folder, rows


def with_two_rows(tmp_path):
    """Rows of a run that ended in the third one, of whose blocks there are no files."""
    path = tmp_path / "g.npy"
    with pytest.MonkeyPatch.context() as patched:
        keep(patched, "rows")
        killed_at(patched, block_folder.BlockFolder, "_fill", 9)
        with pytest.raises(Killed):
            MATRICES["kernel"](out=path, block=10)
    assert safe(tmp_path / "g.npy.blocks") == {(row, column) for row in (0, 10) for column in range(row, 37, 10)}
    return path


def computed(monkeypatch, call):
    """The matrix, and the blocks that were written for it."""
    written, whole = [], block_folder.BlockFolder.write
    with monkeypatch.context() as patched:
        patched.setattr(block_folder.BlockFolder, "write", lambda *a: written.append(a[1]) or whole(*a))
        return call(), [(part.rows.start, part.columns.start) for part in written]


def test_marked_rows_are_not_computed_again(tmp_path, monkeypatch):
    path = with_two_rows(tmp_path)
    found, written = computed(monkeypatch, lambda: MATRICES["kernel"](out=path, block=10, resume=True))
    assert written == [(20, 20), (20, 30), (30, 30)]
    np.testing.assert_array_equal(found, tr.kendall_gram(X))


ROW_DAMAGE = {  # what is wrong with row 10, and what is computed again
    "changed": lambda matrix, mark: changed(matrix, 128 + (12 * 37 + 15) * 8 + 3),
    "changed below the diagonal": lambda matrix, mark: changed(matrix, 128 + 12 * 37 * 8 + 3),
    "mark changed": lambda matrix, mark: changed(mark, 2),
    "mark cut": lambda matrix, mark: mark.write_bytes(b""),
    "mark gone": lambda matrix, mark: mark.unlink(),
    "cut": lambda matrix, mark: matrix.write_bytes(matrix.read_bytes()[: 128 + 15 * 37 * 8]),
    "matrix empty": lambda matrix, mark: matrix.write_bytes(b""),
    "matrix gone": lambda matrix, mark: matrix.unlink(),
    "another matrix": lambda matrix, mark: np.save(matrix, np.zeros((5, 5))),
}


def changed(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", ROW_DAMAGE)
def test_damaged_rows_are_made_again(tmp_path, monkeypatch, damage):
    path = with_two_rows(tmp_path)
    ROW_DAMAGE[damage](tmp_path / "g.npy.blocks" / "matrix.npy", tmp_path / "g.npy.blocks" / "10.row")
    found, written = computed(monkeypatch, lambda: MATRICES["kernel"](out=path, block=10, resume=True))
    np.testing.assert_array_equal(found, tr.kendall_gram(X))
    again = {"changed below the diagonal": 3}.get(damage, 6)  # what is there is copied from above it
    assert len(written) == (N_BLOCKS if damage.startswith(("matrix", "another")) else again)
    assert not (tmp_path / "g.npy.blocks").exists()


def test_a_matrix_that_goes_while_it_is_filled_is_no_matrix_of_zeros(tmp_path, monkeypatch):
    path = with_two_rows(tmp_path)
    whole = block_folder.BlockFolder.missing

    def then_gone(self, parts):
        found = whole(self, parts)
        (tmp_path / "g.npy.blocks" / "matrix.npy").unlink()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(block_folder.BlockFolder, "missing", then_gone)
        with pytest.raises(RuntimeError, match=r"matrix\.npy is gone; call again with resume=True"):
            MATRICES["kernel"](out=path, block=10, resume=True)
    np.testing.assert_array_equal(MATRICES["kernel"](out=path, block=10, resume=True), tr.kendall_gram(X))


def test_a_process_alone_goes_on_with_blocks_and_rows_of_earlier_runs(tmp_path, monkeypatch):
    """Files of blocks that a row is made of, of a row that is marked, and of others."""
    path = with_two_rows(tmp_path)
    folder = tmp_path / "g.npy.blocks"
    (folder / "10.row").unlink()
    for kept, call in (("files", 3), ("rows", 1)):
        with monkeypatch.context() as patched:
            keep(patched, kept)
            patched.setattr(rows.RowMarks, "busy", False)
            killed_at(patched, block_folder.BlockFolder, "_fill", 4 + call)  # those of row 0 are filled first
            with pytest.raises(Killed):
                MATRICES["kernel"](out=path, block=10, resume=True)
    assert safe(folder) >= {(0, column) for column in range(0, 37, 10)} | {(10, 10), (10, 20)}
    before = safe(folder)
    found, written = computed(monkeypatch, lambda: MATRICES["kernel"](out=path, block=10, resume=True))
    np.testing.assert_array_equal(found, tr.kendall_gram(X))
    assert set(written) == {(row, column) for row in range(0, 37, 10) for column in range(row, 37, 10)} - before


def test_blocks_have_files_where_the_disk_keeps_up(tmp_path, monkeypatch):
    """So that no more than a block is lost of a row that takes long."""
    written, whole = [], block_folder.write_block
    monkeypatch.setattr(block_folder, "write_block", lambda *a: written.append(a[0].name) or whole(*a))
    monkeypatch.setattr(rows.RowMarks, "busy", False)
    plain = BlockStream.run

    def slowly(self, *arguments):
        for found in plain(self, *arguments):
            time.sleep(0.05)
            yield found

    monkeypatch.setattr(BlockStream, "run", slowly)
    MATRICES["kernel"](out=tmp_path / "g.npy", block=10)
    assert written == ["0_0.block", "0_10.block", "0_20.block", "10_10.block", "10_20.block", "20_20.block"]


def test_blocks_have_none_where_it_does_not(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(block_folder, "write_block", lambda *a: written.append(a))
    monkeypatch.setattr(rows.RowMarks, "busy", True)
    found = MATRICES["kernel"](out=tmp_path / "g.npy", block=10)
    np.testing.assert_array_equal(found, tr.kendall_gram(X))
    assert not written
