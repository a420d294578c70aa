"""Attention layers that went wrong, and one that did not, for a reader without a file: computed by plain torch.

Letters: l layer, b batch, h head, s query token, u key token, k feature of a query or key, d feature of a value.
"""

from __future__ import annotations

import io
import math
import zipfile

import torch
from safetensors.torch import save
from torch import Tensor

from attnviz.models.files import Named, Tensors
from attnviz.models.files_roles import guess

EXAMPLES = ("right", "scale", "axis", "swapped", "late", "sigmoid", "maps")
TOKENS = ("the", "cat", "sat", "on", "the", "mat")
_B, _H, _K = 2, 2, 8


def example(code: str) -> Tensors:
    """Compute what the layer of an example took and gave: q, k, v, mask, weights and output, or weights alone.

    Raises ValueError for a code that is not in EXAMPLES.

    >>> [each.role for each in example("scale").arrays]
    ['query', 'key', 'value', 'mask', 'weights', 'output']
    >>> example("maps").arrays[0].tensor.shape
    torch.Size([3, 1, 4, 6, 6])
    """
    if code not in EXAMPLES:
        raise ValueError(f"code: expected one of {', '.join(EXAMPLES)}, got {code!r}")
    generator, n = torch.Generator().manual_seed(7), len(TOKENS)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator).float()

    mask = torch.ones(n, n, dtype=torch.bool).tril()
    if code == "maps":
        scores = draw(3, 1, 4, n, n) * 1.5
        return _named(weights=torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1))
    q, k, v = draw(_B, _H, n, _K), draw(_B, _H, n, _K), draw(_B, _H, n, _K)
    weights = _weights(code, q, v if code == "swapped" else k, mask)
    output = weights @ (k if code == "swapped" else v)
    return _named(q=q, k=k, v=v, mask=mask, weights=weights, output=output)


def _weights(code: str, q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """Weights (b, h, s, u), each as somebody's layer computes them."""
    scores = torch.einsum("bhsk,bhuk->bhsu", q, k)
    if code != "scale":
        scores = scores / math.sqrt(q.shape[-1])
    if code == "late":
        mask = torch.ones_like(mask).tril(1)
    if code == "sigmoid":  # a layer of another kind, which no mistake on the list explains
        return torch.sigmoid(scores) * mask
    scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-2 if code == "axis" else -1)


def _named(**arrays: Tensor) -> Tensors:
    return Tensors(tuple(Named(name, x, guess(name, x)) for name, x in arrays.items()), TOKENS, ())


def to_npz(tensors: Tensors) -> bytes:
    """Pack arrays and tokens as a .npz file, as np.savez writes it.

    >>> from attnviz.models.files import read_file
    >>> read_file("a.npz", to_npz(example("right"))).tokens
    ('the', 'cat', 'sat', 'on', 'the', 'mat')
    """
    import numpy as np

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        arrays = {each.name: each.tensor.numpy() for each in tensors.arrays}
        for name, array in (arrays | {"tokens": np.array(tensors.tokens)}).items():
            packed = io.BytesIO()
            np.save(packed, array)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), packed.getvalue())  # the same bytes whenever it is made
    return file.getvalue()


def to_safetensors(tensors: Tensors) -> bytes:
    """Pack arrays as a .safetensors file, which holds no words.

    >>> from attnviz.models.files import read_file
    >>> len(read_file("a.safetensors", to_safetensors(example("right"))).arrays)
    6
    """
    return save({each.name: each.tensor.contiguous() for each in tensors.arrays})
