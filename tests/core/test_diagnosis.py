"""Every cause, alone and in pairs, is named where the numbers tell it; what is right is said to be right."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.attention import attention
from attnviz.core.diagnosis import Diagnosis, diagnose
from attnviz.core.diagnosis_causes import CODES, STEPS
from attnviz.core.masks import causal, padding
from tests.core.diagnosis_drawn import ODD, ONE, RIGHT, SIZES, TWO, Case, Drawn, Sizes, named, soft

WAYS = ("weights", "output", "both")
BY_OUTPUT_ALONE = ("rotary_on_value", "heads_merged_by_view")  # the weights are right
BY_WEIGHTS_ALONE = ("dropout_on", "scale_other")  # what is read off the weights no output tells


def asked(case: Case, way: str) -> Diagnosis:
    shown: dict[str, Any] = {"weights": case.weights, "output": case.output}
    given = (shown if way == "both" else {way: shown[way]}) | case.options
    return diagnose(*case.inputs, **given)


def assert_named(found: Diagnosis, codes: tuple[str, ...]) -> None:
    assert len(found.findings) == len(codes)
    for code, names in zip(codes, named(found.findings), strict=True):
        assert code in names
    last = found.findings[-1]
    assert last.residual_after < 1e-2 * found.residual
    assert 0 < found.findings[0].residual_before <= found.residual * 1.0001
    assert not found.correct and not found.unexplained


def test_every_cause_is_drawn() -> None:
    assert set(ONE) | set(ODD) == set(CODES)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("code", [*ONE, *ODD])
def test_a_cause_is_named(code: str, way: str) -> None:
    maker, sizes = ODD[code] if code in ODD else (ONE[code], SIZES)
    case = maker(Drawn(sizes[0], 1))
    found = asked(case, way)
    if code in BY_OUTPUT_ALONE and way == "weights":
        assert found.correct
    elif code in BY_WEIGHTS_ALONE and way == "output":
        assert found.findings == () and found.unexplained == ("output",) and found.first_step == "output"
    else:
        assert_named(found, (code,))
        assert found.first_step == STEPS[found.findings[0].cause]


@pytest.mark.parametrize("codes", TWO)
def test_two_causes_are_named_in_the_order_in_which_they_act(codes: tuple[str, str]) -> None:
    found = asked(TWO[codes](Drawn(SIZES[0], 2)), "weights")
    assert_named(found, codes)
    assert found.findings[0].residual_after == found.findings[1].residual_before


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_said_to_be_right(name: str, way: str) -> None:
    for i, sizes in enumerate(SIZES):
        found = asked(RIGHT[name](Drawn(sizes, i)), way)
        assert found.correct and found.findings == () and found.first_step is None and found.residual < 1e-5


def test_what_no_number_tells_apart_is_named_together() -> None:
    x = Drawn(SIZES[0], 3)
    (finding,) = asked(ONE["scale_d_k"](x), "both").findings
    assert {finding.cause, *finding.same} == {"scale_d_k", "scale_twice"}
    (finding,) = asked(ONE["qk_swapped"](x), "weights").findings
    assert finding.same == ("softmax_over_queries+weights_transposed",)
    q, k, v = torch.randn(3, 2, 5, 4, generator=x.generator)
    (finding,) = diagnose(q, k, v, weights=torch.softmax(q @ k.mT / 2, 0)).findings
    assert {finding.cause, *finding.same} == {"softmax_over_heads", "softmax_over_batch"}


def test_a_scale_of_its_own_tells_twice_from_d_k() -> None:
    x = Drawn(SIZES[0], 3)
    case = x.case(soft(x.scores() * math.sqrt(x.sizes.k) * 0.3**2), scale=0.3)
    (finding,) = asked(case, "weights").findings
    assert (finding.cause, finding.same) == ("scale_twice", ())


@pytest.mark.parametrize(("code", "value"), [("scale_other", 0.77 / math.sqrt(8)), ("dropout_on", 0.1)])
def test_the_number_that_belongs_to_a_cause_is_found(code: str, value: float) -> None:
    (finding,) = asked(ONE[code](Drawn(SIZES[0], 4)), "weights").findings
    assert finding.value == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("shift", [-1, 1])
def test_causal_off_by_one_says_which_way(shift: int) -> None:
    x = Drawn(SIZES[0], 4)
    case = x.case(soft(x.scores(), causal(9, 9, offset=shift)), mask=x.causal)
    (finding,) = asked(case, "both").findings
    assert (finding.cause, finding.value) == ("causal_off_by_one", shift)


def test_noise_is_not_explained_and_its_first_step_is_named() -> None:
    x = Drawn(SIZES[0], 5)
    noise = x.case(soft(x.draw(2, 4, 9, 9)))
    for way in WAYS:
        found = asked(noise, way)
        assert not found.correct and found.findings == ()
    assert asked(noise, "weights").first_step == "scores"
    assert asked(x.case(soft(x.scores()) + 0.1), "weights").first_step == "weights"
    odd = torch.rand(9, 9, generator=x.generator) < 0.5
    assert asked(x.case(soft(x.scores(), odd | torch.eye(9).bool())), "weights").first_step == "masked"
    assert asked(x.case(soft(x.scores() ** 3)), "weights").first_step == "scaled"


def test_right_weights_with_a_wrong_output() -> None:
    x = Drawn(SIZES[0], 6)
    found = asked(x.case(soft(x.scores()), output=x.draw(2, 4, 9, 8)), "both")
    assert found.findings == () and found.unexplained == ("output",) and found.first_step == "output"


def test_weights_and_output_may_be_wrong_each_in_its_own_way() -> None:
    x = Drawn(SIZES[0], 7)
    right = soft(x.scores())
    found = asked(x.case(right.mean(1), output=right @ x.v, mask=None), "both")
    assert [(finding.cause, finding.claims) for finding in found.findings] == [("heads_averaged", ("weights",))]


@pytest.mark.parametrize("layout", ["split", "merged", "behind", "one sequence"])
def test_an_output_may_come_in_any_layout(layout: str) -> None:
    x = Drawn(Sizes(1, 4, 4, 9, 9, 8, 8), 8)
    output = soft(x.scores()) @ x.v
    output = {"split": output, "merged": output.transpose(1, 2).flatten(2), "behind": output.transpose(1, 2),
              "one sequence": output[0]}[layout]  # fmt: skip
    assert diagnose(x.q, x.k, x.v, output=output).correct


def test_transposed_weights_of_unequal_lengths() -> None:
    x = Drawn(Sizes(s=5), 9)
    found = diagnose(x.q, x.k, x.v, weights=soft(x.scores()).mT)
    assert [finding.cause for finding in found.findings] == ["weights_transposed"] and not found.correct


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]),
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 20), st.integers(1, 20), st.integers(1, 40)),
    st.sampled_from([0.1, 1.0, 4.0]),
    st.booleans(),
)
def test_attention_in_any_precision_is_right(
    seed: int, dtype: torch.dtype, sizes: Any, size: float, hide: bool
) -> None:
    b, h, s, u, k = sizes
    generator = torch.Generator().manual_seed(seed)
    q, key, v = (size * torch.randn(b, h, n, k, generator=generator) for n in (s, u, u))
    q, key, v = (x.to(dtype) for x in (q, key, v))
    mask = torch.rand(s, u, generator=generator) < 0.6 if hide else None
    trace = attention(q, key, v, mask=mask)
    assert diagnose(q, key, v, weights=trace.weights, output=trace.output, mask=mask).correct
    exact = attention(q.double(), key.double(), v.double(), mask=mask)
    assert diagnose(q, key, v, weights=exact.weights.to(dtype), output=exact.output.to(dtype), mask=mask).correct


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("code", ["scale_missing", "mask_missing", "kv_swapped", "heads_viewed", "mask_after_softmax"])
def test_causes_are_named_in_any_precision(code: str, dtype: torch.dtype) -> None:
    case = ONE[code](Drawn(SIZES[0], 10))
    inputs = tuple(x.to(dtype) for x in case.inputs)
    found = diagnose(*inputs, weights=case.weights.to(dtype), output=case.output.to(dtype), **case.options)
    assert [finding.cause for finding in found.findings] == [code]


def test_a_mask_may_be_floating() -> None:
    x = Drawn(SIZES[0], 11)
    added = torch.zeros(9, 9).masked_fill(~x.causal, -1e9)
    found = diagnose(x.q, x.k, x.v, weights=soft(x.scores()), mask=added)
    assert [finding.cause for finding in found.findings] == ["mask_missing"]


def test_gradients_are_no_hindrance() -> None:
    x = Drawn(SIZES[0], 12)
    query = x.q.clone().requires_grad_()
    assert diagnose(query, x.k, x.v, weights=attention(query, x.k, x.v).weights).correct


def test_the_word_causal_is_the_causal_mask() -> None:
    x = Drawn(SIZES[0], 13)
    assert diagnose(x.q, x.k, x.v, weights=soft(x.scores(), x.causal), mask="causal").correct
    found = diagnose(x.q, x.k, x.v, weights=soft(x.scores()), mask="causal")
    assert [finding.cause for finding in found.findings] == ["mask_missing"]


def test_arrays_are_taken_for_tensors() -> None:
    case = ONE["mask_missing"](Drawn(SIZES[0], 14))
    q, k, v = (x.numpy() for x in case.inputs)
    mask = case.options["mask"].numpy()
    found = diagnose(q, k, v, weights=case.weights.numpy(), output=case.output.numpy(), mask=mask)
    assert [finding.cause for finding in found.findings] == ["mask_missing"]
    turned = tuple(x[:, ::-1] for x in (q, k, v))  # torch takes no negative strides by itself
    assert diagnose(*turned, weights=case.weights.numpy()[:, ::-1]).correct


def test_how_far_each_is_off_that_nothing_explains() -> None:
    x = Drawn(SIZES[0], 15)
    weights, output = soft(x.draw(2, 4, 9, 9)), 40 * x.draw(2, 4, 9, 8)
    found = asked(x.case(weights, output=output), "both")
    assert found.unexplained == ("weights", "output")
    right = attention(x.q, x.k, x.v)
    pairs = ((weights, right.weights), (output, right.output))
    off = [float((mine - wanted).abs().max() / wanted.abs().max()) for mine, wanted in pairs]
    assert found.unexplained_by == pytest.approx(off) and found.residual == pytest.approx(max(off))


def test_rows_that_are_nan_are_found_beside_what_is_right() -> None:
    x = Drawn(SIZES[0], 16)
    weights = soft(x.scores(), x.causal)
    weights[1, 2, 5, 3] = weights[1, 3, 0] = math.nan
    for output in (None, weights @ x.v):
        found = diagnose(x.q, x.k, x.v, weights=weights, output=output, mask="causal")
        assert [(each.cause, each.value, each.where) for each in found.findings] == [("nan", 2.0, (1, 2, 5))]
        assert not found.correct and found.unexplained == () and found.first_step == "weights"
    weights[0, 0] = weights[0, 1]
    found = diagnose(x.q, x.k, x.v, weights=weights, mask="causal")
    assert [each.cause for each in found.findings] == ["nan"] and found.unexplained == ("weights",)
    assert 0.01 < found.unexplained_by[0] < 1  # of the numbers that are numbers


Q = torch.zeros(2, 3, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "weights, output: expected at least one of them, got neither"),
        ({"weights": torch.zeros(2, 4, 4)}, r"weights: expected shape \(\.\.\., s=3, u=3\), here \(2, 3, 3\), got"),
        ({"output": torch.zeros(7)}, r"output: expected shape \(\.\.\., s, d\), got \(7,\)"),
        ({"output": torch.zeros(2, 3, 5)}, "output: expected shape .*, or its heads merged, got"),
        ({"weights": Q[..., :3], "mask": torch.ones(5, 5).bool()}, r"mask: expected a shape that broadcasts"),
        ({"weights": Q[..., :3], "mask": padding([1, 2, 3], 3)}, "mask: expected a shape that broadcasts"),
        ({"weights": Q[..., :3], "softcap": -1.0}, "softcap: expected a positive"),
    ],
)
def test_what_does_not_fit_is_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagnose(Q, Q, Q, **options)


def test_inputs_are_finite_and_there() -> None:
    with pytest.raises(ValueError, match="key: expected finite numbers, got 24 that are NaN"):
        diagnose(Q, Q * math.nan, Q, weights=Q[..., :3])
    with pytest.raises(ValueError, match=r"query: expected at least one number, got shape \(2, 0, 4\)"):
        diagnose(Q[:, :0], Q, Q, weights=Q[:, :0, :3])
    with pytest.raises(TypeError, match=r"key: expected dtype torch\.float32 as query has, got torch.float16"):
        diagnose(Q, Q.half(), Q, weights=Q[..., :3])
    with pytest.raises(TypeError, match=r"mask: expected a torch\.Tensor or an array, got int"):
        diagnose(Q, Q, Q, weights=Q[..., :3], mask=1)
    with pytest.raises(TypeError, match="query: expected numbers that torch can hold, got an array of <U1"):
        diagnose(np.array([["a"]]), Q, Q, weights=Q[..., :3])
    with pytest.raises(ValueError, match=r"mask: expected .* 'causal' or None, got 'full'"):
        diagnose(Q, Q, Q, weights=Q[..., :3], mask="full")
    with pytest.raises(TypeError, match="weights: expected a floating dtype"):
        diagnose(Q, Q, Q, weights=Q[..., :3].int())


def test_the_search_tells_how_far_it_is_and_can_be_stopped() -> None:
    x = Drawn(SIZES[0], 6)
    noise = x.case(soft(x.draw(2, 4, 9, 9)))
    told: list[int] = []
    diagnose(*noise.inputs, weights=noise.weights, progress=told.append)
    assert told == list(range(1, len(told) + 1)) and len(told) > 50

    def stop(n: int) -> None:
        if n == 5:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        diagnose(*noise.inputs, weights=noise.weights, progress=stop)


def test_the_search_leaves_torch_as_many_threads_as_it_had() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    x = Drawn(SIZES[0], 6)
    case, seen = ONE["scale_missing"](x), []
    diagnose(*case.inputs, weights=case.weights, progress=lambda _n: seen.append(torch.get_num_threads()))
    assert set(seen) == {1} and torch.get_num_threads() == 2
    torch.set_num_threads(before)
