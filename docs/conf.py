"""Sphinx configuration of the documentation."""

import torchrank

project = "torchrank"
author = "the torchrank authors"
copyright = "the torchrank authors"  # noqa: A001  (Sphinx wants this name)
version = release = torchrank.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"torchrank {release}"
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what arguments are, with shapes, which annotations can't
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
