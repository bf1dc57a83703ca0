"""Descriptions of arguments that several functions share: written once, filled into each docstring at import."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

Thing = TypeVar("Thing")

WIDTH = 120
_LINE = re.compile(r"^( *)(\w+: )(.*?)\{(\w+)\}(.*)$", re.MULTILINE)


def shares_arguments(*tables: Mapping[str, str], **texts: str) -> Callable[[Thing], Thing]:
    """Fill the docstring of a function, or of a class and its public methods; signatures and types stay.

    A line ``lam: {lam} At 0 stop early.`` of a section "Args" gets the text of ``lam`` between what stands before and
    after the braces, wrapped and indented as descriptions are. One text may serve arguments of other names, ``beta: of
    the end, {lam}``. Texts may have paragraphs and lists, whose items start with ``*``. Where Python runs without
    docstrings (``-OO``) nothing happens.

    Args:
        *tables: texts by name, of which not all need be used.
        **texts: further texts.

    Returns:
        The decorator.

    Raises:
        KeyError: at import, where a description starts with the name of a text that is not there.
    """
    known = {name: text for table in (*tables, texts) for name, text in table.items()}

    def fill(thing: Thing) -> Thing:
        parts: list[Any] = [thing]
        if inspect.isclass(thing):
            parts += [member for name, member in vars(thing).items() if not name.startswith("_")]
        for part in parts:
            documented = getattr(part, "__func__", part)
            if inspect.isfunction(documented) or inspect.isclass(documented):
                documented.__doc__ = documented.__doc__ and _LINE.sub(
                    lambda line: _description(line, known), documented.__doc__
                )
        return thing

    return fill


def _description(line: "re.Match[str]", texts: Mapping[str, str]) -> str:
    indent, name, before, key, after = line.groups()
    if before and key not in texts:
        return line.group()  # braces of a formula
    first, *others = _blocks(f"{name}{before}{texts[key]}{after}")
    lines = [_wrapped(first, indent, indent + "    ")]
    for block in others:
        item = block.startswith("* ")
        lines += [_wrapped(block, indent + "    ", indent + ("      " if item else "    "))]
    return "\n".join(lines)


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, items of lists, and blank lines between them, each on one line."""
    block: list[str] = []
    for line in text.splitlines():
        if block and (not line.strip() or line.lstrip().startswith("* ")):
            yield " ".join(block)
            block = []
        if line.strip():
            block.append(line.strip())
        else:
            yield ""
    yield " ".join(block)


def _wrapped(text: str, first: str, others: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first if text else "",
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
