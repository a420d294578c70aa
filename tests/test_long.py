"""What is held of a long text is what a whole run holds: every mask, position and head, with edits and padding."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz import long
from attnviz.core.arithmetic import STEPS, explain
from attnviz.core.pooling import pooled_weights
from attnviz.drawing import write_drawing
from attnviz.experiment import CHOICES, Experiment
from attnviz.limits import LONG_BYTES, LONG_TOKENS, TOKENS, TRACE_BYTES
from attnviz.run import PAD, embedded, without_trace

QUICK = settings(max_examples=80, deadline=None)
DRAWING = write_drawing([[True, False, True], [False, False, False], [True, True, False]])
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}


@st.composite
def experiments(draw: Any) -> Experiment:
    lines = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    n_heads = draw(st.sampled_from([1, 2, 4]))
    sizes = {name: draw(st.integers(1, 6)) for name in ("d_model", "d_k", "d_v")}
    edits: dict[str, Any] = {}
    for name, n_axes in (("x", 3), ("w_k", 2), ("q", 3), ("k", 3), ("v", 3)):
        if draw(st.booleans()):
            index = tuple(draw(st.integers(0, most)) for most in ((2, 12, 9) if n_axes == 3 else (5, 9)))
            edits[name] = ((index, 2.5),)
    return Experiment(
        "\n".join(" ".join(f"w{i * 7 % 5}" for i in range(n)) for n in lines),
        n_heads=n_heads,
        n_kv_heads=draw(st.sampled_from([n for n in (1, 2, 4) if n_heads % n == 0])),
        mask=draw(st.sampled_from(CHOICES["mask"])),
        positions=draw(st.sampled_from(CHOICES["positions"])),
        scale=draw(st.sampled_from(CHOICES["scale"])),
        temperature=draw(st.sampled_from([1.0, 0.5])),
        drawn=DRAWING,
        window_left=draw(st.integers(0, 4)),
        window_right=draw(st.integers(0, 3)),
        seed=draw(st.integers(0, 9)),
        **sizes,
        **edits,
    )


def head(experiment: Experiment, b: int, h: int) -> long.Long:
    held = long.of(without_trace(experiment), experiment, b, h).long
    assert held is not None
    return held


@QUICK
@given(experiments(), st.data())
def test_rows_and_cells_are_those_of_the_whole_run(experiment: Experiment, data: Any) -> None:
    run = experiment.run()
    trace = run.trace
    assert trace is not None
    b, h = data.draw(st.integers(0, len(run.tokens) - 1)), data.draw(st.integers(0, experiment.n_heads - 1))
    n, group = len(run.tokens[0]), experiment.n_heads // (experiment.n_kv_heads or experiment.n_heads)
    of = long.of(without_trace(experiment), experiment, b, h)
    held = head(experiment, b, h)
    first = data.draw(st.integers(0, n - 1))
    end = data.draw(st.integers(first + 1, n))
    rows = held.rows(first, end)
    for step in ("scores", "scaled", "masked", "weights", "output"):
        torch.testing.assert_close(getattr(rows, step), getattr(trace, step)[b, h, first:end], **CLOSE)
    torch.testing.assert_close(held.query, trace.query[b, h], **CLOSE)
    torch.testing.assert_close(held.key, trace.key[b, h // group], **CLOSE)
    torch.testing.assert_close(held.value, trace.value[b, h // group], **CLOSE)
    assert (of.unused, of.tokens, of.lengths, of.scale) == (run.unused, run.tokens, run.lengths, run.scale)
    assert of.has_mask == (run.seen is not None) == run.has_mask
    assert of.has_cost == (run.bias is not None) == run.has_cost
    s, u = first, data.draw(st.integers(0, n - 1))
    assert of.hides(b, s, u) == run.hides(b, s, u)
    assert of.cost(h, s, u) == run.cost(h, s, u)
    assert of.sees_nothing(b, h, s) == run.sees_nothing(b, h, s)


@QUICK
@given(experiments(), st.sampled_from(STEPS), st.data())
def test_the_arithmetic_of_a_cell_is_that_of_the_whole_run(experiment: Experiment, step: str, data: Any) -> None:
    run = experiment.run()
    assert run.trace is not None
    b, h = data.draw(st.integers(0, len(run.tokens) - 1)), data.draw(st.integers(0, experiment.n_heads - 1))
    of_head = h // (experiment.n_heads // (experiment.n_kv_heads or experiment.n_heads))
    of_head = of_head if step in ("key", "value") else h
    rows, columns = getattr(run.trace, step).shape[-2:]
    row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    found = head(experiment, b, h).explain(step, row, column)
    expected = explain(
        run.trace,
        step,
        (b, of_head, row, column),
        x=run.x,
        weight={"query": run.w_q, "key": run.w_k, "value": run.w_v}.get(step),
        mask=run.mask,
        scale=run.scale,
        projected={"query": run.projected_query, "key": run.projected_key}.get(step),
        rotary=run.rotary,
    )
    assert found.cell == pytest.approx(expected.cell, rel=1e-4, abs=1e-5)
    torch.testing.assert_close(found.products, expected.products, rtol=1e-4, atol=1e-5)
    assert found.total == pytest.approx(expected.total, rel=1e-4, abs=1e-5)


@QUICK
@given(experiments(), st.integers(1, 6))
def test_the_pooled_map_takes_the_same_mask(experiment: Experiment, size: int) -> None:
    run = experiment.run()
    assert run.trace is not None
    held = head(experiment, 0, 0)
    pooled = pooled_weights(held.query, held.key, mask=held.pooled_mask, scale=held.scale, size=size)
    mask = None if run.mask is None else run.mask.expand(len(run.tokens), experiment.n_heads, -1, -1)[0, 0]
    whole = pooled_weights(run.trace.query[0, 0], run.trace.key[0, 0], mask=mask, scale=run.scale, size=size)
    torch.testing.assert_close(pooled.values, whole.values, **CLOSE)


def test_a_head_is_named_by_what_its_weights_depend_on() -> None:
    experiment = Experiment("a b c", n_heads=2)
    name = head(experiment, 0, 1).name
    assert hash(name) == hash(head(experiment.with_cell("v", (0, 1, 0), 3), 0, 1).name)
    assert name == head(experiment.with_cell("v", (0, 1, 0), 3), 0, 1).name
    for other in (experiment.with_cell("x", (0, 1, 0), 3), Experiment("a b c", n_heads=2, mask="causal")):
        assert name != head(other, 0, 1).name
    assert name != head(experiment, 0, 0).name


@pytest.mark.parametrize(("n", "expected"), [(TOKENS, False), (TOKENS + 1, True)])
def test_a_text_is_long_past_the_tokens_of_a_whole_trace(n: int, expected: bool) -> None:
    assert long.is_long(Experiment("a " * n)) == expected


def test_a_batch_whose_trace_is_too_large_is_long_too() -> None:
    experiment = Experiment("\n".join(["a " * 400] * 8), n_heads=8)
    assert experiment.trace_bytes(400) > TRACE_BYTES
    assert long.is_long(experiment) and not long.is_long(Experiment(""))


def test_what_exceeds_the_limits_is_cut_before_it_is_computed() -> None:
    cut, n_cut = long.fitting(Experiment("a " * 40_000))
    assert n_cut == 40_000 - LONG_TOKENS
    assert len(cut.sequences[0]) == LONG_TOKENS and long.fitting(cut) == (cut, 0)
    batch = Experiment("\n".join(["a" * 32_768] * 8), tokenizer="characters", d_model=64)
    cut, n_cut = long.fitting(batch)
    n = len(cut.sequences[0])
    assert n_cut == 8 * (32_768 - n) > 0
    assert long.long_bytes(batch, n) <= LONG_BYTES < long.long_bytes(batch, n + 1)
    assert long.fitting(Experiment("a b")) == (Experiment("a b"), 0)


def test_the_bytes_that_are_held_are_counted_right() -> None:
    experiment = Experiment("a b c\na", d_model=5, d_k=4, d_v=3, positions="rope_half")
    held = head(experiment, 0, 0)
    tensors = [held.projected_query, held.projected_key, held.query, held.key, held.value]
    assert long.long_bytes(experiment, 3) == embedded(experiment).nbytes + sum(tensor.nbytes for tensor in tensors)


def test_padding_is_there_and_hidden() -> None:
    run = long.of(without_trace(Experiment("a b\na")), Experiment("a b\na"), 1, 0)
    assert run.tokens[1] == ("a", PAD) and run.has_mask
    assert run.hides(1, 0, 1) and not run.hides(1, 0, 0)
