"""What a history says of a training: when its heads formed and when its loss fell."""

from typing import NamedTuple

import pytest

from attnviz.labs.learning import Fall, Formed, heads_form, loss_falls
from attnviz.training.recipe import Recipe
from attnviz.training.threads import take_one_thread
from attnviz.training.trainer import Training


class Step(NamedTuple):
    """One step of a history made by hand."""

    step: int
    loss: float
    scores: dict[tuple[int, int], dict[str, float]] = {}  # noqa: RUF012  # read only


def test_the_step_at_which_a_head_first_gives_half_is_when_it_formed() -> None:
    history = [
        Step(0, 3.0, {(0, 0): {"previous": 0.1, "induction": 0.1}, (1, 1): {"previous": 0.0, "induction": 0.2}}),
        Step(5, 2.0, {(0, 0): {"previous": 0.4, "induction": 0.1}, (1, 1): {"previous": 0.0, "induction": 0.5}}),
        Step(6, 1.9),
        Step(10, 1.0, {(0, 0): {"previous": 0.9, "induction": 0.1}, (1, 1): {"previous": 0.0, "induction": 0.9}}),
    ]
    assert heads_form(history) == (Formed(10, 0, 0), Formed(5, 1, 1))
    assert heads_form(history[:1]) == (None, None)


def test_the_fall_of_the_loss_begins_where_it_is_still_high_and_ends_where_it_is_low() -> None:
    losses = [4.0, 3.9, 3.5, 2.0, 3.45, 1.0, 0.5]
    history = [Step(i, loss) for i, loss in enumerate(losses)]
    assert loss_falls(history) == Fall(4, 5, 4.0, 3.45, 1.0)
    assert loss_falls(history[:5]) is None and loss_falls([]) is None


def test_a_loss_that_falls_at_once_falls_from_its_first_step() -> None:
    assert loss_falls([Step(0, 4.0), Step(1, 0.5)]) == Fall(0, 1, 4.0, 4.0, 0.5)


@pytest.fixture(scope="module")
def two_layers() -> Training:
    """A real training, of two layers on repeated sequences."""
    take_one_thread()
    training = Training(Recipe(steps=120))
    assert [progress.step for progress in training][-1] == 120
    return training


def test_both_heads_form_together_and_the_loss_falls_then(two_layers: Training) -> None:
    previous, induction = heads_form(two_layers.history)
    fall = loss_falls(two_layers.history)
    assert previous is not None and induction is not None and fall is not None
    assert (previous.layer, induction.layer) == (0, 1)
    assert abs(previous.step - induction.step) <= 30
    assert fall.end - fall.begin < 60 and fall.begin >= 15
    assert fall.begin <= induction.step + 5 and previous.step <= fall.end + 15


def test_one_layer_and_no_positions_do_not_get_there(two_layers: Training) -> None:
    right = two_layers.history[-1].accuracy
    assert right is not None and right > 0.9
    for poorer in (Recipe(steps=120, layers=1), Recipe(steps=120, positions="none")):
        last = list(Training(poorer))[-1].accuracy
        assert last is not None and last < 0.5
