"""What weights alone show of a mistake, and that right ones show none."""

import math

import pytest
import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.core.diagnosis import diagnose_weights
from attnviz.core.masks import causal
from tests.core.diagnosis_drawn import RIGHT, SIZES, Drawn, dropped, soft

X = Drawn(SIZES[0], 1)
SCORES = X.scores()  # (2, 4, 9, 9)
LEFT = X.causal & X.left  # the first two rows may attend nowhere
WRONG: dict[str, tuple[Tensor, Tensor | None]] = {
    "negative": (SCORES, None),
    "nan": (soft(SCORES).masked_fill(torch.eye(9).bool(), math.nan), None),
    "infinite": (soft(SCORES) / 0, None),
    "rows_nan": (soft(SCORES, LEFT), LEFT),
    "mask_finite": (soft(SCORES - 1e4 * ~LEFT), LEFT),
    "rows_empty": (soft(SCORES, LEFT).nan_to_num(0), X.causal),
    "softmax_over_queries": (soft(SCORES, dim=-2), None),
    "softmax_over_heads": (soft(SCORES, dim=1), None),
    "softmax_over_batch": (soft(SCORES, dim=0), None),
    "softmax_half": (torch.softmax(Drawn(SIZES[3], 1).scores(), -1, dtype=torch.float16).float(), None),
    "mask_after_softmax": (soft(SCORES) * X.causal, X.causal),
    "dropout_on": (dropped(soft(SCORES), X), None),
    "weights_renormalised": (soft(SCORES) / soft(SCORES).amax(-1, keepdim=True), None),
    "sums_off": (soft(SCORES) * 0.9, None),
    "mask_missing": (soft(SCORES), X.causal),
    "mask_inverted": (soft(SCORES, ~X.causal), X.causal),
    "mask_transposed": (soft(SCORES, X.causal.mT), X.causal),
    "causal_off_by_one": (soft(SCORES, causal(9, 9, offset=1)), X.causal),
    "padding_on_queries": (soft(SCORES, X.left.mT), X.left),
    "leak": (soft(SCORES, X.causal | torch.eye(9).bool().roll(3, 1)), X.causal),
}


@pytest.mark.parametrize("code", WRONG)
def test_a_cause_is_named(code: str) -> None:
    weights, mask = WRONG[code]
    found = diagnose_weights(weights, mask)
    assert code in {name for finding in found.findings for name in (finding.cause, *finding.same)}
    assert not found.correct and found.first_step in ("masked", "weights") and found.residual > 0


@pytest.mark.parametrize("code", sorted(set(WRONG) - {"rows_empty", "nan", "infinite", "negative"}))
def test_nothing_else_is_named_beside_it(code: str) -> None:
    weights, mask = WRONG[code]
    (finding,) = diagnose_weights(weights, mask).findings
    assert finding.claims == ("weights",) and finding.residual_after <= finding.residual_before


@pytest.mark.parametrize("name", RIGHT)
def test_right_weights_show_nothing(name: str) -> None:
    for seed, sizes in enumerate(SIZES):
        case = RIGHT[name](Drawn(sizes, seed))
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            for mask in (case.options.get("mask"), None):
                found = diagnose_weights(case.weights.to(dtype), mask)
                assert found.correct and found.findings == () and found.first_step is None


def test_a_leak_above_the_diagonal_is_found_without_a_mask() -> None:
    weights = soft(SCORES, X.causal)
    weights[0, 0, 2, 7] = weights[0, 0, 2, 0]
    weights[0, 0, 2, 0] = 0
    (finding,) = diagnose_weights(weights).findings
    assert (finding.cause, finding.value) == ("leak", 1.0)


def test_columns_that_sum_to_one_have_two_names() -> None:
    (finding,) = diagnose_weights(soft(SCORES).mT).findings
    assert (finding.cause, finding.same) == ("softmax_over_queries", ("weights_transposed",))


def test_the_probability_of_a_dropout_is_found() -> None:
    (finding,) = diagnose_weights(dropped(soft(Drawn(SIZES[3], 2).scores()), X, 0.3)).findings
    assert finding.value == pytest.approx(0.3, abs=0.03)


def test_the_first_row_that_is_nan_is_told() -> None:
    weights = soft(SCORES)
    weights[1, 2, 5, 3] = weights[1, 3, 0] = math.nan
    (finding,) = diagnose_weights(weights).findings
    assert (finding.cause, finding.value, finding.where) == ("nan", 2.0, (1, 2, 5))


def test_arrays_and_the_word_causal_are_taken() -> None:
    found = diagnose_weights(soft(SCORES).numpy()[:, ::-1], "causal")
    assert [finding.cause for finding in found.findings] == ["mask_missing"]
    assert diagnose_weights(soft(SCORES, X.causal).numpy(), X.causal.numpy()).correct


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(TypeError, match=r"weights: expected a torch\.Tensor or an array, got list"):
        diagnose_weights([[1.0]])
    with pytest.raises(ValueError, match=r"mask: expected .* 'causal' or None, got 'casual'"):
        diagnose_weights(torch.eye(2), "casual")
    with pytest.raises(TypeError, match="weights: expected a floating dtype"):
        diagnose_weights(torch.zeros(2, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"weights: expected at least one number, got shape \(0, 3\)"):
        diagnose_weights(torch.zeros(0, 3))
    with pytest.raises(ValueError, match="mask: expected a shape that broadcasts"):
        diagnose_weights(attention(X.q, X.k, X.v).weights, torch.ones(3, 3).bool())
