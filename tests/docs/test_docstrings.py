"""Docstrings of public functions and classes name every argument, and what comes back."""

import importlib
import inspect
import re

import pytest

PACKAGES = (
    "torchrank",
    "torchrank.aggregation",
    "torchrank.classification",
    "torchrank.clustering",
    "torchrank.conditional",
    "torchrank.dask",
    "torchrank.distributions",
    "torchrank.estimators",
    "torchrank.metrics",
    "torchrank.plots",
)


def public():
    """Each public function and class once, under the first name that it has."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == package]
        for name in getattr(module, "__all__", [name for name in own if not name.startswith("_")]):
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                found.setdefault(value, f"{package}.{name}")
    return sorted(((name, value) for value, name in found.items()), key=lambda pair: pair[0])


def docstrings(value):
    """Its own, and those of its base classes, which say what arguments of the same name are."""
    return "\n".join(inspect.getdoc(part) or "" for part in (value.__mro__[:-1] if inspect.isclass(value) else [value]))


def unnamed(value):
    """Arguments without a line in a docstring."""
    text = docstrings(value)
    names = [name.lstrip("*") for name in inspect.signature(value).parameters]
    return [name for name in names if not re.search(rf"^\s+\*{{0,2}}{re.escape(name)}:", text, re.MULTILINE)]


def is_record(value):
    """Results with named fields, which carry comments where they are defined."""
    return inspect.isclass(value) and (hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__"))


@pytest.mark.parametrize(("name", "value"), [pytest.param(*pair, id=pair[0]) for pair in public()])
def test_arguments_and_results_are_described(name, value):
    assert inspect.getdoc(value), f"{name} has no docstring"
    if not is_record(value) and not (inspect.isclass(value) and issubclass(value, Warning)):
        assert not unnamed(value), f"the docstring of {name} does not name {unnamed(value)}"
    if inspect.isfunction(value) and inspect.signature(value).return_annotation not in (None, "None"):
        assert re.search(r"^(Returns|Yields):", inspect.getdoc(value), re.MULTILINE), (
            f"{name} does not say what it returns"
        )


@pytest.mark.parametrize(("name", "value"), [pytest.param(*pair, id=pair[0]) for pair in public()])
def test_public_methods_have_docstrings(name, value):
    if inspect.isclass(value):
        own = {key: part for key, part in vars(value).items() if not key.startswith("_") and inspect.isfunction(part)}
        bare = [key for key, part in own.items() if not inspect.getdoc(getattr(value, key))]
        assert not bare, f"methods of {name} without a docstring: {bare}"
