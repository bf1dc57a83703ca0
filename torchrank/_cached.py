"""Properties that an object computes once.

Up to Python 3.11 ``functools.cached_property`` does it under a lock that all objects of a class share: threads wait for
one another, and a process that is forked while one of them computes waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - a decorator
    """A property kept in the object. Threads that ask for it at once may compute it twice, and get the same."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        value = self._function(instance)
        return instance.__dict__.setdefault(self._name, value)
