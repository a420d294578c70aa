"""What the programs that are taken home share: their parts, how they begin, and how rotation is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attnviz.core.rotary import Rotary
from attnviz.export.literals import UNPACK


class Part(NamedTuple):
    """One step of the program, and what it is called."""

    words: str
    code: str


def start(tokens: Sequence[object], given: Sequence[Part], print_options: str, imports: Sequence[str] = ()) -> str:
    """Return the first lines: the imports that `given` needs, and others, how torch prints, and the tokens.

    >>> print(start(["the", "cat"], [], "precision=4"))
    import torch
    <BLANKLINE>
    torch.set_printoptions(precision=4)
    tokens = ['the', 'cat']
    """
    packed = any("unpacked(" in part.code for part in given)
    wanted = {"import torch", *imports} | ({"import base64"} if packed else set())
    future, others = (sorted(line for line in wanted if ("__future__" in line) is first) for first in (True, False))
    standard = sorted((line for line in others if not _is_torch(line)), key=lambda line: line.startswith("from"))
    groups = [future, standard, sorted(filter(_is_torch, others), key=lambda line: line.startswith("from"))]
    lines = "\n\n".join("\n".join(group) for group in groups if group).splitlines()
    lines += ["", f"torch.set_printoptions({print_options})"]
    lines += ["", "", UNPACK, ""] if packed else []
    return "\n".join([*lines, f"tokens = {list(tokens)!r}"])


def _is_torch(line: str) -> bool:
    return line.split()[1].partition(".")[0] == "torch"


def rotation(rotary: Rotary | None) -> list[str]:
    """Return the lines that rotate Q (..., s, k) and K (..., u, k) by their positions; none without a rotary."""
    if rotary is None:
        return []
    base, offset = rotary.base, rotary.offset
    places = "torch.arange(Q.shape[-2], dtype=torch.float64)[:, None]" + (f" + {offset}" if offset else "")
    pairs = "torch.arange(0, Q.shape[-1], 2, dtype=torch.float64)"
    lines = [
        f"angle = {places} / {base:g} ** ({pairs} / Q.shape[-1])",
        "cos, sin = angle.cos().float(), angle.sin().float()",
    ]
    for name in "QK":
        if rotary.layout == "half":
            lines.append(f"first, second = {name}.chunk(2, dim=-1)")
            lines.append(f"{name} = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)")
        else:
            lines.append(f"first, second = {name}[..., 0::2], {name}[..., 1::2]")
            turned = "torch.stack([first * cos - second * sin, second * cos + first * sin], dim=-1)"
            lines.append(f"{name} = {turned}.flatten(-2)")
    return lines
