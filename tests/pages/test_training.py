"""The page on which a model is trained: its settings, its run, the replay, and what is taken home."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
import torch

from attnviz.experiment import Experiment
from attnviz.limits import TRAINING_AT_ONCE, TRAINING_WAITING
from attnviz.training import tasks
from attnviz.training.checkpoint import from_bytes
from attnviz.training.job import Job
from attnviz.training.model import forward, initial
from attnviz.training.recipe import Recipe
from attnviz.training.runs import Runs
from attnviz.ui import home as take_home
from attnviz.ui.training import home, jobs, replay, settings
from tests.export.test_long_program import ran
from tests.figures.reading import names, z
from tests.pages.session import Session


@pytest.fixture(autouse=True)
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    """A server's line of jobs for each test."""
    line = Runs()
    monkeypatch.setattr(jobs, "RUNS", line)
    yield line
    line.close()


QUICK = {"steps": "40", "width": "16"}


def trained(session: Session, seconds: float = 300) -> Session:
    """Wait until the session's training has ended, as its page does by itself."""
    deadline = time.monotonic() + seconds
    while jobs.running(job(session)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    session.at.run()
    assert session.sound()
    return session


def job(session: Session) -> Job:
    found: Job = session.at.session_state["_job"]
    return found


def drawn(session: Session) -> dict[str, Any]:
    """The maps of the heads by layer and head."""
    figure = session.charts()["maps-trained"]
    return {name: z(figure, name) for name in names(figure)}


def test_before_the_training_the_maps_are_those_of_the_untrained_model() -> None:
    session = Session("training")
    assert session.sound() and "Not trained yet" in session.words()
    recipe = Recipe()
    tokens = tasks.held_out(recipe, 1).tokens
    read = forward(recipe, initial(recipe), tokens, keep=True)
    for layer in range(2):
        assert np.array_equal(drawn(session)[f"map.{layer}.0"], read.layers[layer].trace.weights[0, 0].numpy())


def test_a_training_is_run_replayed_and_taken_home() -> None:
    session = trained(Session("training", **QUICK).press("train"))
    training = job(session).trainings[0]
    assert session.said() == [] and session.view.lab.ran and job(session).state == "done"
    assert {"training-loss", "training-accuracy", "training-heads"} <= set(session.charts())
    losses = z_of_line(session.charts()["training-loss"])
    assert losses == pytest.approx([p.loss for p in training.history], rel=1e-6)
    tokens = tasks.held_out(training.recipe, 1).tokens
    for step, weights in (training.snapshots[3], training.snapshots[-1]):
        session.set("at_step", step)
        assert session.view.lab.at_step == step
        read = forward(training.recipe, weights, tokens, keep=True)
        shown = drawn(session)
        for layer in range(2):
            assert np.array_equal(shown[f"map.{layer}.0"], read.layers[layer].trace.weights[0, 0].numpy())
    (file,) = [e for e in session.at.get("download_button") if e.proto.id.endswith("take-home")]
    assert file.proto.label == "Take the weights home"


def z_of_line(figure: dict[str, Any]) -> list[float]:
    """The numbers of a chart's first line."""
    values = figure["data"][0]["y"]
    if isinstance(values, dict):
        import base64

        return list(np.frombuffer(base64.b64decode(values["bdata"]), dtype=np.dtype(values["dtype"])).astype(float))
    return [float(value) for value in values]


def test_a_link_trains_again_and_shows_the_same_numbers() -> None:
    first = trained(Session("training", **QUICK).press("train"))
    first.set("at_step", 20)
    query = dict(pair.split("=") for pair in first.link.split("&"))
    assert query["ran"] == "1" and query["at_step"] == "20"
    other = trained(Session("training", **query))
    for name, values in drawn(first).items():
        assert np.array_equal(values, drawn(other)[name]), name


def test_a_training_survives_a_change_of_page_and_the_next_replaces_it() -> None:
    session = Session("training", steps="2000").press("train")
    first = job(session)
    assert jobs.running(first)
    session.go("explore").go("training")
    assert job(session) is first and jobs.running(first)
    session.open("more-training").set("steps", 40)
    assert not session.view.lab.ran
    session.press("train")
    assert job(session) is not first
    trained(session)
    deadline = time.monotonic() + 60
    while first.state == "training" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert first.state == "stopped"


def test_stop_keeps_what_is_learned() -> None:
    session = Session("training", steps="2000").press("train")
    deadline = time.monotonic() + 60
    while job(session).trainings[0].step_number < 15 and time.monotonic() < deadline:
        time.sleep(0.05)
    session.at.run()
    assert session.charts()["training-loss"]
    session.press("stop-training")
    trained(session)
    step = job(session).trainings[0].step_number
    assert 15 <= step < 2000 and f"Stopped at step {step}" in " ".join(session.said())
    assert job(session).trainings[0].snapshots[-1][0] == step == session.view.lab.at_step
    session.press("train")
    assert session.view.lab.at_step == 2000
    job(session).stop()


def test_a_learning_rate_that_is_too_high_is_said_with_its_step() -> None:
    session = trained(Session("training", learning_rate="1000", steps="40").press("train"))
    training = job(session).trainings[0]
    assert training.failed is not None
    assert f"At step {training.failed.step} the loss was no number any more" in " ".join(session.said())
    assert all(tensor.isfinite().all() for _, tensor in training.weights.items())


def test_two_models_are_trained_side_by_side() -> None:
    session = trained(Session("training", beside="layers", **QUICK).press("train"))
    assert [t.recipe.layers for t in job(session).trainings] == [2, 1]
    assert len(session.charts()["training-loss"]["data"]) == 2
    session.set("which", 1)
    assert "map.1.0" not in drawn(session) and "map.0.0" in drawn(session)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"task": "text", "learn": "aaaa" * 40}, "one character over and over"),
        ({"task": "text", "learn": "short"}, "100 to 20,000 characters"),
        ({"task": "text"}, "100 to 20,000 characters"),
        ({"width": "8", "heads": "8", "places": "rope_half"}, "RoPE turns features in pairs"),
        ({"width": "20", "heads": "8"}, "8 heads cannot share a width of 20"),
        ({"layers": "9"}, "layers = 9"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(query: dict[str, str], words: str) -> None:
    session = Session("training", **query)
    assert session.sound() and words in " ".join(session.said())


def test_an_example_text_can_be_taken_and_learned() -> None:
    session = Session("training", task="text", steps="10").press("learn:example")
    assert session.said() == []
    trained(session.press("train"))
    assert not [name for name in drawn(session) if name.startswith("perfect")]


@pytest.mark.parametrize(
    ("task", "typed", "words"),
    [
        ("repeat", "a?b", "is no letter that the model knows"),
        ("sort", "12a", "“a” is no digit"),
        ("reverse", "abcdefghijklmnop", "reads 10 at most, and this is 16"),
    ],
)
def test_a_sequence_that_cannot_be_read_is_said_and_stays_typed(task: str, typed: str, words: str) -> None:
    session = Session("training", task=task)
    session.set("sequence", typed)
    assert session.sound() and words in " ".join(session.said())
    assert session.view.lab.sequence == typed and session.widget("sequence").value == typed


def test_the_readers_own_sequence_is_read() -> None:
    session = Session("training")
    session.set("sequence", "a b a b")
    recipe = Recipe()
    read = forward(recipe, initial(recipe), torch.tensor([[0, 1, 0, 1]]), keep=True)
    assert np.array_equal(drawn(session)["map.1.0"], read.layers[1].trace.weights[0, 0].numpy())
    assert "of 1 places right" in session.words()  # the third letter stood before; what follows the last is not known


def test_a_click_on_a_map_chooses_its_head_and_its_cell_explains_itself() -> None:
    session = Session("training", layers="2", heads="2")
    session.click("map.1.1", 5, 3)
    assert (session.view.lab.layer, session.view.lab.head, session.view.s, session.view.u) == (1, 1, 5, 3)
    recipe = Recipe(heads=2)
    tokens = tasks.held_out(recipe, 1).tokens
    weight = float(forward(recipe, initial(recipe), tokens, keep=True).layers[1].trace.weights[0, 1, 5, 3])
    session.at.run()
    assert f"{weight:.2f}" in session.words()
    assert np.array_equal(
        z(session.charts()["scores"], "weights"),
        forward(recipe, initial(recipe), tokens, keep=True).layers[1].trace.weights[0, 1].numpy(),
    )


@pytest.mark.parametrize("positions", ["none", "learned", "sinusoidal", "rope_half", "alibi"])
@pytest.mark.parametrize("task", ["repeat", "reverse", "text"])
def test_explore_computes_the_trace_of_the_trained_layer(task: str, positions: str) -> None:
    recipe = Recipe(task, heads=2, positions=positions, text=settings.EXAMPLE if task == "text" else "")
    weights = initial(recipe)
    tokens = tasks.held_out(recipe, 1).tokens
    read = forward(recipe, weights, tokens, keep=True).layers[1]
    opened = home.experiment(recipe, tasks.decode(recipe, tokens[0]), weights.layers[1], read)
    trace = opened.run().trace
    assert trace is not None
    for name in ("scores", "weights", "value", "output"):
        torch.testing.assert_close(getattr(trace, name), getattr(read.trace, name), rtol=1e-5, atol=1e-5)


def test_open_in_explore_shows_the_layer_there() -> None:
    session = Session("training", sequence="abab").press("to-explore")
    assert session.experiment.text == "a b a b" and session.experiment.w_q is not None
    assert isinstance(session.experiment, Experiment) and session.experiment.mask == "causal"


def test_explores_link_has_nothing_of_learning_which_finds_its_settings_again() -> None:
    session = Session("training", sequence="abab", task="reverse", layers="3", steps="50").press("to-explore")
    session.go("explore")
    query = parse_qs(session.link)
    assert set(query) & set(home.SETTINGS) == set()
    assert query["text"] == ["a b a b"]
    session.go("training")
    lab = session.linked[1].lab
    assert (lab.task, lab.layers, lab.steps, lab.sequence) == ("reverse", 3, 50, "abab")
    assert session.widget("layers").value == 3


def test_three_train_at_once_the_next_waits_and_explore_still_answers() -> None:
    busy = [Session("training", steps="2000", draw=str(i)).press("train") for i in range(TRAINING_AT_ONCE)]
    waits = Session("training", steps="2000").press("train")
    deadline = time.monotonic() + 60
    while [job(s).state for s in busy] != ["training"] * len(busy) and time.monotonic() < deadline:
        time.sleep(0.05)
    waits.at.run()
    assert job(waits).state == "waiting" and job(waits).place == 1
    explore = Session("explore")
    for text in ("a b", "a b c", "the cat"):
        explore.set("text_line", text)
        assert explore.sound() and explore.numbers()["weights"].shape == (len(text.split()),) * 2
    assert [job(s).state for s in busy] == ["training"] * len(busy)


def test_a_full_line_is_said(line: Runs) -> None:
    holders = [line.submit([Recipe(steps=2000)], alive=lambda: True) for _i in range(TRAINING_AT_ONCE)]
    deadline = time.monotonic() + 60
    while [held.state for held in holders] != ["training"] * len(holders) and time.monotonic() < deadline:
        time.sleep(0.05)
    for _i in range(TRAINING_WAITING):
        line.submit([Recipe(steps=2000)], alive=lambda: True)
    session = Session("training").press("train")
    assert session.sound() and "The server trains as much as it can" in " ".join(session.said())


def test_a_checkpoint_taken_home_is_the_model_shown() -> None:
    session = trained(Session("training", **QUICK).press("train"))
    training = job(session).trainings[0]
    data = home.packed(replay.Shown(training.recipe, *training.snapshots[-1], training))
    recipe, weights, meta = from_bytes(data)
    assert recipe == training.recipe and meta.step == 40 and meta.accuracy == training.history[-1].accuracy
    assert all(torch.equal(a, b) for (_, a), (_, b) in zip(weights.items(), training.weights.items(), strict=True))
    assert "attention-only" in meta.card


def test_a_head_is_taken_home_as_it_is_after_the_chosen_step(monkeypatch: pytest.MonkeyPatch) -> None:
    offered: dict[str, Any] = {}
    monkeypatch.setattr(
        take_home, "_offer", lambda kind, taken, make, _name="": offered.update({kind: (taken, lambda: make(taken))})
    )
    session = Session("training", layer="1", head="1", heads="2", **QUICK).open("home")
    assert session.sound()
    taken, _made = offered["py"]
    assert taken.about.title.endswith("after step 0, layer 2, head 2") and taken.blocks == ("scores", "output")
    found, _printed = ran(offered["py"][1]())
    recipe = Recipe(steps=40, width=16, heads=2)
    own = tasks.held_out(recipe, 1).tokens
    trace = forward(recipe, initial(recipe), own, keep=True).layers[1].trace
    torch.testing.assert_close(found["a"][0, 0], trace.weights[0, 1].detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found["O"][0, 0], trace.output[0, 1].detach(), rtol=1e-5, atol=1e-6)
    assert "plotly" in offered["html"][1]() and found["tokens"] == [tasks.decode(recipe, own[0])]
