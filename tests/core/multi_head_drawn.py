"""What the tests of multi_head share: arguments drawn, the same attention by torch, gradients compared."""

from typing import Any

import torch
import torch.nn.functional as F


def draw(shapes: dict[str, tuple[int, ...]], seed: int = 0, dtype: torch.dtype = torch.float64) -> dict[str, Any]:
    """A leaf for each name, whose gradient can be asked for."""
    generator = torch.Generator().manual_seed(seed)
    drawn = {name: torch.randn(shape, dtype=torch.float64, generator=generator) for name, shape in shapes.items()}
    return {name: x.to(dtype).requires_grad_() for name, x in drawn.items()}


def draw_arguments(
    n_heads: int = 2,
    n_kv_heads: int = 2,
    d_k: int = 3,
    d_v: int = 2,
    n_query: int = 4,
    n_key: int | None = None,
    bias: bool = True,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> dict[str, Any]:
    """x of 5 features and, where n_key is given, a context of 6; the weights that suit them; an output of 7."""
    widths = {"q": n_heads * d_k, "k": n_kv_heads * d_k, "v": n_kv_heads * d_v, "o": 7}
    n_read = 5 if n_key is None else 6
    rows = {"q": 5, "k": n_read, "v": n_read, "o": n_heads * d_v}
    shapes: dict[str, tuple[int, ...]] = {"x": (3, n_query, 5)}
    if n_key is not None:
        shapes["context"] = (3, n_key, 6)
    shapes |= {f"w_{name}": (rows[name], width) for name, width in widths.items()}
    if bias:
        shapes |= {f"b_{name}": (width,) for name, width in widths.items()}
    return draw(shapes, seed, dtype)


def by_torch(arguments: dict[str, Any], n_heads: int, n_kv_heads: int, **options: Any) -> tuple[Any, Any]:
    """Output and weights, by F.linear, view and F.scaled_dot_product_attention alone."""
    x = arguments["x"]
    read = arguments.get("context", x)

    def heads(source: torch.Tensor, name: str, n: int) -> torch.Tensor:
        projected = F.linear(source, arguments[f"w_{name}"].T, arguments.get(f"b_{name}"))
        return projected.view(*source.shape[:-1], n, projected.shape[-1] // n).transpose(1, 2)

    query, key, value = heads(x, "q", n_heads), heads(read, "k", n_kv_heads), heads(read, "v", n_kv_heads)
    # Torch's function gives no weights: with the identity as values its output is the weights.
    one_hot = torch.eye(read.shape[1], dtype=x.dtype).expand(len(x), n_kv_heads, -1, -1)
    output, weights = (
        F.scaled_dot_product_attention(query, key, v, enable_gqa=True, **options) for v in (value, one_hot)
    )
    merged = output.transpose(1, 2).reshape(*x.shape[:2], -1)
    return F.linear(merged, arguments["w_o"].T, arguments.get("b_o")), weights


def assert_close(actual: torch.Tensor, expected: torch.Tensor, largest: float = 0.0) -> None:
    """To 1e-12 of the largest number: where terms cancel, what is left is no better than they are."""
    largest = max([1.0, largest, *expected.detach().abs().flatten().tolist()])
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12 * largest)


def assert_gradients_agree(ours: torch.Tensor, expected: torch.Tensor, leaves: list[torch.Tensor]) -> None:
    """Of a sum in which each output counts differently, so that no error cancels."""
    share = torch.randn(expected.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    gradients = [torch.autograd.grad((output * share).sum(), leaves, retain_graph=True) for output in (ours, expected)]
    largest = max(float(gradient.abs().max()) for gradient in gradients[1])
    assert largest > 0
    for actual, wanted in zip(*gradients, strict=True):
        assert_close(actual, wanted, largest)


def without_x(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: x for name, x in arguments.items() if name not in ("x", "context")}
