"""Fits that are killed after everything they write, and started again."""

from torchrank.storage import checkpoint as storage


class Killed(BaseException):
    """In place of a signal, which no code can catch."""


class Broken:
    """Batches that break off when they are read for the third time."""

    def __init__(self, batches):
        self.batches, self.readings = batches, 0

    def __iter__(self):
        self.readings += 1
        if self.readings == 3:
            raise OSError("no more of them")
        yield from self.batches


def killed_after_every_save(monkeypatch, fit):
    """Start ``fit()`` again and again, each time ended by its first save, until it ends by itself; how many times."""
    write, kills = storage.write_whole, 0

    def killed_after(path, content, **words):
        write(path, content, **words)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(storage, "write_whole", killed_after)
        while _is_killed(fit):
            kills += 1
    return kills


def _is_killed(fit):
    try:
        fit()
    except Killed:
        return True
    return False
