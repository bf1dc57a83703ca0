"""The figures of docs/performance.md are those of the committed rows."""

import re

import pytest

performance = pytest.importorskip("benchmarks.performance", reason="needs a checkout")


def test_tables_are_those_of_the_rows():
    text = performance.PAGE.read_text(encoding="utf-8")
    assert performance.fill(text) == text, "run python -m benchmarks.performance"


def test_the_first_page_has_the_table_of_the_readme():
    tables = []
    for page in ("README.md", "docs/index.md"):
        text = (performance.PAGE.parents[1] / page).read_text(encoding="utf-8")
        tables.append(re.findall(r"^\| items n \|.*?(?=^$)", text, re.DOTALL | re.MULTILINE))
    assert len(tables[0]) == 1
    assert tables[0] == tables[1]


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


@pytest.mark.parametrize(("measured", "says"), [(None, "did not record"), ("other", "measured other kernels, other")])
def test_a_table_of_other_kernels_than_the_present_ones_says_so(measured, says):
    assert says in performance._of_other_kernels(measured)
    assert performance._of_other_kernels(performance.kernels_digest()) == ""
    assert performance.PAGE.read_text(encoding="utf-8").count("have not been measured") in (0, 2)


def test_every_source_of_the_kernels_changes_the_digest(monkeypatch, tmp_path):
    env = pytest.importorskip("benchmarks.env")
    monkeypatch.setattr(env, "ROOT", tmp_path)
    (tmp_path / "kernels_triton").mkdir()
    seen = {env.kernels_digest()}
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.py", "2"), ("notes.txt", "3")):
        (tmp_path / "kernels_triton" / name).write_text(text)
        seen.add(env.kernels_digest())
    assert len(seen) == 4  # notes are no source
