"""The page of another tool for given weights: python peer.py TOOL WEIGHTS PAGE; prints the seconds its call took.

WEIGHTS is a file of torch.save, (l, h, s, u). It runs in the interpreter in which the tool is installed, so it needs
torch and that tool alone. Memory ends at the environment's ATTNVIZ_PEER_BYTES, with an error instead of a dead machine.
"""

import os
import resource
import sys
import time
from importlib import import_module
from pathlib import Path

import torch
from torch import Tensor

PAGE = '<!doctype html><html><head><meta charset="utf-8"><title>peer</title></head><body>{}</body></html>'


def bertviz_head(weights: Tensor, tokens: list[str]) -> str:
    bertviz = import_module("bertviz")
    return str(bertviz.head_view([layer[None] for layer in weights], tokens, html_action="return").data)


def bertviz_model(weights: Tensor, tokens: list[str]) -> str:
    bertviz = import_module("bertviz")
    return str(bertviz.model_view([layer[None] for layer in weights], tokens, html_action="return").data)


def circuitsvis(weights: Tensor, tokens: list[str]) -> str:
    attention = import_module("circuitsvis.attention")
    if weights[..., 0, 0].numel() == 1:
        return str(attention.attention_pattern(tokens=tokens, attention=weights[0, 0], mask_upper_tri=False).local_src)
    names = [f"L{layer}H{head}" for layer in range(weights.shape[0]) for head in range(weights.shape[1])]
    maps = weights.flatten(0, 1)
    drawn = attention.attention_heads(tokens=tokens, attention=maps, mask_upper_tri=False, attention_head_names=names)
    return str(drawn.local_src)


def inspectus(weights: Tensor, tokens: list[str]) -> str:
    parts: list[str] = []  # it displays and returns nothing: what it displays is kept
    import_module("IPython.display").__dict__["display"] = lambda *shown, **_: parts.extend(one.data for one in shown)
    import_module("inspectus").attention(
        weights[0, 0].numpy() if weights[..., 0, 0].numel() == 1 else weights.numpy(), tokens
    )
    return "".join(parts)


TOOLS = {"bertviz_head": bertviz_head, "bertviz_model": bertviz_model, "circuitsvis": circuitsvis}
TOOLS |= {"inspectus": inspectus}


def main() -> None:
    tool, weights_file, page = sys.argv[1:4]
    most = int(os.environ.get("ATTNVIZ_PEER_BYTES", "0"))
    if most:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    make = TOOLS[tool]
    make(torch.eye(2)[None, None], ["a", "b"])  # its imports are not its time
    weights = torch.load(weights_file, weights_only=True)
    tokens = [f"tok{i}" for i in range(weights.shape[-1])]
    start = time.perf_counter()
    made = make(weights, tokens)
    seconds = time.perf_counter() - start
    Path(page).write_text(PAGE.replace("{}", made), encoding="utf-8")
    print(seconds)


if __name__ == "__main__":
    main()
