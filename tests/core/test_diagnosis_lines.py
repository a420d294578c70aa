"""The line of code that is shown for a cause makes that mistake, and the corrected line gives the core's numbers."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.core.diagnosis_causes import ROTARY, STEPS, changes
from attnviz.core.diagnosis_compute import compute
from attnviz.core.diagnosis_lines import LINES, PROGRAM, lines
from attnviz.core.diagnosis_masks import other_masks, split_mask
from attnviz.core.diagnosis_recipes import Given, Recipe
from attnviz.core.diagnosis_weights import NUMBERS, diagnose_weights
from attnviz.core.heads import merge_heads
from attnviz.core.masks import causal
from attnviz.core.rotary import Rotary, rotate

B, H, S, K = 2, 4, 6, 8
GENERATOR = torch.Generator().manual_seed(3)
DRAWN = ("dropout_on", "weights_renormalised")  # whose numbers compute() reads off a claim


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=GENERATOR).float()


def meant(code: str) -> dict[str, Any]:
    """What was to be computed, where this cause can occur."""
    q, k, v = drawn(B, H, S, K), drawn(B, H, S, K), drawn(B, H, S, K)
    found: dict[str, Any] = {"q": q, "k": k, "v": v, "mask": causal(S, S), "softcap": None, "rotary": None}
    if code == "kv_heads_tiled":
        found |= {"k": k[:, :2], "v": v[:, :2]}
    if code == "causal_corner":
        found |= {"q": q[:, :, :4], "mask": causal(4, S, offset=S - 4)}
    if code in ("padding_on_queries", "rows_nan", "mask_finite"):
        found["padding"] = torch.arange(S) < torch.tensor([[4], [5]])  # (b, u)
        found["mask"] = found["padding"][:, None, None, :]
    if code in ("rows_nan", "mask_finite"):
        found["mask"] = causal(S, S) & (torch.arange(S) >= 2)
    if code in ("mask_extra", "softmax_over_heads", "softmax_over_batch"):
        found["mask"] = None
    if code == "softcap_missing":
        found["softcap"] = 2.0
    if code in ("rotary_missing", "rotary_layout"):
        found["rotary"] = Rotary("half")
    return found


def given_of(found: dict[str, Any]) -> Given:
    q, k, v = found["q"], found["k"], found["v"]
    visible, bias = split_mask(found["mask"], q.shape[-2], k.shape[-2])
    masks = other_masks(visible, q.shape[-2], k.shape[-2])
    every = masks if visible is None else {"given": visible, **masks}
    empty = frozenset(name for name, each in every.items() if not each.any(dim=-1).all())
    scale = q.shape[-1] ** -0.5
    return Given(q, k, v, visible, bias, scale, found["softcap"], found["rotary"], masks, q.dtype, empty)


def run(found: dict[str, Any], place: str, line: str) -> dict[str, Any]:
    """Run the program with one statement replaced."""
    q, k, v = found["q"], found["k"], found["v"]
    names = {"math": math, "torch": torch, "F": torch.nn.functional, "rotate": rotate, "Rotary": Rotary}
    names |= {"b": B, "h": H, "s": q.shape[-2], "u": k.shape[-2], "d_k": K, "d_v": K, "d_model": H * K}
    names |= {"q": q, "k": k, "v": v, "mask": found["mask"], "padding": found.get("padding")}
    program = dict(PROGRAM)
    if found["mask"] is None:
        program["masked"] = "masked = scaled"
    if found["softcap"] is not None:
        program["softcap"] = f"scaled = {found['softcap']} * torch.tanh(scaled / {found['softcap']})"
    if place == "chunk":
        names["qkv"] = torch.stack([q, k, v])
    if place == "split":
        names |= {name: merge_heads(x) for name, x in (("q", q), ("k", k), ("v", v))}
    if found["rotary"] is not None:
        program["rotary"] = "q, k = rotate(q, Rotary('half')), rotate(k, Rotary('half'))"
    program[place] = line
    for statement in program.values():
        exec(statement, names)  # noqa: S102  # the lines that readers are shown, which is what is tested
    return names


def expected(found: dict[str, Any]) -> tuple[Tensor, Tensor]:
    q, k, v = found["q"], found["k"], found["v"]
    if found["rotary"] is not None:
        q, k = rotate(q, found["rotary"]), rotate(k, found["rotary"])
    trace = attention(q, k, v, mask=found["mask"], softcap=found["softcap"])
    return trace.weights, trace.output


def hypotheses(code: str, found: dict[str, Any]) -> list[tuple[float | None, Recipe]]:
    """The value and the recipe of each kind in which a cause comes."""
    given = given_of(found)
    made = [change for change in changes(given) if change.code == code]
    if code == "rotary_extra" or code == "rotary_on_value":
        made = [change for change in made if change.choice in (ROTARY, ("value", ROTARY))]
    if code == "softmax_half":
        made = [change for change in made if change.choice == torch.float16]
    return [(change.value, Recipe()._replace(**{change.slot: change.choice})) for change in made]


def assert_alike(got: Tensor, wanted: Tensor, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(got, wanted.to(got.dtype), rtol=tolerance, atol=tolerance, equal_nan=True)


def test_every_cause_has_its_lines_but_for_what_may_have_been_made_in_many_ways() -> None:
    assert set(LINES) == set(STEPS) | {"negative", "infinite"}
    for code, made in LINES.items():
        assert made.place in PROGRAM and made.wrong != made.right, code


@pytest.mark.parametrize("code", [*STEPS])
def test_the_right_line_gives_the_numbers_of_the_core(code: str) -> None:
    found = meant(code)
    value = 2.0 if code.startswith("softcap") else None
    made = lines(code, value=value, softcap=found["softcap"], offset=_offset(code), corner=0)
    names = run(found, made.place, made.right)
    weights, output = expected(found)
    if made.place == "merge":
        output = merge_heads(output)
    assert_alike(names["weights"], weights)
    assert_alike(names["output"], output)


@pytest.mark.parametrize("code", [code for code in STEPS if code not in DRAWN])
def test_the_wrong_line_makes_the_mistake(code: str) -> None:
    found = meant(code)
    made = hypotheses(code, found)
    assert made
    for value, recipe in made:
        if recipe.scale == "fitted":
            value, recipe = 0.77, recipe._replace(scale=0.77)
        wrong = lines(code, value=value, offset=_offset(code), corner=0)
        names = run(found, wrong.place, wrong.wrong)
        mistaken = compute(given_of(found), recipe)
        weights, output = names["weights"].float(), names["output"]
        if recipe.fill == "zero":
            weights, output = weights.nan_to_num(0.0), output.nan_to_num(0.0)  # a consequence, not the cause
        assert_alike(weights.expand(mistaken.weights.shape), mistaken.weights, 2e-3 if code == "softmax_half" else 1e-4)
        if code != "softmax_half":
            assert_alike(output, merge_heads(mistaken.output) if wrong.place == "merge" else mistaken.output, 1e-4)
        right = expected(found)
        assert not torch.allclose(mistaken.weights, right[0], atol=1e-6) or not torch.allclose(
            mistaken.output, right[1], atol=1e-6
        ), code


@pytest.mark.parametrize("code", DRAWN)
def test_the_wrong_line_of_a_cause_that_is_drawn_leaves_its_mark(code: str) -> None:
    found = meant(code)
    wrong = lines(code, value=0.5)
    names = run(found, wrong.place, wrong.wrong)
    weights = expected(found)[0]
    if code == "dropout_on":
        kept = names["weights"] != 0
        assert_alike(names["weights"][kept], 2 * weights[kept])
        assert 0.3 < kept[weights > 0].float().mean() < 0.7
    else:
        assert_alike(names["weights"], weights / weights.amax(dim=-1, keepdim=True))


@pytest.mark.parametrize("code", [code for code in NUMBERS if code in LINES])
def test_what_weights_alone_show_is_what_the_wrong_line_leaves(code: str) -> None:
    """An exponential becomes infinite where scores are large."""
    found = meant(code)
    if code == "infinite":
        found["q"] = found["q"] * 1e4
    made = lines(code)
    names = run(found, made.place, made.wrong)
    causes = {finding.cause for finding in diagnose_weights(names["weights"], found["mask"]).findings}
    assert code in causes  # −∞ among scores is infinite as well as negative
    names = run(found, made.place, made.right)
    assert diagnose_weights(names["weights"], found["mask"]).correct


def test_numbers_that_were_set_stand_in_the_lines() -> None:
    assert lines("scale_missing", scale=0.3).right == "scaled = scores * 0.3"
    assert lines("scale_twice", scale=0.3).wrong == "scaled = scores * 0.3 * 0.3"
    assert 'Rotary("interleaved", base=500)' in lines("rotary_missing", layout="interleaved", base=500.0).right
    assert lines("causal_off_by_one", value=-1.0, offset=2).wrong.endswith(".tril(1)")
    assert "-1e4" in lines("mask_finite", value=-1e4).wrong and "-1e30" in lines("mask_finite").wrong


def _offset(code: str) -> int:
    return S - 4 if code == "causal_corner" else 0
