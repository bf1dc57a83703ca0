"""Engines compile where nothing can be written; there numba refuses to cache, as for functions of no file."""

import warnings

import pytest

from torchrank.cpu import compiled


@pytest.fixture
def of_no_file():
    names = {}
    exec("def add(a, b):\n    return a + b", names)
    compiled._warn.cache_clear()
    yield names["add"]
    compiled._warn.cache_clear()


def test_without_a_place_for_compiled_code_functions_work_and_one_warning_says_why(of_no_file):
    with pytest.warns(UserWarning, match=r".*cpu nor .*NUMBA_CACHE_DIR"):
        add = compiled.njit(nogil=True, cache=True)(of_no_file)
    assert add(2, 3) == 5
    assert add.targetoptions["nogil"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled.njit(cache=True)(of_no_file)(2.5, 3) == 5.5


def test_what_else_numba_refuses_is_raised(of_no_file, monkeypatch):
    def refuse(**options):
        raise RuntimeError("something else")

    monkeypatch.setattr(compiled.numba, "njit", refuse)
    with pytest.raises(RuntimeError, match="something else"):
        compiled.njit(cache=True)(of_no_file)
