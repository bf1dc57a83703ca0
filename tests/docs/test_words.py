"""The table of words says what signatures say: each of its words is used, and none that it replaced."""

import inspect
import re
from pathlib import Path

import pytest

from tests.docs.test_docstrings import public

PAGE = Path(__file__).resolve().parents[2] / "docs" / "words.md"
REPLACED = {"seed", "n_starts", "start", "kind", "kind_y", "kind2", "orders2", "theta_cap", "rng", "callbacks"}
BRITISH = re.compile(r"centre|neighbour|colour|behaviour|isation|(?<!no)ise$|normalis|regularis|catalogue")


def arguments():
    """Names of arguments of all public functions, classes and methods, and of fields and attributes."""
    found = {}
    for name, value in public():
        parts = [value]
        if inspect.isclass(value):
            parts += [part for key, part in inspect.getmembers(value, inspect.isfunction) if not key.startswith("_")]
            for field in (*getattr(value, "__dataclass_fields__", ()), *getattr(value, "_fields", ())):
                found.setdefault(field, name)
            for key in dir(value):
                found.setdefault(key, name)
        for part in parts:
            try:
                names = inspect.signature(part).parameters
            except ValueError:  # of classes that Python itself makes
                continue
            for argument in names:
                found.setdefault(argument, name)
    return found


def words():
    """What stands between backquotes in the second column."""
    rows = [line.split("|")[2] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [word for row in rows for word in re.findall(r"`(\w+)[`(]", row)]


def test_every_word_is_used():
    used = arguments().keys() | {name.rsplit(".", 1)[1] for name, _ in public()}
    assert len(words()) > 30
    assert not set(words()) - used


@pytest.mark.parametrize("replaced", sorted(REPLACED))
def test_no_word_that_was_replaced_is_left(replaced):
    assert replaced not in arguments()


def test_identifiers_are_spelled_the_american_way():
    assert not {name: where for name, where in arguments().items() if BRITISH.search(name)}
