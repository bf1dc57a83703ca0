"""The figures of docs/performance.md are those of the committed rows."""

import pytest

performance = pytest.importorskip("benchmarks.performance", reason="needs a checkout")


def test_tables_are_those_of_the_rows():
    text = performance.PAGE.read_text(encoding="utf-8")
    assert performance.fill(text) == text, "run python -m benchmarks.performance"


def test_every_table_is_shown():
    assert set(performance.shown(performance.PAGE.read_text(encoding="utf-8"))) == set(performance.TABLES)


def test_runs_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match=r"partial\.jsonl has no run yesterday"):
        performance.rows_of("partial", "yesterday")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (81.96, "82 s"),
        (1.0, "1 s"),
        (0.0229, "22.9 ms"),
        (2.15e-4, "215 µs"),
        (1.44e-8, "14.4 ns"),
        (3456.0, "3,456 s"),
    ],
)
def test_durations_have_three_digits_and_a_unit(seconds, text):
    assert performance.duration(seconds) == text
