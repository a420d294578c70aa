"""One cell as a short torch program that computes it again, alone."""

from __future__ import annotations

import math
from collections.abc import Iterable

from attnviz.core.arithmetic import Arithmetic
from attnviz.export.literals import float_literal
from attnviz.figures.text import decimals, number

_NAMES = {
    "x": "X",
    "weight": "W",
    "query": "Q",
    "key": "K",
    "scores": "S",
    "scale": "scale",
    "scaled": "scaled",
    "mask": "mask",
    "masked": "masked",
    "weights": "a",
    "value": "V",
    "projected": "projected",
    "rotation": "rotation",
}


def agreed_digits(explained: Arithmetic) -> int:
    """Return with how many decimals the cell and its total, summed again in float64, read alike: 4 if they can.

    Of a small weight as many as show two digits. A float32 sum and a float64 one may fall on two sides of a rounding
    border; then another length agrees.
    """
    first = decimals(explained.cell) if explained.step == "weights" else 4
    lengths = (first, first - 1, first + 1, 4, 3, 5, 2, 6, 1, 0, *range(-1, -40, -1))
    return next((d for d in lengths if _alike(explained, d)), 0)


def _alike(explained: Arithmetic, digits: int) -> bool:
    printed = number(explained.cell, digits)
    program = f"{_python(explained.total, digits)}".replace("-", "−").replace("inf", "∞").replace("nan", "NaN")
    return printed == number(explained.total, digits) == program


def _python(value: float, digits: int) -> str:
    return f"{value:z.{digits}f}" if digits >= 0 else f"{round(value, digits) if math.isfinite(value) else value:.0f}"


def cell_program(explained: Arithmetic, comment: str) -> str:
    """Return a program that prints the cell to the digits on screen; `comment` says which cell it is.

    >>> from attnviz.core.arithmetic import explain
    >>> from attnviz.core.attention import attention
    >>> import torch
    >>> q = torch.tensor([[1.0, 2.0]])
    >>> print(cell_program(explain(attention(q, q, q), "scores", (0, 0)), "the only score"))
    import torch
    <BLANKLINE>
    # the only score
    Q = torch.tensor([1.0, 2.0], dtype=torch.float64)
    K = torch.tensor([1.0, 2.0], dtype=torch.float64)
    S = torch.einsum("k,k->", Q, K)
    print(f"{S:z.4f}")  # 5.0000
    """
    # In float64 what float32 could not hold would not overflow.
    dtype = "float64" if math.isfinite(explained.cell) or not math.isfinite(explained.total) else "float32"
    lines = ["import torch", "", *(f"# {line}" for line in comment.splitlines())]
    for name, values in explained.factors.items():
        if name != "exponential":  # which softmax makes itself
            lines.append(f"{_NAMES[name]} = torch.tensor({_literal(values.tolist())}, dtype=torch.{dtype})")
    name, expression = _last_line(explained)
    lines.append(f"{name} = {expression}")
    digits = agreed_digits(explained)
    printed = number(explained.cell, digits).replace("−∞", "-inf").replace("−", "-")
    if digits >= 0:
        lines.append(f'print(f"{{{name}:z.{digits}f}}")  # {printed}')  # z: a rounded zero has no sign
    else:
        lines.append(f'print(f"{{round({name}.item(), {digits}):.0f}}")  # {printed}')
    return "\n".join(lines)


def _last_line(explained: Arithmetic) -> tuple[str, str]:
    step = explained.step
    if "rotation" in explained.factors:
        return {"query": "Q", "key": "K"}[step], "(projected * rotation).sum()"
    if step in ("query", "key", "value"):
        return {"query": "Q", "key": "K", "value": "V"}[step], 'torch.einsum("m,m->", X, W)'
    if step == "scores":
        return "S", 'torch.einsum("k,k->", Q, K)'
    if step == "scaled":
        return "scaled", "(S * scale).sum()"
    if step == "masked":
        return "masked", "(scaled + mask).sum()"
    if step == "weights":
        u = explained.index[-1]
        nowhere = not explained.products.isnan().any() and not explained.products.sum()
        return "a", "torch.softmax(masked, dim=-1)" + (".nan_to_num(0)" if nowhere else "") + f"[{u}]"
    return "O", 'torch.einsum("u,u->", a, V)'


def _literal(values: Iterable[float]) -> str:
    return "[" + ", ".join(float_literal(value) for value in values) + "]"
