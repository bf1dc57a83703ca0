"""The check of the built documentation finds what it is to find, and formulas are written as docutils reads them."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "docs" / "check.py"
SOURCES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "torchrank").rglob("*.py"), *(ROOT / "notebooks").glob("*.ipynb")]
GOOD = """<html><head><link rel="stylesheet" href="style.css"></head><body id="top">
<a href="#top">up</a> <a href="other.html#place">there</a> <a href="https://example.org/x.html">elsewhere</a>
<img src="dot.png" alt="A dot">
<div><pre><span>one = 1</span>
two = 2</pre></div><div class="cell_output"><div><pre>LONG</pre></div></div></body></html>""".replace("LONG", "x" * 100)


@pytest.fixture
def faults():
    spec = importlib.util.spec_from_file_location("check", CHECK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.faults


@pytest.fixture
def site(tmp_path):
    """A folder of two pages without fault."""
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "other.html").write_text('<p id="place">here</p>')
    (tmp_path / "style.css").write_text("p { background: url(dot.png) }")
    (tmp_path / "dot.png").write_bytes(b"")
    return tmp_path


def test_good_pages_have_no_fault(faults, site):
    assert faults(site) == []


@pytest.mark.parametrize(
    ("good", "bad", "fault"),
    [
        ("#top", "#bottom", "no such place: #bottom"),
        ("other.html#place", "other.html#nowhere", "no such place: other.html#nowhere"),
        ("other.html#place", "absent.html", "no such file: absent.html"),
        ('"style.css"', '"https://example.org/s.css"', "comes from elsewhere: https://example.org/s.css"),
        ('<img src="dot.png"', '<img src="//example.org/d.png"', "comes from elsewhere: //example.org/d.png"),
        (
            "<body",
            '<script src="https://example.org/m.js"></script><body',
            "comes from elsewhere: https://example.org/m.js",
        ),
        ('alt="A dot"', "", "no alternative text for dot.png"),
        ("one = 1", "one = 1" + "0" * 82, "long line: one = 1" + "0" * 82),
        ('alt="A dot"', 'alt="dot.png"', "no alternative text for dot.png"),
    ],
)
def test_faults_are_found(faults, site, good, bad, fault):
    assert good in GOOD
    (site / "index.html").write_text(GOOD.replace(good, bad))
    assert faults(site) == [f"index.html: {fault}"]


def test_styles_that_load_from_elsewhere_are_found(faults, site):
    (site / "style.css").write_text('@import "https://example.org/a.css"; p { background: url(//example.org/b.png) }')
    assert [fault.rpartition(": ")[2] for fault in faults(site)] == ["https://example.org/a.css", "//example.org/b.png"]


def test_fractions_have_braces():
    """Where TeX reads one digit, docutils reads all of a number and takes what follows for the denominator."""
    assert len(SOURCES) > 100
    assert not [path for path in SOURCES if re.search(r"\\[td]?frac\s*\d", path.read_text(encoding="utf-8"))]
