"""Sphinx configuration of the documentation."""

import shutil
from pathlib import Path

import torchrank

project = "torchrank"
author = "the torchrank authors"
copyright = "the torchrank authors"
version = release = torchrank.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are shown with the outputs they are stored with; tests run them
exclude_patterns = ["_build"]
# Sphinx reads nothing outside its folder, and notebooks lie at the top level, where people look for them.
_here = Path(__file__).resolve().parent
shutil.copytree(_here.parent / "notebooks", _here / "notebooks", dirs_exist_ok=True)

html_theme = "furo"
html_title = f"torchrank {release}"
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what arguments are, with shapes, which annotations can't
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False


def _skip(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out what scikit-learn adds to every estimator for the routing of metadata."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app: object) -> None:
    """Connect to Sphinx."""
    app.connect("autodoc-skip-member", _skip)  # type: ignore[attr-defined]
