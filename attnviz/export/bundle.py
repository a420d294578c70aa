"""Functions as a program has them: their own source, that of all in attnviz that they call, and what they import.

What is copied is the code that runs in the app, so that it cannot say something else. Left out are examples, and the
checks of what functions are given: a program gives them what they take.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import symtable
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from attnviz.export.pruned import pruned

_FUTURE = "from __future__ import annotations\n"


class Bundle(NamedTuple):
    """What a program needs of functions."""

    imports: tuple[str, ...]  # lines
    definitions: tuple[str, ...]  # each behind those that it needs


def bundle(wanted: Iterable[Callable[..., Any]]) -> Bundle:
    """Return the sources of functions and classes of attnviz, with all that they need of it.

    Raises ValueError where two different things would have one name.

    >>> from attnviz.labs.softmax import over_axis
    >>> made = bundle([over_axis])
    >>> made.imports
    ('from torch import Tensor', 'import torch')
    >>> print(made.definitions[0].partition(chr(10))[0])
    def over_axis(masked: Tensor, axis: str) -> Tensor:
    """
    made = _Made({}, {}, {})
    for one in wanted:
        made.add(one.__module__, one.__qualname__)
    texts = [text for _module, text in made.definitions.values()]
    if made.modules:
        made.imports["from types import SimpleNamespace"] = None
        for name, used in made.modules.items():
            texts.append(f"{name} = SimpleNamespace({', '.join(f'{one}={one}' for one in sorted(used))})")
    return Bundle(tuple(sorted(made.imports)), tuple(texts))


class _Made(NamedTuple):
    imports: dict[str, None]
    definitions: dict[str, tuple[str, str]]  # name -> its module and its text
    modules: dict[str, set[str]]  # a module of attnviz that is used as such -> what is used of it

    def add(self, module: str, name: str, text: str = "") -> None:
        """Add what a module calls by a name, behind what that needs; text: what uses it."""
        node = _named(module).get(name)
        if node is None:  # a builtin
            return
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._follow(node, name, text)
            return
        if name in self.definitions:
            if self.definitions[name][0] != module:
                raise ValueError(f"{name}: {self.definitions[name][0]} and {module} have both one of this name")
            return
        text = pruned(_source(module), node)
        self.definitions[name] = (module, text)  # before what it needs: two may need each other
        for needed in _needs(text):
            self.add(module, needed, text)
        for hint in sorted(_hints(text) & _named(module).keys()):  # which nothing asks for when it runs, but an editor
            imported = _named(module)[hint]
            if isinstance(imported, ast.ImportFrom) and not _is_of_ours(imported):
                self._follow(imported, hint, text)
        self.definitions[name] = self.definitions.pop(name)  # behind it

    def _follow(self, node: ast.Import | ast.ImportFrom, name: str, text: str) -> None:
        alias = next(one for one in node.names if (one.asname or one.name) == name)
        if isinstance(node, ast.Import):
            self.imports[f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")] = None
        elif not _is_of_ours(node):
            self.imports[f"from {node.module} import {alias.name}"] = None
        elif alias.name in _named(node.module or ""):
            self.add(node.module or "", alias.name)
        else:  # a module
            used = {one.attr for one in ast.walk(ast.parse(text)) if _is_of(one, name)}
            self.modules.setdefault(name, set()).update(used)
            for attribute in sorted(used):
                self.add(f"{node.module}.{alias.name}", attribute)


def _is_of_ours(node: ast.ImportFrom) -> bool:
    return (node.module or "").partition(".")[0] == "attnviz"


def _hints(text: str) -> set[str]:
    """The names in the annotations of a text."""
    annotated = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.arg | ast.AnnAssign | ast.FunctionDef)]
    hints = [one.returns if isinstance(one, ast.FunctionDef) else one.annotation for one in annotated]
    return {one.id for hint in hints if hint is not None for one in ast.walk(hint) if isinstance(one, ast.Name)}


def _is_of(node: ast.AST, name: str) -> TypeGuard[ast.Attribute]:
    """Say whether a node is an attribute of a name."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name


@cache
def _named(module: str) -> dict[str, ast.stmt]:
    """The statements of a module that give a name to something, by that name."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(_source(module)).body:
        for name in _names(node):
            found[name] = node
    return found


def _names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


@cache
def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def _needs(text: str) -> list[str]:
    """The names that a text takes from its module."""
    tables, found = [symtable.symtable(_FUTURE + text, "", "exec")], set()
    for table in tables:
        tables += table.get_children()
        found |= {one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced()}
    return sorted(found)


def is_ours(one: object) -> bool:
    """Say whether a function or class is attnviz's own, whose source a program has.

    >>> import torch
    >>> is_ours(is_ours), is_ours(torch.softmax)
    (True, False)
    """
    return (inspect.getmodule(one) or inspect).__name__.partition(".")[0] == "attnviz"
