"""A call as a line of a program, and each of its arguments: by a name that it has there, or written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnviz.export.bundle import is_ours
from attnviz.export.literals import any_literal, float_literal
from attnviz.export.named import expression, groups, tensors
from attnviz.labs.equation_loops import Loop

WIDTH = 110  # of a line of code, after which a call has a line for each argument


class Call(NamedTuple):
    """A function that ran: what it was given, and what came of it."""

    name: str  # of its result, in a program
    function: Callable[..., Any]
    args: tuple[Any, ...]
    named: dict[str, Any]
    result: Any


def root(found: str) -> str:
    """Return the name at the beginning of an expression.

    >>> root("V[:, ::2][0]"), root("made.weights")
    ('V', 'made')
    """
    return next((found[:i] for i, c in enumerate(found) if not (c.isalnum() or c == "_")), found)


class Written(NamedTuple):
    """What has been written of a program."""

    own: Mapping[str, Tensor]  # of the experiment's own attention, by expressions
    made: dict[str, Tensor]  # by the calls so far
    groups: dict[str, Any]  # of what they made, tuples and lists
    numbers: dict[str, Tensor]  # that stand in the program
    given: list[str]  # the lines that make them
    used: dict[str, None]  # names that something was made of
    types: dict[str, type]  # whose values are given, by name
    taken: set[str]  # names that nothing else can have

    def uses(self, names: Mapping[str, Tensor]) -> bool:
        """Say whether one of some names was used."""
        return any(root(name) in self.used for name in names)

    def call(self, call: Call) -> Iterator[str]:
        """Yield the lines of a call."""
        bound = _bound(call)
        args = [self.value(value, name) for name, value in bound.positional]
        args += [f"{name}={self.value(value, name)}" for name, value in bound.named]
        self.made.update(tensors(call.name, call.result))
        self.groups.update(groups(call.name, call.result))
        line = f"{call.name} = {_called(call.function)}({', '.join(args)})"
        if len(line) <= WIDTH or not args:
            yield line
        else:
            yield f"{call.name} = {_called(call.function)}("
            yield from (f"    {arg}," for arg in args)
            yield ")"

    def value(self, value: Any, name: str) -> str:
        """Return the expression of an argument, which is called `name` where it must be written down."""
        if isinstance(value, Tensor):
            return self._tensor(value, name)
        if value is None or isinstance(value, bool | int | str):
            return repr(value)
        if isinstance(value, float):
            return float_literal(value)
        for made, group in self.groups.items():
            if group is value:
                self.used[root(made)] = None
                return made
        if (replaced := self._replaced(value)) is not None:
            return replaced
        if hasattr(value, "_fields"):
            self.types[type(value).__name__] = type(value)
            default = type(value)._field_defaults
            fields = {field: getattr(value, field) for field in value._fields}
            differ = {f: one for f, one in fields.items() if f not in default or not _alike(one, default[f])}
            inner = ", ".join(f"{field}={self.value(one, field)}" for field, one in differ.items())
            return f"{type(value).__name__}({inner})"
        if isinstance(value, tuple | list | range):
            inner = ", ".join(self.value(one, f"{name}_{i}") for i, one in enumerate(value, 1))
            return f"[{inner}]" if not isinstance(value, tuple) else f"({inner}{',' if len(value) == 1 else ''})"
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{key!r}: {self.value(one, f'{name}_{key}')}" for key, one in value.items()) + "}"
        raise TypeError(f"{name}: a program cannot hold a {type(value).__name__}")

    def _replaced(self, value: Any) -> str | None:
        """A named tuple as one made before of which a few fields are replaced."""
        for made, group in self.groups.items():
            if hasattr(value, "_fields") and type(group) is type(value):
                pairs = zip(value._fields, group, value, strict=True)
                differ = {field: new for field, old, new in pairs if not _alike(old, new)}
                if 2 * len(differ) < len(value):
                    self.used[root(made)] = None
                    inner = ", ".join(f"{field}={self.value(one, field)}" for field, one in differ.items())
                    return f"{made}._replace({inner})" if differ else made
        return None

    def _tensor(self, tensor: Tensor, name: str) -> str:
        tensor = tensor.detach()
        called = {name: self.own[name]} if name in self.own else {}  # where nothing is masked, scaled is masked
        found = expression(tensor, {**called, **self.own, **self.made, **self.numbers})
        if found is not None:
            self.used[root(found)] = None
            return found
        free, number = name, 1
        while free in self.numbers or free in self.taken or free in map(root, self.own):
            number += 1
            free = f"{name}_{number}"
        self.numbers[free] = tensor
        self.given.append(f"{free} = {any_literal(tensor)}")
        return free


class _Bound(NamedTuple):
    positional: list[tuple[str, Any]]
    named: list[tuple[str, Any]]


def _bound(call: Call) -> _Bound:
    """The arguments of a call with the names that its function has for them."""
    function = call.function
    try:
        names = [*(function.parameters if isinstance(function, Loop) else signature(function).parameters)]
    except ValueError:  # one of torch's, which says nothing of them
        names = []
    names += [f"given_{i}" for i in range(len(names) + 1, len(call.args) + 1)]
    return _Bound(list(zip(names, call.args, strict=False)), list(call.named.items()))


def _called(function: Callable[..., Any]) -> str:
    if isinstance(function, Loop):
        return "loop"
    if is_ours(function):
        return function.__name__
    assert getattr(torch, function.__name__, None) is function, function
    return f"torch.{function.__name__}"


def _alike(left: Any, right: Any) -> bool:
    """Say whether two values are known to be the same; two tensors are where they are one."""
    if left is right or isinstance(left, Tensor) or isinstance(right, Tensor):
        return left is right
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(map(_alike, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_alike(one, right[key]) for key, one in left.items())
    return bool(left == right)
