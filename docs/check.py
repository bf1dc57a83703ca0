"""Check the built documentation: ``python docs/check.py docs/_build``.

Links between its pages lead somewhere, pictures have alternative texts, code fits the column, and no page needs the
network: scripts, styles, fonts and pictures come from the folder itself.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FETCHED = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
}  # what a browser loads itself
WIDTH = 88  # columns of code that a page has room for
_URL = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class Page(HTMLParser):
    """What a page of HTML links to, what it loads, where others can link to, undescribed pictures, and its code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.undescribed: list[str] = []
        self.code = ""
        self._inside: list[str] = []  # open divisions and blocks of code, by their classes
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the attributes of one tag."""
        found = {name: value or "" for name, value in attrs}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        if tag in ("div", "pre"):
            self._inside.append(f"{tag} {found.get('class', '')}")
        target = found.get(_FETCHED.get(tag, "href"))
        if target is None:
            return
        self.links.append(target)
        if tag in _FETCHED:
            self.fetched.append(target)
        if tag == "img" and found.get("alt", "") in (
            "",
            target,
            target.rpartition("/")[2],
            f"_images/{Path(target).name}",
        ):
            self.undescribed.append(target)

    def handle_endtag(self, tag: str) -> None:
        """Leave a division or a block of code."""
        if tag in ("div", "pre") and self._inside:
            self._inside.pop()
            self.code += "\n" if tag == "pre" else ""

    def handle_data(self, data: str) -> None:
        """Keep code, but not what a notebook printed, which is wrapped."""
        if (
            self._inside
            and self._inside[-1].startswith("pre")
            and not any("cell_output" in part for part in self._inside)
        ):
            self.code += data


def faults(folder: Path) -> list[str]:
    """One line for each fault: the page, what is wrong, and where."""
    folder = folder.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        found += [f"{name}: no alternative text for {picture}" for picture in page.undescribed]
        found += [f"{name}: comes from elsewhere: {address}" for address in page.fetched if urlsplit(address).netloc]
        if not name.startswith("_modules/"):  # sources, shown as they are
            found += [f"{name}: long line: {line}" for line in page.code.splitlines() if len(line) > WIDTH]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{name}: no such file: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: no such place: {link}")
    for path in sorted(folder.rglob("*.css")):
        addresses = _URL.findall(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(folder).as_posix()}: comes from elsewhere: {address}" for address in addresses]
    return found


if __name__ == "__main__":
    found = faults(Path(sys.argv[1]))
    print(*found, sep="\n")
    sys.exit(bool(found))
