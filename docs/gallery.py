"""Draw the pictures of plots.md from the code beside them: ``python docs/gallery.py``."""

import re
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
DOCS = Path(__file__).resolve().parent
_PART = re.compile(r"^```python\n(?P<code>.*?)^```|^!\[.*?\]\((?P<picture>.*?)\)", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Run the blocks in their order; a picture shows the axes that the block before it left."""
    names: dict[str, object] = {}
    for part in _PART.finditer((DOCS / "plots.md").read_text(encoding="utf-8")):
        if part["code"]:
            names["ax"] = names["axes"] = None
            exec(part["code"], names)
        else:
            drawn = names["ax"] if names["ax"] is not None else np.ravel(names["axes"])[0]
            drawn.figure.savefig(DOCS / part["picture"], dpi=80)


if __name__ == "__main__":
    main()
