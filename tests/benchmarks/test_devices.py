"""The CPU beside a card: rows, table, picture and the sizes from which one is faster, all without a card."""

import json
from types import SimpleNamespace

import pytest
import torch

import torchrank
from benchmarks import run as command
from benchmarks.devices import page, run
from benchmarks.devices.cases import Case, scores
from benchmarks.devices.faster import faster_from
from benchmarks.devices.measure import Device
from benchmarks.registry import DEVICE_BENCHMARKS, Recorder

CPU = torch.device("cpu")
BOTH = (Device("cpu", CPU), Device("card", CPU))


def rows_in(folder):
    return [json.loads(line) for line in (folder / "devices.jsonl").read_text().splitlines()]


def gram_case(name, call=torchrank.kendall_gram):
    return Case(name, "rankings of 6 items", (3, 9), 2, lambda m: (scores(m, 6),), call, 1e-6)


@pytest.fixture
def two_cases(monkeypatch):
    monkeypatch.setattr(run, "CASES", [gram_case("kendall_gram"), gram_case("spearman", torchrank.spearman_gram)])


@pytest.mark.slow
def test_the_command_rehearses_every_case_and_says_that_there_is_no_card(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    command.main(["devices", "--device", "cpu,cuda", "--quick", "--out", str(tmp_path)])
    _, head, *rows = rows_in(tmp_path)
    assert (head["devices"], head["quick"]) == (["cpu"], True)
    assert [row["case"] for row in rows if "case" in row] == [case.name for case in run.CASES]
    assert all(row["difference"] == 0 and row["transfer_seconds"] is None for row in rows if "case" in row)
    assert rows[-1]["small"] == [64, 10]
    printed = capsys.readouterr().out
    assert "cuda: column left out" in printed
    assert "CUDA faster from" not in printed
    assert (tmp_path / "devices.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.usefixtures("two_cases")
def test_two_devices_have_columns_a_picture_and_sizes_from_which_one_is_faster(tmp_path):
    recorder = Recorder("devices", tmp_path)
    run.compare(recorder, BOTH)
    environment, head, *rows = rows_in(tmp_path)
    measured = [(row["case"], row["size"], row["device"]) for row in rows if "case" in row]
    assert measured == [(n, m, d) for n in ("kendall_gram", "spearman") for m in (3, 9) for d in ("cpu", "card")]
    assert all(min(row["seconds"], row["first_seconds"], *row["all_seconds"]) > 0 for row in rows if "case" in row)
    text = page.written(environment["environment"], [head, *rows], recorder.run)
    columns, _, first, *_ = text.splitlines()
    assert "card | card, first call | card, memory | way to card | card faster from | way included" in columns
    assert first.startswith("| `kendall_gram` | 9 | rankings of 6 items |")
    assert columns.count("|") == first.count("|")
    assert "; card" in text
    assert "No card has been measured" not in text
    assert f"{environment['environment']['threads']} thread" in text
    assert f"torch {environment['environment']['versions']['torch']}" in text
    assert recorder.path.with_suffix(".png").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("two_cases")
def test_one_device_says_that_no_card_was_measured(tmp_path):
    recorder = Recorder("devices", tmp_path)
    run.compare(recorder, BOTH[:1])
    environment, *rows = rows_in(tmp_path)
    text = page.written(environment["environment"], rows, recorder.run)
    assert "No card has been measured" in text
    assert "faster from |" not in text


@pytest.mark.slow
@pytest.mark.usefixtures("two_cases")
def test_after_the_limit_no_size_is_begun(tmp_path, monkeypatch, capsys):
    clock = SimpleNamespace(monotonic=iter([0.0, 1.0, 9.0, 9.0, 9.0]).__next__)
    monkeypatch.setattr(run, "time", clock)
    run.compare(Recorder("devices", tmp_path), BOTH, limit=5.0)
    late = [row["left_out"] for row in rows_in(tmp_path) if "left_out" in row]
    assert late == [
        "kendall_gram, 9 rankings of 6 items",
        "spearman, 3 rankings of 6 items",
        "spearman, 9 rankings of 6 items",
    ]
    assert "Left out for lack of time: kendall_gram, 9 rankings of 6 items; spearman, 3" in capsys.readouterr().out


@pytest.mark.slow
def test_a_case_that_fails_costs_no_other_rows(tmp_path, monkeypatch, capsys):
    def fails(X):
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(run, "CASES", [gram_case("broken", fails), gram_case("kendall_gram")])
    with pytest.raises(AssertionError, match="broken, 3 rankings of 6 items: RuntimeError: no such kernel"):
        run.compare(Recorder("devices", tmp_path), BOTH)
    assert sum(row.get("case") == "kendall_gram" for row in rows_in(tmp_path)) == 4
    assert "Failed: broken, 3 rankings of 6 items (RuntimeError: no such kernel)" in capsys.readouterr().out


@pytest.mark.slow
def test_results_that_differ_are_an_error_after_all_rows_are_written(tmp_path, monkeypatch):
    calls = iter([0.0, 0.1])
    wrong = gram_case("wrong", lambda X: torchrank.kendall_gram(X) + next(calls, 0.0))
    monkeypatch.setattr(run, "CASES", [wrong._replace(sizes=(3,)), gram_case("kendall_gram")])
    with pytest.raises(AssertionError, match="card differs by"):
        run.compare(Recorder("devices", tmp_path), BOTH)
    differing = {(row["case"], row["device"]): row["differs"] for row in rows_in(tmp_path) if "case" in row}
    assert differing == {
        ("wrong", "cpu"): False,
        ("wrong", "card"): True,
        ("kendall_gram", "cpu"): False,
        ("kendall_gram", "card"): False,
    }


@pytest.mark.parametrize(
    ("cpu", "card", "way", "expected"),
    [
        ({1: 1, 2: 2, 3: 3}, {1: 2, 2: 1.5, 3: 1}, 0, 2),
        ({1: 1, 2: 2, 3: 3}, {1: 2, 2: 1.5, 3: 1}, 1, 3),
        ({1: 1, 2: 2, 3: 3}, {1: 2, 2: 1.5, 3: 1}, 2, None),
        ({1: 1, 2: 2, 3: 3}, {1: 0.5, 2: 2.5, 3: 1}, 0, 3),
        ({1: 1, 2: 2}, {1: 0.5, 2: 1.5}, 0, 1),
        ({1: 1, 2: 2, 3: 3}, {1: 2, 2: 1}, 0, 2),
        ({1: 1, 2: 2}, {1: 1, 2: 2}, 0, None),
        ({1: 1, 2: 2}, {}, 0, None),
    ],
)
def test_faster_is_what_is_faster_at_every_larger_size(cpu, card, way, expected):
    rows = [
        {"case": "a", "device": device, "size": size, "seconds": seconds, "transfer_seconds": moved}
        for device, found, moved in (("cpu", cpu, None), ("card", card, way))
        for size, seconds in found.items()
    ]
    assert faster_from([{}, *rows], "a", "cpu", "card", way=True) == expected
    if way == 0:
        assert faster_from(rows, "a", "cpu", "card") == expected


def test_the_page_shows_the_committed_rows():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.fill(text, page.block) == text, "run python -m benchmarks.devices.page"
    assert set(page.shown(text)) == {"devices"}


def test_rehearsals_and_unknown_tables_are_not_for_the_page():
    with pytest.raises(ValueError, match="rehearsal"):
        page.written({}, [{"quick": True}], "today")
    with pytest.raises(ValueError, match=r"devices\.jsonl has no run yesterday"):
        page.block("devices", "yesterday")
    with pytest.raises(ValueError, match="gpu_smoothed"):
        page.block("gpu_smoothed", "today")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["partial", "--device", "cpu"], "partial does not take --device; those that do: devices"),
        (["partial", "--quick"], "partial does not take --quick"),
        (["devices", "--device", "cpu,gpu"], "--device has 'gpu'"),
        (["devices", "--device", ""], "--device has ''"),
    ],
)
def test_wrong_arguments_are_refused(arguments, says, tmp_path, capsys):
    with pytest.raises(SystemExit):
        command.main([*arguments, "--out", str(tmp_path)])
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_devices_are_passed_on_once_each(tmp_path, monkeypatch):
    given = []
    monkeypatch.setitem(DEVICE_BENCHMARKS, "devices", lambda recorder, *rest: given.append((recorder.path, *rest)))
    command.main(["devices", "--device", "cuda,cpu,cuda", "--out", str(tmp_path)])
    command.main(["devices", "--out", str(tmp_path)])
    path = tmp_path / "devices.jsonl"
    assert given == [(path, ["cuda", "cpu"], False), (path, ["cpu"], False)]


def test_cards_that_are_not_there_are_left_out(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert [device.name for device in run.available(["cpu", "cuda", "cuda:1"])] == ["cpu", "cuda"]
    assert "cuda:1: column left out; the last CUDA device is cuda:0" in capsys.readouterr().out
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert run.available(["cuda"]) == [BOTH[0]]
