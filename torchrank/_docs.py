"""Descriptions of arguments that several functions share: written once, filled into each docstring at import.

A docstring has a placeholder where the shared words go, ``lam: {lam} At 0 stop early.`` in its ``Args``. With
``@shares_arguments(lam="regularization, at least 0.")`` on the function, ``help`` says ``lam: regularization, at least
0. At 0 stop early.`` One text may serve arguments of other names: ``lam_start: {lam}``.
"""

import textwrap
from collections.abc import Callable
from typing import TypeVar

Thing = TypeVar("Thing")

WIDTH = 120


def shares_arguments(**texts: str) -> Callable[[Thing], Thing]:
    """Fill the docstring of a function or class; signature and type stay what they are.

    Every ``{name}`` of ``texts`` is replaced, and its line wrapped with the continuation indented, as Google style has
    it. Braces with anything else in them stay. Where Python runs without docstrings (``-OO``) nothing happens.

    Args:
        **texts: what to write for each placeholder, one paragraph each.

    Returns:
        The decorator.

    Raises:
        ValueError: at import, a placeholder that the docstring does not have.
    """

    def fill(thing: Thing) -> Thing:
        if thing.__doc__ is not None:
            lines = thing.__doc__.split("\n")
            for name, text in texts.items():
                if not any(f"{{{name}}}" in line for line in lines):
                    raise ValueError(f"the docstring of {thing!r} has no {{{name}}} to fill; add it, or drop {name}=")
                lines = [part for line in lines for part in _filled(line, f"{{{name}}}", " ".join(text.split()))]
            thing.__doc__ = "\n".join(lines)
        return thing

    return fill


def _filled(line: str, placeholder: str, text: str) -> list[str]:
    if placeholder not in line:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.strip().replace(placeholder, text),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
