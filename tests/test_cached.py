"""Properties that are computed once: nobody waits for another object's."""

import threading
from pathlib import Path

import torchrank
from torchrank._cached import cached_property


class Slow:
    def __init__(self, go_on):
        self.go_on, self.calls = go_on, 0

    @cached_property
    def value(self):
        """What is waited for."""
        self.calls += 1
        assert self.go_on.wait(20)
        return object()


def test_it_is_computed_once_and_documented():
    go_on = threading.Event()
    go_on.set()
    slow = Slow(go_on)
    assert slow.value is slow.value
    assert slow.calls == 1
    assert Slow.value.__doc__ == "What is waited for."


def test_objects_do_not_wait_for_one_another():
    """As with one lock for a class, which a fork in another thread's hands would leave locked."""
    first, second = Slow(threading.Event()), Slow(threading.Event())
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    second.go_on.set()
    other = threading.Thread(target=lambda: second.value)
    other.start()
    other.join(10)
    waiting = other.is_alive()
    first.go_on.set()
    thread.join(20)
    other.join(20)
    assert not waiting


def test_the_one_of_functools_is_not_used():
    files = Path(torchrank.__file__).parent.rglob("*.py")
    assert not [file for file in files if "functools import cached_property" in file.read_text(encoding="utf-8")]
