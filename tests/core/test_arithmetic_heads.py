"""The arithmetic of every cell of many heads: grouped, rotated, biased, of a context, and of their projections."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnviz.core import masks
from attnviz.core.arithmetic import EQUATIONS, ROTATIONS, STEPS, Arithmetic, explain, explain_projection
from attnviz.core.attention import attention
from attnviz.core.multi_head import MultiHead, multi_head
from attnviz.core.positions import Rotary, alibi

D_K, D_V, D_MODEL, D_CONTEXT, D_OUT = 4, 3, 12, 10, 7
ROTARIES = (None, Rotary(), Rotary("interleaved", base=50.0, offset=9))
MASKS = ("none", "causal", "padding", "float", "alibi", "alibi and causal", "nowhere")


def draw(*shape: int, seed: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def make_mask(kind: str, n_query: int, n_key: int, n_heads: int, seed: int) -> Tensor | None:
    offset = n_key - n_query
    causal = masks.causal(n_query, n_key, offset=offset)
    kinds = {
        "none": None,
        "causal": causal,
        "padding": masks.padding([n_key - 2, n_key], n_key)[:, None],  # (b, 1, 1, u)
        "float": 3 * draw(n_query, n_key, seed=seed, dtype=torch.float32),
        "alibi": alibi(n_query, n_key, n_heads, offset=offset),
        "alibi and causal": masks.combine(alibi(n_query, n_key, n_heads, offset=offset), causal),
        "nowhere": torch.arange(n_query)[:, None] % 2 != torch.zeros(n_key),  # even queries see no key
    }
    return kinds[kind]


def cells(tensor: Tensor, seed: int, n: int = 3) -> list[tuple[int, ...]]:
    """A few random cells, the first and the last."""
    generator = torch.Generator().manual_seed(seed)
    flat = [0, tensor.numel() - 1, *torch.randint(tensor.numel(), (n,), generator=generator).tolist()]
    return [tuple(int(i) for i in torch.unravel_index(torch.tensor(f), tensor.shape)) for f in flat]


def assert_agrees(explained: Arithmetic, tensor: Tensor) -> None:
    """With limits of its own, not with the tolerance that the arithmetic states."""
    assert explained.cell == float(tensor[explained.index])
    assert all(f.dtype == torch.float64 and f.ndim == 1 for f in (*explained.factors.values(), explained.products))
    if explained.total == explained.cell:  # so too -inf
        return
    added = explained.products[explained.products.isfinite()].abs().sum().item()
    eps = torch.finfo(tensor.dtype).eps
    limit = 4 * eps * max(added, 1) if eps > 1e-6 else 1e-5 if explained.step == "weights" else 1e-6 * added
    assert abs(explained.total - explained.cell) <= min(limit, explained.tolerance)


@settings(max_examples=30, deadline=None)
@given(
    n_heads=st.sampled_from([1, 2, 3, 6]),
    groups=st.sampled_from([1, 2, 3]),
    has_context=st.booleans(),
    mask_kind=st.sampled_from(MASKS),
    rotary=st.sampled_from(ROTARIES),
    softcap=st.sampled_from([None, 2.0]),
    scale=st.sampled_from([None, 0.7]),
    softmax_dtype=st.sampled_from([None, torch.float32, torch.float64]),
    has_bias=st.booleans(),
    dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16]),
    seed=st.integers(0, 2**31),
)
def test_every_step_of_many_heads(
    n_heads: int,
    groups: int,
    has_context: bool,
    mask_kind: str,
    rotary: Rotary | None,
    softcap: float | None,
    scale: float | None,
    softmax_dtype: torch.dtype | None,
    has_bias: bool,
    dtype: torch.dtype,
    seed: int,
) -> None:
    n_kv_heads = n_heads // math.gcd(n_heads, groups)
    n_query, n_key = (4, 6) if has_context else (5, 5)
    x = draw(2, n_query, D_MODEL, seed=seed, dtype=dtype)
    context = draw(1, n_key, D_CONTEXT, seed=seed + 1, dtype=dtype) if has_context else None
    read = x if context is None else context
    columns = {"q": n_heads * D_K, "k": n_kv_heads * D_K, "v": n_kv_heads * D_V, "o": D_OUT}
    rows = {"q": D_MODEL, "k": read.shape[-1], "v": read.shape[-1], "o": n_heads * D_V}
    w = {name: draw(rows[name], columns[name], seed=seed + 2 + i, dtype=dtype) / 3 for i, name in enumerate("qkvo")}
    b = {name: draw(columns[name], seed=seed + 6, dtype=dtype) if has_bias else None for name in "qkvo"}
    mask = make_mask(mask_kind, n_query, n_key, n_heads, seed)
    made_with = {"mask": mask, "scale": scale, "softcap": softcap, "softmax_dtype": softmax_dtype}
    parameters: dict[str, Any] = {f"w_{name}": w[name] for name in w} | {f"b_{name}": b[name] for name in b}
    heads = multi_head(x, context, **parameters, n_heads=n_heads, n_kv_heads=n_kv_heads, rotary=rotary, **made_with)

    projected = {"query": heads.projected_query, "key": heads.projected_key, "value": None}
    sources = {"query": (x, "q"), "key": (read, "k"), "value": (read, "v")}
    for step in STEPS:
        tensor = getattr(heads.trace, step)
        given_: dict[str, Any] = dict(made_with)
        if step in sources:
            token, name = sources[step]
            given_ = {"x": token, "weight": w[name], "bias": b[name], "projected": projected[step], "rotary": rotary}
        for index in cells(tensor, seed):
            explained = explain(heads.trace, step, index, **given_)
            assert_agrees(explained, tensor)
            rotated = rotary is not None and step in ROTATIONS
            assert explained.equation == (ROTATIONS if rotated else EQUATIONS)[step]
    for tensor, token, name in (
        (heads.projected_query, x, "q"),
        (heads.projected_key, read, "k"),
        (heads.output, heads.merged, "o"),
    ):
        for index in cells(tensor, seed):
            explained = explain_projection(tensor, index, x=token, weight=w[name], bias=b[name])
            assert_agrees(explained, tensor)
            assert (explained.step, explained.equation) == ("projection", "bsm,mk->bsk")


def example(rotary: Rotary | None = None, dtype: torch.dtype = torch.float64) -> tuple[MultiHead, dict[str, Tensor]]:
    w = {name: draw(8, 8, seed=i, dtype=dtype) for i, name in enumerate(["w_q", "w_k", "w_v", "w_o"])}
    x = draw(2, 5, 8, seed=9, dtype=dtype)
    return multi_head(x, **w, n_heads=2, rotary=rotary), {"x": x, **w}


@pytest.mark.parametrize("rotary", ROTARIES[1:])
def test_a_rotation_is_the_einsum_of_its_equation(rotary: Rotary) -> None:
    heads, _given = example(rotary)
    matrices = torch.zeros(5, 4, 4, dtype=torch.float64)  # (s, j, k): what feature k takes of feature j
    firsts, seconds = ((0, 1), (2, 3)) if rotary.layout == "half" else ((0, 2), (1, 3))
    for s in range(5):
        for pair, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
            angle = (s + rotary.offset) * rotary.base ** (-2 * pair / 4)
            matrices[s, first, first] = matrices[s, second, second] = math.cos(angle)
            matrices[s, second, first], matrices[s, first, second] = -math.sin(angle), math.sin(angle)
    for step, before in (("query", heads.projected_query[:, 1]), ("key", heads.projected_key[:, 1])):
        after = torch.einsum(ROTATIONS[step], before, matrices)
        assert torch.allclose(after, getattr(heads.trace, step)[:, 1], rtol=0, atol=1e-12)
        for s in range(5):
            for k in range(4):
                j = [k, *(j for j in range(4) if j != k and matrices[1, j, k] != 0)]  # itself, then its partner
                explained = explain(
                    heads.trace, step, (1, 1, s, k), projected=before_rotation(heads, step), rotary=rotary
                )
                assert list(explained.factors) == ["projected", "rotation"]
                assert explained.factors["projected"].tolist() == before[1, s, j].tolist()
                assert explained.factors["rotation"].tolist() == pytest.approx(matrices[s, j, k].tolist(), abs=1e-14)
                assert torch.equal(explained.products, explained.factors["projected"] * explained.factors["rotation"])
                assert explained.total == pytest.approx(after[1, s, k].item(), abs=1e-12)


def before_rotation(heads: MultiHead, step: str) -> Tensor:
    return heads.projected_query if step == "query" else heads.projected_key


def test_without_rotary_the_projected_tensor_is_not_asked() -> None:
    heads, given_ = example()
    x, weight = given_["x"], given_["w_q"]
    as_ever = explain(heads.trace, "query", (1, 1, 3, 2), x=x, weight=weight)
    passed = explain(heads.trace, "query", (1, 1, 3, 2), x=x, weight=weight, projected=heads.projected_query)
    assert passed.factors.keys() == as_ever.factors.keys() == {"x", "weight"}
    assert torch.equal(passed.products, x[1, 3] * weight[:, 1 * 4 + 2])
    value = explain(heads.trace, "value", (1, 1, 3, 2), x=x, weight=given_["w_v"], rotary=Rotary())  # is not turned
    assert torch.equal(value.products, x[1, 3] * given_["w_v"][:, 1 * 4 + 2])


def test_the_output_projection_mixes_the_heads() -> None:
    heads, given_ = example()
    explained = explain_projection(heads.output, (1, 3, 2), x=heads.merged, weight=given_["w_o"])
    merged = torch.cat([heads.trace.output[1, h, 3] for h in range(2)])
    assert torch.equal(explained.products, merged * given_["w_o"][:, 2])
    assert explained.total == pytest.approx(heads.output[1, 3, 2].item(), abs=1e-12)


def test_a_wrong_rotation_or_projection_is_found_out() -> None:
    heads, given_ = example(Rotary())
    index = (1, 1, 3, 3)
    for rotary in (Rotary("interleaved"), Rotary(base=9.0), Rotary(offset=1)):
        explained = explain(heads.trace, "query", index, projected=heads.projected_query, rotary=rotary)
        assert abs(explained.total - explained.cell) > 100 * explained.tolerance
    explained = explain(heads.trace, "query", index, x=given_["x"], weight=given_["w_q"])  # the rotary forgotten
    assert abs(explained.total - explained.cell) > 100 * explained.tolerance
    explained = explain_projection(heads.output + 1e-3, (1, 3, 2), x=heads.merged, weight=given_["w_o"])
    assert abs(explained.total - explained.cell) > explained.tolerance


def test_a_softmax_in_a_coarser_dtype_is_explained_with_it() -> None:
    query = draw(3, 8, seed=0, dtype=torch.float32)
    trace = attention(query, query, query, softmax_dtype=torch.bfloat16)
    explained = [explain(trace, "weights", (s, u), softmax_dtype=torch.bfloat16) for s in range(3) for u in range(3)]
    assert all(abs(cell.total - cell.cell) <= cell.tolerance <= 0.04 for cell in explained)
    assert torch.equal(explained[0].factors["masked"], trace.masked[0].bfloat16().double())
    finer = [explain(trace, "weights", (s, u)) for s in range(3) for u in range(3)]
    assert any(abs(cell.total - cell.cell) > cell.tolerance for cell in finer)


@pytest.mark.parametrize("score", [math.inf, math.nan])
@pytest.mark.parametrize("mask", [torch.tensor([[False, True]]), torch.tensor([[-math.inf, 0.0]])])
def test_what_is_hidden_is_minus_infinity_whatever_its_score(score: float, mask: Tensor) -> None:
    trace = attention(torch.ones(1, 1), torch.tensor([[score], [1.0]]), torch.ones(2, 1), mask=mask)
    explained = explain(trace, "masked", (0, 0), mask=mask)
    assert explained.total == explained.cell == -math.inf
    assert [explain(trace, "weights", (0, u)).total for u in range(2)] == trace.weights[0].tolist() == [0, 1]
