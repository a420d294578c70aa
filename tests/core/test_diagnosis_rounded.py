"""Numbers that were saved with few decimals are right as far as these tell, and no mistake is made up for them."""

import numpy as np
import pytest
import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.core.diagnosis import Diagnosis, diagnose, diagnose_weights
from attnviz.core.diagnosis_rounded import decimals, half_unit
from attnviz.core.masks import causal
from tests.core.diagnosis_drawn import ONE, SIZES, Drawn, soft

X = Drawn(SIZES[3], 21)  # 33 tokens
MAP = soft(X.scores(), X.causal)


def rounded(x: Tensor, n: int) -> Tensor:
    return torch.from_numpy(np.round(x.double().numpy(), n)).float()


def alone(found: Diagnosis) -> tuple[str, float | None]:
    (finding,) = found.findings
    assert found.correct and found.first_step is None and not found.unexplained
    return finding.cause, finding.value


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_decimals_are_counted(n: int) -> None:
    x = torch.rand(50, generator=X.generator)
    assert decimals(rounded(x, n)) == n and decimals(rounded(x, n).double()) == n
    assert decimals(torch.from_numpy(np.round(x.numpy(), n))) == n  # rounded in float32
    assert decimals(x) is None and decimals(x.half()) is None and decimals(rounded(x, n) + 10**-n / 3) is None


def test_what_holds_no_decimals_has_none() -> None:
    for x in (torch.zeros(3), torch.eye(3), torch.tensor([0.25, float("nan")]), torch.tensor([1e6 + 0.5])):
        assert decimals(x) is None
    assert half_unit(2) == pytest.approx(0.005)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("mask", [None, "causal"])
def test_a_rounded_map_alone_shows_no_mistake(n: int, mask: None) -> None:
    assert alone(diagnose_weights(rounded(MAP, n), mask)) == ("rounded", n)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_rounded_numbers_are_right_as_far_as_they_tell(n: int) -> None:
    output = MAP @ X.v
    found = diagnose(X.q, X.k, X.v, weights=rounded(MAP, n), output=rounded(output, n), mask="causal")
    said = [(finding.cause, finding.value, finding.claims) for finding in found.findings]
    assert found.correct and ("rounded", n, ("weights",)) in said
    assert {cause for cause, *_ in said} == {"rounded"} and found.residual <= half_unit(n) + 2e-7
    if n < 6:  # six decimals of an output are what float32 rounds to
        assert ("rounded", n, ("output",)) in said


@pytest.mark.parametrize("made_of", ["all digits", "the rounded weights"])
def test_an_output_may_be_made_before_or_after_the_weights_were_rounded(made_of: str) -> None:
    weights = rounded(MAP, 3)
    output = (MAP if made_of == "all digits" else weights) @ X.v
    assert alone(diagnose(X.q, X.k, X.v, weights=weights, output=output, mask="causal")) == ("rounded", 3.0)


def test_one_number_off_by_more_than_its_decimals_is_no_rounding() -> None:
    weights = rounded(MAP, 4)
    weights[0, 0, 9, 3] += 0.0002
    found = diagnose(X.q, X.k, X.v, weights=weights, mask="causal")
    assert not found.correct and found.unexplained == ("weights",)
    weights = rounded(MAP, 4)
    weights[0, 0, 9, 3] += 0.01
    (finding,) = diagnose_weights(weights).findings
    assert finding.cause == "sums_off"


@pytest.mark.parametrize("code", ["scale_missing", "mask_missing", "kv_swapped", "softmax_over_queries"])
def test_a_mistake_is_named_in_rounded_numbers_too(code: str) -> None:
    case = ONE[code](Drawn(SIZES[0], 22))
    weights, output = rounded(case.weights, 4), rounded(case.output, 4)
    found = diagnose(*case.inputs, weights=weights, output=output, **case.options)
    assert [finding.cause for finding in found.findings] == [code] and not found.correct


def test_decimals_too_few_to_name_a_cause_name_none() -> None:
    """Small weights that became 0 are not taken for hidden ones."""
    case = ONE["scale_missing"](Drawn(SIZES[0], 22))
    found = diagnose(*case.inputs, weights=rounded(case.weights, 2), **case.options)
    assert found.findings == () and found.unexplained == ("weights",) and found.first_step != "masked"


def test_causes_in_rounded_weights_alone() -> None:
    scores = X.scores()
    (finding,) = diagnose_weights(rounded(soft(scores, dim=-2), 4)).findings
    assert finding.cause == "softmax_over_queries"
    (finding,) = diagnose_weights(rounded(soft(scores) * X.causal, 4), X.causal).findings
    assert finding.cause == "mask_after_softmax"
    for n in (2, 4):  # a sigmoid's sums are not what rounding leaves
        (finding,) = diagnose_weights(rounded(torch.sigmoid(scores) * X.causal, n)).findings
        assert finding.cause == "sums_off"
    leaking = rounded(MAP, 4)
    leaking[0, 0, 2, 7] = 0.01
    assert [finding.cause for finding in diagnose_weights(leaking, causal(33, 33)).findings] == ["sums_off", "leak"]


def test_an_even_row_of_a_long_text_may_be_rounded_to_nothing() -> None:
    weights = torch.full((4, 1000), 0.001)
    weights[0, 0] += 0.3
    even = attention(torch.zeros(4, 2), torch.zeros(1000, 2), torch.zeros(1000, 2)).weights
    assert torch.equal(rounded(even, 2), torch.zeros(4, 1000))
    weights = rounded(weights / weights.sum(-1, keepdim=True), 2)
    assert alone(diagnose_weights(weights, torch.ones(4, 1000).bool())) == ("rounded", 2.0)
