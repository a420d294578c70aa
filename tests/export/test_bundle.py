"""Functions for a program: all that they need is there, and nothing of attnviz is imported."""

import ast
import builtins
import contextlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

import attnviz.core
import attnviz.labs
from attnviz.core.attention import attention, project
from attnviz.core.einsum_terms import unrolled
from attnviz.core.multi_head import multi_head
from attnviz.export.bundle import Bundle, _needs, bundle, is_ours
from attnviz.labs.decoding import Layer, decode


def modules() -> list[ModuleType]:
    found = []
    for package in (attnviz.core, attnviz.labs):
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda one: one.name):
            found.append(importlib.import_module(f"{package.__name__}.{module.name}"))
    return found


def public(module: ModuleType) -> list[Callable[..., Any]]:
    functions = inspect.getmembers(module, inspect.isfunction)
    return [one for name, one in functions if not name.startswith("_") and one.__module__ == module.__name__]


def text(made: Bundle) -> str:
    return "\n\n".join(["from __future__ import annotations", *made.imports, *made.definitions])


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_every_public_function_stands_alone(module: ModuleType) -> None:
    for function in public(module):
        with contextlib.suppress(ValueError):  # of two of one name: no lab's function, see test_lab_home
            stands_alone(function, text(bundle([function])))


def stands_alone(function: Callable[..., Any], made: str) -> None:
    assert "attnviz" not in "".join(line for line in made.splitlines() if "import" in line)
    names: dict[str, Any] = {}
    exec(compile(made, "program", "exec"), names)  # noqa: S102  # our own sources
    assert not set(_needs(made)) - names.keys() - set(dir(builtins)), function
    assert callable(names[function.__name__])


def test_it_computes_what_the_app_computes() -> None:
    names: dict[str, Any] = {}
    exec(compile(text(bundle([attention, multi_head, decode, Layer])), "program", "exec"), names)  # noqa: S102
    made = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(3, n, 4, generator=made) for n in (2, 5, 5))
    mask = torch.rand(2, 5, generator=made) > 0.5
    for mine, its in zip(
        names["attention"](query, key, value, mask=mask), attention(query, key, value, mask=mask), strict=True
    ):
        assert torch.equal(mine, its)
    layer = Layer(torch.ones(4, 4), torch.eye(4), torch.eye(4), 2, 2, 0.5)
    mine = names["decode"](names["Layer"](*layer), torch.arange(12.0).reshape(3, 4))
    assert torch.equal(mine.output, decode(layer, torch.arange(12.0).reshape(3, 4)).output)


def test_examples_and_checks_are_left_out_and_words_are_kept() -> None:
    made = text(bundle([attention]))
    assert ">>>" not in made and "_check(" not in made and "check_shape" not in made
    assert "Scaled dot-product attention, all its steps" in made and "# (..., s, u)" in made
    assert ast.parse(made)


def test_a_count_that_gives_back_what_it_was_given_is_left_out() -> None:
    from attnviz.core.heads import split_heads
    from attnviz.core.masks import window

    made = text(bundle([split_heads, window]))
    assert "check_count" not in made and "n_heads, n_features // n_heads" in made
    names: dict[str, Any] = {}
    exec(compile(made, "program", "exec"), names)  # noqa: S102  # our own sources
    assert torch.equal(names["window"](3, 4, left=1, right=0), window(3, 4, left=1, right=0))


def test_each_stands_once_behind_what_it_needs() -> None:
    made = bundle([project, attention, project])
    names = [one.partition("(")[0].split()[-1] for one in made.definitions]
    assert len(names) == len(set(names)) and names.index("AttentionTrace") < names.index("attention")


def test_two_of_one_name_are_refused() -> None:
    from attnviz.labs.decoding_costs import cost
    from attnviz.labs.sizes import costs

    with pytest.raises(ValueError, match=r"Cost: .* have both one of this name"):
        bundle([cost, costs])


def test_ours_and_others() -> None:
    assert is_ours(attention) and not is_ours(torch.einsum) and not is_ours(len)


def test_what_functions_say_of_their_values_is_imported_as_well() -> None:
    made = bundle([attention])
    assert {"from torch import Tensor", "from collections.abc import Sequence"} <= set(made.imports)


def test_marks_for_tools_are_left_out_and_words_beside_them_are_kept() -> None:
    made = text(bundle([unrolled]))
    assert "type: ignore" not in made and "# hides tuple.index: where the element stands" in made
