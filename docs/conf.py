"""Sphinx configuration of the documentation."""

import importlib
import inspect
import re
import shutil
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

import torchrank

project = "torchrank"
author = "the torchrank authors"
copyright = "the torchrank authors"
version = release = torchrank.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_design"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are shown with the outputs they are stored with; tests run them
exclude_patterns = ["_build", "jupyter_execute"]
# Sphinx reads nothing outside its folder, and notebooks lie at the top level, where people look for them.
_here = Path(__file__).resolve().parent
_only = shutil.ignore_patterns("*.toml", ".*")
shutil.copytree(_here.parent / "notebooks", _here / "notebooks", ignore=_only, dirs_exist_ok=True)

smartquotes = False  # they take "raise" after a bracket for the end of a quotation

html_theme = "furo"
html_title = f"torchrank {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_math_renderer = "mathml"  # browsers draw it themselves: no script, and nothing to fetch

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what arguments are, with shapes, which annotations can't
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False


def _skip(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out what scikit-learn adds to every estimator for the routing of metadata."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def _mend_docstring(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Undo what becomes of sentences: types before colons, lists that begin with a letter, fields without text."""
    if lines and lines[0].startswith("Alias for field number"):
        lines[:] = [_comment_of(name)]
    if what in ("property", "attribute"):
        types = [line for line in lines if line.startswith(":type: ")]
        if types and not inspect.isclass(obj):
            lines[:] = [line for line in lines if line not in types]
            lines[0] = f"{types[0].removeprefix(':type: ')}: {lines[0]}"
    for k, line in enumerate(lines):
        line = re.sub(r"^(\s*:returns: )\*(.*)\* -- ", r"\1\2: ", line)
        lines[k] = re.sub(r"^(\s*(?::\w+[^:]*: )?\w{1,2})\.$", r"\1\\.", line)


def _comment_of(name: str) -> str:
    """What the comment at a field of a named tuple says, as a sentence."""
    package, kind, field = name.rsplit(".", 2)
    source = inspect.getsource(getattr(importlib.import_module(package), kind))
    found = re.search(rf"^\s+{field}: .*?  # (.*)$", source, re.MULTILINE)
    return f"{found[1][:1].upper()}{found[1][1:].rstrip('.')}." if found else ""


def _by_last_name(app: object, env: object, node: nodes.Element, content: nodes.Element) -> nodes.Element | None:
    """What is documented under another of its names: ``torchrank.borda`` as ``torchrank.aggregation.borda``."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    domain = env.get_domain("py")  # type: ignore[attr-defined]
    for parts in (1, 2):
        end = "." + ".".join(target.split(".")[-parts:])
        found = {name: entry for name, entry in domain.objects.items() if name.endswith(end) and not entry.aliased}
        if len(found) > 1:  # estimators have the names of modules
            found = {name: entry for name, entry in found.items() if ".estimators." not in name}
        if len(found) == 1:
            ((_, entry),) = found.items()
            return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content)  # type: ignore[attr-defined]
    return None


def _mathml(self: object, node: nodes.Element) -> None:
    """Write a formula as MathML; one that docutils does not know is a warning, which ends the build."""
    block = isinstance(node, nodes.math_block)
    try:
        # Bars that stretch come in pairs, as docutils draws them.
        text = re.sub(r"\\lVert(.*?)\\rVert", r"\\left\\|\1\\right\\|", node.astext(), flags=re.DOTALL)
        # A thin space before a function's name, as TeX has it.
        text = re.sub(r"(?<=[\w})])\s*(?=\\(?:operatorname|log|exp)\b)", r"\\,", text)
        formula = tex2mathml(text, as_block=block)
        formula = f'<div class="math-wrapper">{formula}</div>' if block else formula
        self.body.append(formula)  # type: ignore[attr-defined]
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %s", error, node.astext(), location=node)
    raise nodes.SkipNode


def _mend_back_links(app: object, page: str, template: str, context: dict, doctree: object) -> None:
    """Lead sources back to classes of a package whose functions are documented under another one."""
    if not page.startswith("_modules/"):
        return
    known = set(app.env.domaindata["py"]["objects"])  # type: ignore[attr-defined]

    def mended(link: re.Match[str]) -> str:
        name = link["package"] + link["name"]
        found = [other for other in known if name == other or other.endswith("." + link["name"])]
        return link["start"] + (name if name in known else min(found, default=name))

    pattern = r'(?P<start><a class="viewcode-back" href="[^"#]*#)(?P<package>[\w.]*\.)(?P<name>[A-Z][\w.]*)'
    context["body"] = re.sub(pattern, mended, context["body"])


def setup(app: object) -> None:
    """Connect to Sphinx."""
    app.add_html_math_renderer("mathml", (_mathml, None), (_mathml, None))  # type: ignore[attr-defined]
    app.connect("autodoc-skip-member", _skip)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", _mend_docstring, priority=900)  # type: ignore[attr-defined]
    app.connect("missing-reference", _by_last_name)  # type: ignore[attr-defined]
    app.connect("html-page-context", _mend_back_links)  # type: ignore[attr-defined]
