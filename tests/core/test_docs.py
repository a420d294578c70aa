"""The examples in the core's docstrings, run; and every public function has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import attnviz.core

MODULES = [f"attnviz.core.{module.name}" for module in pkgutil.iter_modules(attnviz.core.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_has_an_example(name: str) -> None:
    module = importlib.import_module(name)
    public = [
        function
        for function_name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == name and not function_name.startswith("_")
    ]
    assert public
    assert [function.__name__ for function in public if ">>>" not in (function.__doc__ or "")] == []
