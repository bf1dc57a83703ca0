"""Writing on another thread while the next thing is made."""

import threading
import time

import pytest

from torchrank.storage import write_behind


def test_things_are_written_in_order_and_two_are_there_at_most():
    made, written, at_once = [], [], []

    def items():
        for k in range(20):
            at_once.append(len(made) - len(written))
            made.append(k)
            yield k

    def write(item, late):
        assert threading.current_thread() is not threading.main_thread()
        written.append(item)

    write_behind(items(), write)
    assert written == made == [*range(20)]
    assert max(at_once) <= 2
    write_behind([], write)
    assert len(written) == 20


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("last", [False, True])
def test_an_error_of_the_writer_is_raised(error, last):
    asked = []

    def items():
        for k in range(5):
            asked.append(k)
            yield k

    def write(item, late):
        if item == (4 if last else 1):
            raise error("no room")

    with pytest.raises(error, match="no room"):
        write_behind(items(), write)
    assert len(asked) == (5 if last else 3)


def test_what_was_made_before_an_error_is_written():
    written = []

    def items():
        yield 0
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        write_behind(items(), lambda item, late: written.append(item))
    assert written == [0, 1]


def test_an_item_is_late_if_it_waited_for_the_one_before():
    late = []

    def write(item, waited):
        late.append(waited)
        time.sleep(0.1)

    write_behind(range(4), write)
    assert late == [False, True, True, True]
