"""Sphinx configuration of the documentation."""

import re
import shutil
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

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


def _mathml(self: object, node: nodes.Element) -> None:
    """Write a formula as MathML; one that docutils does not know is a warning, which ends the build."""
    block = isinstance(node, nodes.math_block)
    try:
        formula = tex2mathml(node.astext(), as_block=block)
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
    app.connect("html-page-context", _mend_back_links)  # type: ignore[attr-defined]
