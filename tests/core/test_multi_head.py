"""Multi-head attention against torch's own, on the same weights: outputs, weights and gradients."""

from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.masks import combine, padding
from attnviz.core.multi_head import multi_head
from tests.core.multi_head_drawn import assert_close, assert_gradients_agree, by_torch, draw, draw_arguments

QUICK = settings(max_examples=30, deadline=None)
SIZES = st.integers(1, 5)
SEEDS = st.integers(0, 2**31)


@QUICK
@given(
    n_kv_heads=SIZES,
    group=SIZES,
    sizes=st.tuples(SIZES, SIZES, SIZES),
    n_key=st.none() | SIZES,
    bias=st.booleans(),
    mask_kind=st.sampled_from(["none", "bool", "float"]),
    scale=st.sampled_from([None, 0.4]),
    seed=SEEDS,
)
def test_output_weights_and_gradients_are_those_of_scaled_dot_product_attention(
    n_kv_heads: int,
    group: int,
    sizes: tuple[int, int, int],
    n_key: int | None,
    bias: bool,
    mask_kind: str,
    scale: float | None,
    seed: int,
) -> None:
    n_heads, (n_query, d_k, d_v) = n_kv_heads * group, sizes
    arguments = draw_arguments(n_heads, n_kv_heads, d_k, d_v, n_query, n_key, bias, seed)
    noise = draw({"mask": (3, n_heads, n_query, n_key or n_query)}, seed)["mask"].detach()
    mask = {"none": None, "bool": noise > -1, "float": noise}[mask_kind]

    heads = multi_head(**arguments, n_heads=n_heads, n_kv_heads=n_kv_heads, mask=mask, scale=scale)
    output, weights = by_torch(arguments, n_heads, n_kv_heads, attn_mask=mask, scale=scale)
    assert_close(heads.output, output)
    assert_close(heads.trace.weights, weights)
    assert_gradients_agree(heads.output, output, list(arguments.values()))


@QUICK
@given(
    n_heads=SIZES,
    d_k=SIZES,
    n_query=SIZES,
    context_of=st.none() | st.tuples(SIZES, SIZES),
    bias=st.booleans(),
    mask_kind=st.sampled_from(["none", "bool", "float"]),
    padded=st.booleans(),
    seed=SEEDS,
)
def test_output_weights_and_gradients_are_those_of_multihead_attention(
    n_heads: int,
    d_k: int,
    n_query: int,
    context_of: tuple[int, int] | None,
    bias: bool,
    mask_kind: str,
    padded: bool,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    d_model = n_heads * d_k
    n_key, d_context = context_of or (n_query, d_model)
    layer = torch.nn.MultiheadAttention(
        d_model, n_heads, bias=bias, kdim=d_context, vdim=d_context, batch_first=True, dtype=torch.float64
    )
    if bias:
        torch.nn.init.normal_(layer.in_proj_bias)  # torch begins with zeros
        torch.nn.init.normal_(layer.out_proj.bias)
    x = torch.randn(3, n_query, d_model, dtype=torch.float64, requires_grad=True)
    context = None if context_of is None else torch.randn(3, n_key, d_context, dtype=torch.float64, requires_grad=True)

    lengths = torch.randint(1, n_key + 1, (3,)) if padded else torch.full((3,), n_key)
    noise = torch.randn(n_query, n_key, dtype=torch.float64)
    seen = torch.rand(n_query, n_key) < 0.6
    seen[:, 0] = True  # of a row that sees no key, torch says NaN
    past = torch.arange(n_key) >= lengths[:, None]  # (b, u)
    if mask_kind == "float":  # torch wants both masks alike
        past = torch.zeros(3, n_key, dtype=torch.float64).masked_fill(past, -torch.inf)
    output, weights = layer(
        x,
        x if context is None else context,
        x if context is None else context,
        key_padding_mask=past if padded else None,
        attn_mask={"none": None, "bool": ~seen, "float": noise}[mask_kind],  # in this layer True hides
        average_attn_weights=False,
    )

    ours = {"none": None, "bool": seen, "float": noise}[mask_kind]
    mask = combine(ours, padding(lengths, n_key)[:, None]) if padded else ours  # (b, 1, s, u) or (s, u)
    heads = multi_head(x, context, **weights_of(layer), n_heads=n_heads, mask=mask)
    assert_close(heads.trace.weights, weights)
    assert_close(heads.output, output)
    leaves = [x, *layer.parameters()] + ([] if context is None else [context])
    assert_gradients_agree(heads.output, output, leaves)


def weights_of(layer: torch.nn.MultiheadAttention) -> dict[str, Any]:
    """Arguments for multi_head: views of the layer's own parameters, so that gradients meet in them."""
    if layer._qkv_same_embed_dim:
        wide = layer.in_proj_weight.chunk(3)
    else:
        wide = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
    named = {f"w_{name}": weight.T for name, weight in zip("qkv", wide, strict=True)}
    named["w_o"] = layer.out_proj.weight.T
    if layer.in_proj_bias is not None:
        named |= {f"b_{name}": bias for name, bias in zip("qkv", layer.in_proj_bias.chunk(3), strict=True)}
        named["b_o"] = layer.out_proj.bias
    return named
