"""A run: its numbers bit by bit, what it keeps, how it fails, and what it learns."""

import math
import threading
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.limits import LIMITS, SNAPSHOT_BYTES, SNAPSHOTS, TRAINING_SYMBOLS
from attnviz.training import trainer
from attnviz.training.model import Weights, forward, initial
from attnviz.training.recipe import Recipe
from attnviz.training.scores import head_scores
from attnviz.training.tasks import held_out, perfect
from attnviz.training.trainer import EVERY, Adam, Training, evaluate, stride, train

SMALL = Recipe(layers=1, width=8, steps=40)
TEXT = "the cat sat on the mat, and the dog sat on the cat. " * 8


def trained(recipe: Recipe) -> Training:
    training = Training(recipe)
    for _ in training:
        pass
    return training


def same(left: Weights, right: Weights) -> bool:
    return all(torch.equal(one, two) for (_, one), (_, two) in zip(left.items(), right.items(), strict=True))


def best(training: Training, name: str) -> dict[int, float]:
    """The highest last score of that name in each layer."""
    scores = training.history[-1].scores
    layers = range(training.recipe.layers)
    return {layer: max(by[name] for at, by in scores.items() if at[0] == layer) for layer in layers}


# ---- numbers ----


@pytest.mark.parametrize("task", ["repeat", "reverse", "sort", "copy", "text"])
def test_the_same_recipe_gives_the_same_numbers_and_another_seed_others(task: str) -> None:
    recipe = Recipe(task, layers=1, width=8, steps=20, text=TEXT)
    one, two, other = trained(recipe), trained(recipe), trained(Recipe(task, 1, 1, 8, seed=1, steps=20, text=TEXT))
    assert same(one.weights, two.weights) and not same(one.weights, other.weights)
    assert [progress[:4] for progress in one.history] == [progress[:4] for progress in two.history]


def test_random_numbers_drawn_elsewhere_and_a_second_run_change_nothing() -> None:
    alone = trained(SMALL)
    before = torch.random.get_rng_state()
    assert same(trained(SMALL).weights, alone.weights)
    assert torch.equal(torch.random.get_rng_state(), before)  # it takes nothing of what others share

    stop, found = threading.Event(), []

    def draw() -> None:
        while not stop.wait(0.0005):
            torch.rand(10)

    drawing = threading.Thread(target=draw)
    runs = [threading.Thread(target=lambda: found.append(trained(SMALL))) for _ in range(2)]
    for thread in (drawing, *runs):
        thread.start()
    for thread in runs:
        thread.join()
    stop.set()
    drawing.join()
    assert len(found) == 2 and all(same(run.weights, alone.weights) for run in found)


def test_training_does_what_torchs_adamw_does() -> None:
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(3, 4, generator=generator), torch.randn(5, generator=generator)]
    ours = [tensor.clone().requires_grad_() for tensor in start]
    theirs = [tensor.clone().requires_grad_() for tensor in start]
    adam, torchs = Adam(ours, 0.05), torch.optim.AdamW(theirs, lr=0.05, fused=True)
    for _ in range(20):
        for one, two in zip(ours, theirs, strict=True):
            one.grad = torch.randn(one.shape, generator=generator)
            two.grad = one.grad.clone()
        adam.step()
        torchs.step()
    assert all(torch.equal(one, two) for one, two in zip(ours, theirs, strict=True))
    assert not torch.equal(ours[0], start[0]) and ours[0].grad is None


def test_the_untrained_loss_is_that_of_guessing() -> None:
    for task in ("repeat", "reverse", "sort", "copy"):
        training = Training(Recipe(task, width=64))
        first = training.step()
        assert first is not None and first.step == 0
        assert first.loss == pytest.approx(math.log(len(training.recipe.vocabulary)), rel=0.02)


# ---- what is kept ----


def test_progress_comes_step_by_step_and_is_measured_now_and_then() -> None:
    training = Training(SMALL)
    assert (training.history, training.step_number, training.done, training.measured) == ([], 0, False, None)
    assert same(training.weights, initial(SMALL)) and training.snapshots[0][0] == 0
    history = list(training)
    assert history == training.history and [progress.step for progress in history] == list(range(41))
    for progress in history:
        measured = progress.step % EVERY == 0
        assert (progress.accuracy is not None) == measured and bool(progress.scores) == measured
    seconds = [progress.seconds for progress in history]
    assert seconds == sorted(seconds) and seconds[0] > 0
    assert training.done and training.step() is None and len(training.history) == 41
    assert training.measured is history[40]
    assert [progress.step for progress in train(SMALL)] == list(range(41))


def test_a_snapshot_gives_every_number_of_its_step_again() -> None:
    training = trained(Recipe(layers=2, width=8, steps=30))
    assert [step for step, _ in training.snapshots] == list(range(31))
    held = held_out(training.recipe, trainer.BATCH)
    for step, weights in training.snapshots[::EVERY]:
        accuracy, scores = evaluate(training.recipe, weights, held)
        assert (accuracy, scores) == (training.history[step].accuracy, training.history[step].scores)
    assert same(training.snapshots[-1][1], training.weights)


@given(st.integers(1, 4), st.sampled_from([8, 16, 32, 64]), st.integers(10, 2000), st.integers(2, TRAINING_SYMBOLS))
def test_snapshots_are_bounded_in_number_and_bytes(layers: int, width: int, steps: int, symbols: int) -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + symbols))) * (1 + 400 // symbols)
    recipe = Recipe("text", layers, 1, width, steps=steps, text=text)
    every = stride(recipe)
    kept = len({0, steps, *range(0, steps + 1, every)}) + 1  # and one where it was stopped between two
    assert kept <= SNAPSHOTS and kept * 4 * recipe.n_parameters <= SNAPSHOT_BYTES <= 50 * 2**20
    assert every == 1 or kept > min(SNAPSHOTS, SNAPSHOT_BYTES // (4 * recipe.n_parameters)) / 2 - 2


def test_the_largest_model_keeps_what_was_counted() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + TRAINING_SYMBOLS))) * 2
    recipe = Recipe("text", layers=4, width=64, steps=2000, text=text)
    assert recipe.n_parameters == sum(weight.numel() for _, weight in initial(recipe).items())
    assert max(weight.element_size() for _, weight in initial(recipe).items()) == 4


def test_a_long_run_keeps_evenly_spaced_snapshots_and_the_last() -> None:
    training = trained(Recipe(layers=1, width=8, steps=250, task="copy"))
    steps = [step for step, _ in training.snapshots]
    assert steps[0] == 0 and steps[-1] == 250 and len(steps) <= SNAPSHOTS
    assert {later - earlier for earlier, later in pairwise(steps[:-1])} == {3}


def test_a_run_that_is_left_between_two_snapshots_keeps_its_last_weights() -> None:
    training = Training(Recipe(layers=1, width=8, steps=1000))
    for _ in range(15):
        training.step()
    assert training.step_number == 14 and training.snapshots[-1][0] == 11
    training.finish()
    training.finish()
    assert [step for step, _ in training.snapshots] == [0, 11, 14]
    assert same(training.snapshots[-1][1], training.weights)


# ---- failure ----


def test_a_huge_learning_rate_ends_at_the_step_whose_loss_is_no_number() -> None:
    training = trained(Recipe(learning_rate=LIMITS["learning_rate"].high))
    assert training.failed is not None and training.failed.code == "loss_not_finite"
    assert training.failed.step == training.step_number + 1 < 20
    assert training.done and training.step() is None
    assert all(math.isfinite(progress.loss) for progress in training.history)
    assert all(weight.isfinite().all() for _, weight in training.weights.items())
    assert training.snapshots[-1][0] == training.step_number and same(training.snapshots[-1][1], training.weights)


def test_the_weights_kept_are_those_of_the_last_finite_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([1.0] * 4 + [math.nan])
    real = trainer.loss_of
    monkeypatch.setattr(trainer, "loss_of", lambda logits, asked: real(logits, asked) * 0 + next(losses))
    training = trained(SMALL)
    assert training.failed == ("loss_not_finite", 4) and training.step_number == 3


# ---- what is learned ----


def test_an_induction_head_forms_and_a_previous_token_head_below_it() -> None:
    training = trained(Recipe(steps=200))
    assert best(training, "induction")[1] > 0.8 > 0.3 > best(training, "induction")[0]
    assert best(training, "previous")[0] > 0.7 > 0.3 > best(training, "previous")[1]
    last = training.history[-1]
    assert last.accuracy is not None and last.accuracy > 0.95 and last.loss < 0.2
    first = training.history[0].scores
    assert all(by[name] < 0.2 for by in first.values() for name in by)


def test_one_layer_never_gets_there() -> None:
    training = trained(Recipe(layers=1, steps=300))
    scores = [progress.scores[0, 0]["induction"] for progress in training.history if progress.scores]
    assert len(scores) > 50 and max(scores) < 0.4
    assert max(progress.accuracy or 0 for progress in training.history) < 0.6


def test_without_positions_nothing_is_reversed() -> None:
    with_positions, without = (trained(Recipe("reverse", 1, positions=p, steps=60)) for p in ("learned", "none"))
    assert best(with_positions, "reverse")[0] > 0.8 and (with_positions.history[-1].accuracy or 0) > 0.95
    assert best(without, "reverse")[0] < 0.2 and (without.history[-1].accuracy or 0) < 0.4


@pytest.mark.parametrize("task", ["copy", "sort"])
def test_copying_and_sorting_are_learned(task: str) -> None:
    training = trained(Recipe(task, steps=150))
    assert (training.history[-1].accuracy or 0) > 0.8
    assert max(best(training, task).values()) > 1.5 * max(by[task] for by in training.history[0].scores.values())


def test_a_text_is_learned_better_than_by_guessing() -> None:
    training = trained(Recipe("text", text=TEXT, steps=60))
    assert set(training.history[-1].scores[0, 0]) == {"previous", "induction", "entropy"}
    assert training.history[-1].loss < 0.7 * training.history[0].loss


@pytest.mark.parametrize("task", ["repeat", "reverse", "sort", "copy"])
def test_the_scores_of_a_head_are_the_mass_on_the_perfect_map(task: str) -> None:
    recipe = Recipe(task, layers=2, heads=2, width=16)
    tokens = held_out(recipe, 3).tokens
    layers = forward(recipe, initial(recipe), tokens, keep=True).layers
    found = head_scores(recipe, tokens, layers)
    assert set(found) == {(layer, head) for layer in (0, 1) for head in (0, 1)}
    for (layer, head), by_name in found.items():
        for name, value in by_name.items():
            means = []
            for sequence, weights in zip(tokens, layers[layer].trace.weights[:, head], strict=True):
                keys = perfect(recipe, sequence)[name] > 0  # (s, u)
                rows = [weights[s][keys[s]].sum() for s in range(len(keys)) if keys[s].any()]
                means.append(torch.stack(rows).mean())
            assert value == pytest.approx(float(torch.stack(means).mean()), abs=1e-6)
