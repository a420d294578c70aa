"""What the statistics say of arguments that do not fit."""

from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from attnviz.core import statistics
from attnviz.core.statistics import (
    contribution,
    duplicate_token_mass,
    entropy,
    entropy_share,
    induction_mass,
    mean_distance,
    previous_token_mass,
    rollout,
    score,
    seen_before,
    sink_mass,
)

A = torch.full((2, 3, 4, 5), 0.2)
OF_WEIGHTS: dict[str, Callable[[Any], Tensor]] = {
    "entropy": entropy,
    "entropy_share": entropy_share,
    "effective_tokens": statistics.effective_tokens,
    "mean_distance": mean_distance,
    "sink_mass": sink_mass,
    "previous_token_mass": previous_token_mass,
    "duplicate_token_mass": lambda weights: duplicate_token_mass(weights, range(5)),
    "induction_mass": lambda weights: induction_mass(weights, range(5)),
    "contribution": lambda weights: contribution(weights, torch.ones(5, 2)),
}


@pytest.mark.parametrize("name", OF_WEIGHTS)
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([[1.0]], TypeError, "weights: expected a torch.Tensor, got list"),
        (torch.ones(5), ValueError, "weights: expected shape (..., s, u), got (5,)"),
        (torch.tensor(1.0), ValueError, "weights: expected shape (..., s, u), got ()"),
        (torch.ones(4, 5).long(), TypeError, "weights: expected a floating dtype, got torch.int64"),
        (torch.ones(4, 5).bool(), TypeError, "weights: expected a floating dtype, got torch.bool"),
        (torch.ones(4, 5) * 1j, TypeError, "weights: expected a floating dtype, got torch.complex64"),
    ],
)
def test_what_are_no_weights_is_named(name: str, weights: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        OF_WEIGHTS[name](weights)
    assert str(raised.value) == message


@pytest.mark.parametrize("name", ["entropy", "entropy_share", "effective_tokens"])
def test_scores_have_no_entropy(name: str) -> None:
    with pytest.raises(ValueError) as raised:
        OF_WEIGHTS[name](torch.tensor([[0.5, -1.25, 3.0]]))
    assert str(raised.value) == "weights: expected no number below 0, got -1.25"


WRONG_VALUES: list[tuple[Callable[[], Tensor], str]] = [
    (lambda: sink_mass(A, 0), "n_first: expected a whole number of at least 1, got 0"),
    (
        lambda: entropy_share(A, torch.ones(2, 4, 5, dtype=torch.bool)),
        "mask: expected a shape that broadcasts to (..., s, u) = (2, 3, 4, 5), got (2, 4, 5)",
    ),
    (
        lambda: entropy_share(A[0, 0], torch.ones(2, 4, 5)),  # would make two maps of one
        "mask: expected a shape that broadcasts to (..., s, u) = (4, 5), got (2, 4, 5)",
    ),
    (lambda: induction_mass(A, range(4)), "ids: expected shape (..., n=5), got (4,)"),
    (lambda: duplicate_token_mass(A, ["a"] * 6), "ids: expected shape (..., n=5), got (6,)"),
    (lambda: induction_mass(A, torch.tensor(5)), "ids: expected shape (..., n), got ()"),
    (lambda: seen_before(torch.tensor(5)), "ids: expected shape (..., n), got ()"),
    (lambda: seen_before(5), "ids: expected shape (..., n), got ()"),
    (lambda: seen_before([["a", "b"], ["a"]]), "ids: expected sequences of one length, got several lengths"),
    (lambda: seen_before([["a", "b"], "a"]), "ids: expected sequences of one length, got several lengths"),
    (
        lambda: induction_mass(A, torch.zeros(3, 5, dtype=torch.int64)),
        "ids: expected a shape that broadcasts to (2, 3, 5), its head axis (-2) left out or not, got (3, 5)",
    ),
    (
        lambda: induction_mass(A[0, 0], torch.zeros(2, 5, dtype=torch.int64)),
        "ids: expected a shape that broadcasts to (5,), its head axis (-2) left out or not, got (2, 5)",
    ),
    (
        lambda: induction_mass(A.mT, range(4)),
        "weights: expected no more query tokens s than ids, 4, got (2, 3, 5, 4)",
    ),
    (lambda: induction_mass(A, range(5), offset=-1), "offset: expected a whole number of at least 0, got -1"),
    (
        lambda: duplicate_token_mass(A, range(5), offset=2),
        "offset: expected at most u - s = 1, so that each query token s + offset has an id, got 2",
    ),
    (lambda: score(torch.tensor(1.0)), "mass: expected shape (..., s), got ()"),
    (
        lambda: score(A[..., 0], torch.ones(3, 4, dtype=torch.bool)),
        "where: expected a shape that broadcasts to (2, 3, 4), its head axis (-2) left out or not, got (3, 4)",
    ),
    (lambda: contribution(A, torch.ones(4, 2)), "value: expected shape (..., u=5, d), got (4, 2)"),
    (
        lambda: contribution(A, torch.ones(2, 2, 5, 2)),
        "value: expected leading axes that broadcast with weights' (2, 3), or heads (axis -3) that divide them,"
        " got (2, 2)",
    ),
    (lambda: contribution(A, torch.ones(5, 2), torch.ones(6)), "w_o: expected shape (h*d, m), got (6,)"),
    (
        lambda: contribution(A, torch.ones(5, 2), torch.ones(4, 7)),
        "w_o: expected shape (d=2, m) or (h*d=6, m), got (4, 7)",
    ),
    (
        lambda: contribution(A[0, 0], torch.ones(5, 2), torch.ones(6, 7)),
        "w_o: expected shape (d=2, m), got (6, 7)",
    ),
    (lambda: rollout([]), "layers: expected at least one tensor (..., h, s, u), got none"),
    (lambda: rollout([torch.ones(4, 4)]), "layers[0]: expected shape (..., h, s, u), got (4, 4)"),
    (lambda: rollout([A]), "layers[0]: expected shape (..., h, s=4, u=4), got (2, 3, 4, 5)"),
    (
        lambda: rollout([A[..., :4], A[:, :, :3, :3]]),
        "layers[1]: expected shape (..., h, s=4, u=4), got (2, 3, 3, 3)",
    ),
    (
        lambda: rollout([A[..., :4], A[0, ..., :4]]),
        "layers[1]: expected at least one head, and the leading axes (2,) of layers[0], got shape (3, 4, 4)",
    ),
    (
        lambda: rollout([torch.ones(0, 4, 4)]),
        "layers[0]: expected at least one head, and the leading axes () of layers[0], got shape (0, 4, 4)",
    ),
]


@pytest.mark.parametrize(("call", "message"), WRONG_VALUES)
def test_wrong_values_are_named(call: Callable[[], Tensor], message: str) -> None:
    with pytest.raises(ValueError) as raised:
        call()
    assert str(raised.value) == message


WRONG_TYPES: list[tuple[Callable[[], Tensor], str]] = [
    (lambda: sink_mass(A, 1.0), "n_first: expected a whole number of at least 1, got 1.0"),
    (lambda: mean_distance(A, offset=0.5), "offset: expected a whole number, got 0.5"),
    (lambda: previous_token_mass(A, offset=None), "offset: expected a whole number, got None"),
    (lambda: induction_mass(A, range(5), offset=1.0), "offset: expected a whole number of at least 0, got 1.0"),
    (
        lambda: entropy_share(A, torch.ones(4, 5, dtype=torch.int64)),
        "mask: expected dtype bool (True = may attend) or floating (added), got torch.int64",
    ),
    (lambda: entropy_share(A, [True] * 5), "mask: expected a torch.Tensor, got list"),
    (
        lambda: induction_mass(A, torch.ones(5)),
        "ids: expected a whole number or a string for each token, got dtype torch.float32",
    ),
    (
        lambda: seen_before("the cat"),
        "ids: expected a whole number or a string for each token, got one string of 7 characters",
    ),
    (lambda: seen_before([1, 2.0]), "ids: expected a whole number or a string for each token, got float"),
    (lambda: seen_before(["a", None]), "ids: expected a whole number or a string for each token, got NoneType"),
    (lambda: seen_before({"a", "b"}), "ids: expected a whole number or a string for each token, got set"),
    (lambda: score([0.5]), "mass: expected a torch.Tensor, got list"),
    (lambda: score(torch.ones(3).long()), "mass: expected a floating dtype, got torch.int64"),
    (
        lambda: score(torch.ones(3), torch.ones(3)),
        "where: expected dtype torch.bool (True = the row counts), got torch.float32",
    ),
    (lambda: score(torch.ones(3), [True] * 3), "where: expected a torch.Tensor, got list"),
    (
        lambda: contribution(A, torch.ones(5, 2).half()),
        "value: expected dtype torch.float32 as weights has, got torch.float16",
    ),
    (
        lambda: contribution(A, torch.ones(5, 2), torch.ones(2, 2).double()),
        "w_o: expected dtype torch.float32 as weights has, got torch.float64",
    ),
    (lambda: rollout(A), "layers: expected a sequence of tensors (..., h, s, u), got Tensor"),
    (lambda: rollout([A[..., :4].long()]), "layers[0]: expected a floating dtype, got torch.int64"),
    (
        lambda: rollout([A[..., :4], A[..., :4].double()]),
        "layers[1]: expected dtype torch.float32 as layers[0] has, got torch.float64",
    ),
    (lambda: rollout([A[..., :4], cast("Tensor", None)]), "layers[1]: expected a torch.Tensor, got NoneType"),
]


@pytest.mark.parametrize(("call", "message"), WRONG_TYPES)
def test_wrong_types_are_named(call: Callable[[], Tensor], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == message
