"""Rotary positions against transformers' Llama and GPT-J, complex numbers, and what they are for: distances."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig
from transformers.models.gptj import modeling_gptj
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from attnviz.core.attention import project
from attnviz.core.heads import split_heads
from attnviz.core.positions import Rotary, half_from_interleaved, rotary_angles, rotate, turning_pair

LAYOUTS = (Rotary(), Rotary("interleaved"))
QUICK = settings(max_examples=60, deadline=None)


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def as_pairs(x: torch.Tensor, rotary: Rotary) -> torch.Tensor:
    """The features that turn together, side by side: (..., s, k) -> (..., s, k/2, 2)."""
    shape = (*x.shape[:-1], x.shape[-1] // 2)
    return x.reshape(*shape, 2) if rotary.layout == "interleaved" else x.reshape(*shape[:-1], 2, shape[-1]).mT


def by_complex_numbers(x: torch.Tensor, rotary: Rotary) -> torch.Tensor:
    """Each pair as a complex number, multiplied by e^(i angle): float64 (..., s, k/2, 2)."""
    n, d_k = x.shape[-2:]
    angles = [[(s + rotary.offset) * rotary.base ** (-2 * i / d_k) for i in range(d_k // 2)] for s in range(n)]
    turns = [[complex(math.cos(angle), math.sin(angle)) for angle in row] for row in angles]
    numbers = torch.complex(*as_pairs(x.double(), rotary).unbind(-1))  # (..., s, k/2)
    return torch.view_as_real(numbers * torch.tensor(turns, dtype=torch.complex128).reshape(n, d_k // 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("base", "d_k", "offset"), [(10000.0, 8, 0), (500000.0, 64, 3), (10000.0, 2, 0)])
def test_half_is_llama_s(base: float, d_k: int, offset: int, dtype: torch.dtype) -> None:
    config = LlamaConfig(head_dim=d_k, rope_parameters={"rope_type": "default", "rope_theta": base})
    query, key = draw(2, 3, 7, d_k, dtype=dtype), draw(2, 1, 7, d_k, seed=1, dtype=dtype)
    cos, sin = LlamaRotaryEmbedding(config)(query, torch.arange(offset, offset + 7)[None])
    tolerance = max(1e-6, torch.finfo(dtype).eps)
    for x, theirs in zip((query, key), apply_rotary_pos_emb(query, key, cos, sin), strict=True):
        ours = rotate(x, Rotary(base=base, offset=offset))
        assert ours.dtype == dtype
        assert torch.allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("d_k", [2, 8, 64])
def test_interleaved_is_gpt_j_s(d_k: int) -> None:
    x = draw(2, 9, 3, d_k, dtype=torch.float32)  # (b, s, h, k), as GPT-J has it
    sin, cos = modeling_gptj.create_sinusoidal_positions(9, d_k).chunk(2, dim=-1)
    theirs = modeling_gptj.apply_rotary_pos_emb(x, sin[None], cos[None])
    ours = rotate(x.transpose(1, 2), Rotary("interleaved")).transpose(1, 2)
    assert torch.allclose(ours, theirs, rtol=0, atol=2e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(7, 6), (1, 2), (2, 3, 5, 16), (0, 4), (2, 0, 3, 4)])
def test_both_are_products_of_complex_numbers(shape: tuple[int, ...], layout: Rotary) -> None:
    x, rotary = draw(*shape), layout._replace(base=123.0, offset=11)
    ours = as_pairs(rotate(x, rotary), rotary)
    assert torch.allclose(ours, by_complex_numbers(x, rotary), rtol=0, atol=1e-13)


def test_far_positions_are_as_exact_as_near_ones() -> None:
    x, rotary = draw(4, 8, dtype=torch.float32), Rotary(offset=1_000_000)
    ours = as_pairs(rotate(x, rotary), rotary)
    assert (ours - by_complex_numbers(x, rotary)).abs().max() < 1e-6  # with angles in float32 it would be 0.001


@pytest.mark.parametrize("d_k", [2, 4, 10, 128])
def test_the_permutation_brings_one_layout_to_the_other(d_k: int) -> None:
    x, p = draw(2, 5, d_k), half_from_interleaved(d_k)
    assert p.dtype == torch.int64
    assert torch.equal(rotate(x[..., p]), rotate(x, Rotary("interleaved"))[..., p])
    if d_k > 2:
        assert not torch.allclose(rotate(x), rotate(x, Rotary("interleaved")))


def test_permuted_weights_give_the_same_scores() -> None:
    n_heads, d_k = 3, 8
    x, w_q, w_k = draw(5, 12), draw(12, n_heads * d_k, seed=1), draw(12, n_heads * d_k, seed=2)
    p = torch.cat([half_from_interleaved(d_k) + h * d_k for h in range(n_heads)])
    asked, read = (split_heads(project(x, w), n_heads) for w in (w_q, w_k))
    scores = rotate(asked, Rotary("interleaved")) @ rotate(read, Rotary("interleaved")).mT
    asked, read = (split_heads(project(x, w[:, p]), n_heads) for w in (w_q, w_k))
    assert torch.allclose(rotate(asked) @ rotate(read).mT, scores, atol=1e-11)


@QUICK
@given(
    layout=st.sampled_from(LAYOUTS),
    base=st.floats(1.5, 1e6),
    n_pairs=st.integers(1, 32),
    offset=st.integers(-1000, 1000),
    shift=st.integers(-100_000, 100_000),
    seed=st.integers(0, 2**31),
)
def test_a_score_depends_on_the_distance_alone(
    layout: Rotary, base: float, n_pairs: int, offset: int, shift: int, seed: int
) -> None:
    query, key = draw(4, 2 * n_pairs, seed=seed), draw(6, 2 * n_pairs, seed=seed + 1)
    here, there = (layout._replace(base=base, offset=o) for o in (offset, offset + shift))
    scores = rotate(query, here) @ rotate(key, here).mT
    assert torch.allclose(rotate(query, there) @ rotate(key, there).mT, scores, rtol=0, atol=1e-8)
    turned = rotate(query, here)
    assert torch.allclose(turned.norm(dim=-1), query.norm(dim=-1), rtol=1e-12)
    assert torch.allclose(as_pairs(turned, here).norm(dim=-1), as_pairs(query, here).norm(dim=-1), rtol=1e-12)


@pytest.mark.parametrize("rotary", LAYOUTS)
def test_a_score_does_depend_on_the_distance(rotary: Rotary) -> None:
    query, key = draw(4, 8), draw(6, 8, seed=1)
    scores = rotate(query, rotary) @ rotate(key, rotary).mT
    moved = rotate(query, rotary._replace(offset=1)) @ rotate(key, rotary).mT
    assert (moved - scores).abs().max() > 0.1


@pytest.mark.parametrize("rotary", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_place_0_leaves_a_vector_alone(rotary: Rotary, dtype: torch.dtype) -> None:
    x = draw(2, 5, 8, dtype=dtype)
    assert torch.equal(rotate(x, rotary)[:, 0], x[:, 0])
    assert torch.equal(rotate(x, rotary._replace(offset=-3))[:, 3], x[:, 3])
    assert not torch.equal(rotate(x, rotary)[:, 1], x[:, 1])


@pytest.mark.parametrize("rotary", LAYOUTS)
def test_the_offset_is_what_came_before(rotary: Rotary) -> None:
    x = draw(2, 9, 6)
    assert torch.equal(rotate(x[:, 4:], rotary._replace(offset=4)), rotate(x, rotary)[:, 4:])


def test_angles_are_the_papers() -> None:
    angles = rotary_angles(5, 6, Rotary(base=50.0, offset=2))
    assert angles.dtype == torch.float64
    assert angles.shape == (5, 3)
    for s in range(5):
        assert angles[s].tolist() == pytest.approx([(s + 2) * 50 ** (-2 * i / 6) for i in range(3)], rel=1e-15)


@pytest.mark.parametrize("rotary", LAYOUTS)
def test_gradients_flow_and_the_device_is_kept(rotary: Rotary) -> None:
    x = draw(2, 3, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rotate(x, rotary), (x,))
    assert rotate(torch.empty(2, 3, 4, device="meta"), rotary).device.type == "meta"


@pytest.mark.parametrize(
    ("call", "raised", "message"),
    [
        (
            lambda: rotate(torch.ones(2, 5)),
            ValueError,
            "x: expected an even number of features k, which turn in pairs, got shape (2, 5)",
        ),
        (
            lambda: rotate(torch.ones(2, 0)),
            ValueError,
            "x: expected an even number of features k, which turn in pairs, got shape (2, 0)",
        ),
        (lambda: rotate(torch.ones(4)), ValueError, "x: expected shape (..., s, k), got (4,)"),
        (lambda: rotate([[1.0, 2.0]]), TypeError, "x: expected a torch.Tensor, got list"),
        (lambda: rotate(torch.ones(2, 4).long()), TypeError, "x: expected a floating dtype, got torch.int64"),
        (lambda: rotate(torch.ones(2, 4), "half"), TypeError, "rotary: expected a Rotary, got str"),
        (
            lambda: rotary_angles(2, 5),
            ValueError,
            "d_k: expected an even number of features, which turn in pairs, got 5",
        ),
        (
            lambda: half_from_interleaved(3),
            ValueError,
            "d_k: expected an even number of features, which turn in pairs, got 3",
        ),
        (lambda: half_from_interleaved(0), ValueError, "d_k: expected a whole number of at least 2, got 0"),
        (lambda: rotary_angles(-1, 4), ValueError, "n: expected a whole number of at least 0, got -1"),
        (
            lambda: rotary_angles(1, 4, Rotary("Half")),
            ValueError,
            "rotary.layout: expected 'half' or 'interleaved', got 'Half'",
        ),
        *(
            (
                lambda base=base: rotary_angles(1, 4, Rotary(base=base)),
                ValueError,
                f"rotary.base: expected a positive finite number, got {base}",
            )
            for base in (0.0, -2.0, math.inf, math.nan)
        ),
        (
            lambda: rotary_angles(1, 4, Rotary(base="10000")),
            TypeError,
            "rotary.base: expected a positive finite number, got '10000'",
        ),
        (
            lambda: rotary_angles(1, 4, Rotary(offset=0.5)),
            TypeError,
            "rotary.offset: expected a whole number, got 0.5",
        ),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], object], raised: type[Exception], message: str) -> None:
    with pytest.raises(raised) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("d_k", [2, 6, 10])
def test_the_features_that_turn_together_are_those_that_a_rotation_changes(layout: Any, d_k: int) -> None:
    for feature in range(d_k):
        first, second, pair = turning_pair(feature, d_k, layout)
        assert feature in (first, second) and first < second
        x = torch.zeros(2, d_k, dtype=torch.float64)
        x[1, first] = 1.0
        angle = rotary_angles(2, d_k, Rotary(layout))[1, pair]
        expected = torch.zeros(d_k, dtype=torch.float64)
        expected[first], expected[second] = angle.cos(), angle.sin()
        torch.testing.assert_close(rotate(x, Rotary(layout))[1], expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0, 3, "half"), "d_k: expected an even number"),
        ((4, 4, "half"), "feature: expected a whole number from 0 below d_k=4, got 4"),
        ((0, 4, "quarters"), "layout: expected 'half' or 'interleaved', got 'quarters'"),
    ],
)
def test_a_pair_that_cannot_be_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        turning_pair(*given)
