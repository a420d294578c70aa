"""The text of a function as a program has it: what runs, and the words that say what it does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_MARKS = re.compile(r"  # (?:type: ignore|noqa)[^#\n]*?(?=  #|$)", re.M)  # for tools that check the code


def pruned(source: str, node: ast.stmt) -> str:
    """Return the text of a definition without its examples and its checks; source: of its module.

    >>> text = "def half(n):\\n    check_count('n', n)\\n    return n / 2"
    >>> print(pruned(text, ast.parse(text).body[0]))
    def half(n):
        return n / 2
    """
    lines = source.splitlines()
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    drop = {line for inner in ast.walk(node) for line in _dropped(inner)}
    kept = [lines[i - 1] for i in range(first, (node.end_lineno or first) + 1) if i not in drop]
    return _short_docstring(_MARKS.sub("", "\n".join(kept)), node)


def _dropped(node: ast.AST) -> Iterator[int]:
    """The lines of the checks in a function."""
    if isinstance(node, ast.FunctionDef):
        for statement in node.body:
            if _is_check(statement):
                yield from range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _is_check(node: ast.stmt) -> bool:
    """Say whether a statement does nothing but refuse what does not fit."""
    if isinstance(node, ast.If):
        return not node.orelse and all(isinstance(inner, ast.Raise) for inner in node.body)
    if isinstance(node, ast.Assign):
        return _gives_back(node.targets[0], node.value)
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return isinstance(called, ast.Name) and called.id.lstrip("_").startswith("check")


def _gives_back(target: ast.expr, value: ast.expr) -> bool:
    """Say whether an assignment gives a number, or several, the value that it has: n = check_count("n", n)."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return all(map(_gives_back, target.elts, value.elts))
    if not (isinstance(target, ast.Name) and isinstance(value, ast.Call) and isinstance(value.func, ast.Name)):
        return False
    return value.func.id == "check_count" and isinstance(value.args[1], ast.Name) and value.args[1].id == target.id


def _short_docstring(text: str, node: ast.stmt) -> str:
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return text
    whole = ast.get_docstring(node, clean=False)
    short = (whole or "").partition(">>>")[0].rstrip()
    return text.replace(f'"""{whole}"""', f'"""{short}"""' if "\n" not in short else f'"""{short}\n    """')
