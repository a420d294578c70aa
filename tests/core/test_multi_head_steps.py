"""What each tensor of a multi-head attention is, and what comes of shared heads, rotation, axes and masks."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.attention import attention
from attnviz.core.masks import causal, padding
from attnviz.core.multi_head import MultiHead, multi_head
from attnviz.core.rotary import Rotary
from tests.core.multi_head_drawn import assert_close, assert_gradients_agree, by_torch, draw, draw_arguments, without_x

QUICK = settings(max_examples=30, deadline=None)
SIZES = st.integers(1, 5)


@pytest.mark.parametrize("rotary", [None, Rotary()])
def test_the_tensors_are_those_of_each_step(rotary: Rotary | None) -> None:
    arguments = draw_arguments(n_heads=4, n_kv_heads=2, d_k=6, d_v=3, n_key=5)
    mask = torch.randn(4, 5, dtype=torch.float64)
    heads = multi_head(
        **arguments,
        n_heads=4,
        n_kv_heads=2,
        mask=mask,
        scale=0.3,
        softcap=2.0,
        softmax_dtype=torch.float32,
        rotary=rotary,
    )
    assert MultiHead._fields == ("trace", "projected_query", "projected_key", "merged", "output")
    for h in range(4):
        query = arguments["x"] @ arguments["w_q"][:, 6 * h : 6 * h + 6] + arguments["b_q"][6 * h : 6 * h + 6]
        assert_close(heads.projected_query[:, h], query)
        assert_close(heads.merged[..., 3 * h : 3 * h + 3], heads.trace.output[:, h])
    for h in range(2):  # key heads
        key = arguments["context"] @ arguments["w_k"][:, 6 * h : 6 * h + 6] + arguments["b_k"][6 * h : 6 * h + 6]
        value = arguments["context"] @ arguments["w_v"][:, 3 * h : 3 * h + 3] + arguments["b_v"][3 * h : 3 * h + 3]
        assert_close(heads.projected_key[:, h], key)
        assert_close(heads.trace.value[:, h], value)  # never rotated
    assert_close(heads.output, heads.merged @ arguments["w_o"] + arguments["b_o"])

    if rotary is None:
        assert heads.trace.query is heads.projected_query
        assert heads.trace.key is heads.projected_key
    expected = attention(*heads.trace[:3], mask=mask, scale=0.3, softcap=2.0, softmax_dtype=torch.float32)
    for actual, wanted in zip(heads.trace, expected, strict=True):
        assert torch.equal(actual, wanted)
    assert not torch.equal(heads.trace.weights, attention(*heads.trace[:3], mask=mask, scale=0.3, softcap=2.0).weights)


@QUICK
@given(n_query=SIZES, n_key=SIZES, n_pairs=st.integers(1, 3), offset=st.integers(0, 50), seed=st.integers(0, 2**31))
def test_rotary_turns_each_pair_of_a_query_and_a_key_by_its_place(
    n_query: int, n_key: int, n_pairs: int, offset: int, seed: int
) -> None:
    arguments = draw_arguments(n_heads=4, n_kv_heads=2, d_k=2 * n_pairs, n_query=n_query, n_key=n_key, seed=seed)

    def turned(x: torch.Tensor) -> torch.Tensor:
        """Features i and i + k/2 are a complex number, which e^(i angle) turns."""
        numbers = torch.complex(x[..., :n_pairs], x[..., n_pairs:])
        place = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] + offset
        angle = place * 100.0 ** (-torch.arange(n_pairs, dtype=torch.float64) / n_pairs)
        numbers = numbers * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([numbers.real, numbers.imag], dim=-1)

    rotary = Rotary(base=100.0, offset=offset)
    heads = multi_head(**arguments, n_heads=4, n_kv_heads=2, rotary=rotary)
    query, key = turned(heads.projected_query), turned(heads.projected_key)
    output = F.scaled_dot_product_attention(query, key, heads.trace.value, enable_gqa=True)
    output = output.transpose(1, 2).flatten(2) @ arguments["w_o"] + arguments["b_o"]
    assert_close(heads.trace.query, query)
    assert_close(heads.trace.key, key)
    assert_close(heads.output, output)
    assert_gradients_agree(heads.output, output, list(arguments.values()))
    # A score knows the distance alone: all moved on together, it is the same.
    assert_close(multi_head(**arguments, n_heads=4, n_kv_heads=2, rotary=Rotary(base=100.0)).output, output)


def test_one_key_head_is_the_same_key_head_for_every_query_head() -> None:
    arguments = draw_arguments(n_heads=3, n_kv_heads=1)
    shared = multi_head(**arguments, n_heads=3, n_kv_heads=1)
    assert shared.trace.key.shape == (3, 1, 4, 3)
    repeated = {
        name: arguments[name].repeat(*[1] * (arguments[name].ndim - 1), 3) for name in ("w_k", "b_k", "w_v", "b_v")
    }
    own = multi_head(**(arguments | repeated), n_heads=3)
    assert_close(shared.trace.weights, own.trace.weights)
    assert_close(shared.output, own.output)
    assert_gradients_agree(shared.output, own.output, list(arguments.values()))


def test_without_a_context_the_keys_and_values_are_read_from_x() -> None:
    arguments = draw_arguments()
    alone, given_x = (
        multi_head(arguments["x"], *context, **without_x(arguments), n_heads=2) for context in ((), (arguments["x"],))
    )
    assert torch.equal(alone.output, given_x.output)


@pytest.mark.parametrize(
    ("asked", "read", "together"),
    [((), (), ()), ((), (2,), (2,)), ((2,), (), (2,)), ((2, 1), (3,), (2, 3)), ((2, 3), (2, 3), (2, 3))],
)
def test_leading_axes_broadcast(asked: tuple[int, ...], read: tuple[int, ...], together: tuple[int, ...]) -> None:
    tensors = draw({"x": (*asked, 4, 5), "context": (*read, 3, 6)})
    arguments = without_x(draw_arguments(n_heads=4, n_kv_heads=2, n_key=3))
    heads = multi_head(tensors["x"], tensors["context"], **arguments, n_heads=4, n_kv_heads=2)
    assert heads.output.shape == (*together, 4, 7)
    assert heads.trace.weights.shape == (*together, 4, 4, 3)
    wide = {"x": tensors["x"].expand(*together, 4, 5).reshape(-1, 4, 5)}
    wide["context"] = tensors["context"].expand(*together, 3, 6).reshape(-1, 3, 6)
    expected, _ = by_torch(arguments | wide, 4, 2)
    assert_close(heads.output.reshape(-1, 4, 7), expected)


def test_without_an_output_projection_the_output_is_the_merged_heads() -> None:
    arguments = draw_arguments()
    del arguments["w_o"], arguments["b_o"]
    heads = multi_head(**arguments, n_heads=2)
    assert heads.output is heads.merged


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_dtype_is_kept(dtype: torch.dtype) -> None:
    arguments = draw_arguments(n_heads=4, n_kv_heads=2, d_k=2, n_key=3, dtype=dtype)
    heads = multi_head(**arguments, n_heads=4, n_kv_heads=2, rotary=Rotary(), softmax_dtype=torch.float32)
    assert {x.dtype for x in (*heads.trace, *heads[1:])} == {dtype}


def test_a_token_does_not_depend_on_what_a_causal_mask_hides() -> None:
    arguments = draw_arguments(n_heads=4, n_kv_heads=2, d_k=2)
    heads = multi_head(**arguments, n_heads=4, n_kv_heads=2, mask=causal(4, 4), rotary=Rotary())
    (gradient,) = torch.autograd.grad(heads.output[:, 1].sum(), arguments["x"])
    assert gradient[:, 2:].abs().max() == 0
    assert gradient[:, :2].abs().min() > 0


def test_a_row_that_may_attend_nowhere_gives_the_bias_and_finite_gradients() -> None:
    arguments = draw_arguments()
    heads = multi_head(**arguments, n_heads=2, mask=padding([4, 0, 2], 4)[:, None])
    assert torch.equal(heads.output[1], arguments["b_o"].expand(4, 7))
    for gradient in torch.autograd.grad(heads.output.square().sum(), list(arguments.values())):
        assert gradient.isfinite().all()
