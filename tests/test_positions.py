"""Positions in an Experiment: each kind is what the core computes, reaches every cell, and keeps to the limits."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from attnviz.core import masks
from attnviz.core.arithmetic import explain
from attnviz.core.embeddings import embed
from attnviz.core.heads import split_heads
from attnviz.core.multi_head import multi_head
from attnviz.core.positions import Rotary, alibi, learned, sinusoidal
from attnviz.experiment import CHOICES, STEPS, Experiment, View
from attnviz.limits import TRACE_BYTES
from attnviz.links import from_query, read_query, to_query

KINDS = CHOICES["positions"]
LAYOUTS: dict[str, Any] = {"rope_half": "half", "rope_interleaved": "interleaved"}
SIZES: list[dict[str, Any]] = [{}, {"n_heads": 4, "n_kv_heads": 2, "d_k": 6, "d_v": 3, "d_model": 5, "seed": 3}]
TEXT = "the cat sat on the mat"


def reference(e: Experiment) -> Any:
    """The trace of one unedited, unpadded sequence, by the core alone."""
    n, rotary, bias = len(e.sequences[0]), None, None
    x = embed(e.sequences[0], e.d_model, e.seed)[None]  # (b, s, m)
    if e.positions == "sinusoidal":
        x = x + sinusoidal(n, e.d_model)
    elif e.positions == "learned":
        x = x + learned(n, e.d_model, e.seed)
    elif e.positions == "alibi":
        bias = alibi(n, n, e.n_heads)[None]
    else:
        rotary = None if e.positions == "none" else Rotary(LAYOUTS[e.positions])
    run = e.run()
    causal = masks.causal(n, n) if e.mask == "causal" else None
    groups: dict[str, Any] = {"n_heads": e.n_heads, "n_kv_heads": e.n_kv_heads}
    weights = {"w_q": run.w_q, "w_k": run.w_k, "w_v": run.w_v}
    return multi_head(x, **weights, **groups, mask=masks.combine(causal, bias), scale=run.scale, rotary=rotary)


@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize("sizes", SIZES, ids=["default", "grouped"])
def test_a_run_is_what_multi_head_attention_computes(positions: str, mask: str, sizes: dict[str, Any]) -> None:
    e = Experiment(TEXT, positions=positions, mask=mask, **sizes)
    run, expected = e.run(), reference(e)
    assert run.trace is not None
    for name, ours, theirs in zip(run.trace._fields, run.trace, expected.trace, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6, msg=name)
    assert run.projected_query is not None and run.projected_key is not None
    torch.testing.assert_close(run.projected_query, expected.projected_query)
    torch.testing.assert_close(run.projected_key, expected.projected_key)
    assert (run.rotary is not None) == (positions in LAYOUTS) == (run.projected_query is not run.trace.query)


@pytest.mark.parametrize("positions", KINDS)
def test_each_sequence_of_a_batch_is_computed_as_if_alone(positions: str) -> None:
    whole = Experiment(f"{TEXT}\nthe dog ran\nbirds", positions=positions, n_heads=2, mask="prefix").run()
    assert whole.trace is not None
    for b, line in enumerate((TEXT, "the dog ran", "birds")):
        alone = Experiment(line, positions=positions, n_heads=2, mask="prefix").run().trace
        assert alone is not None
        n = whole.lengths[b]
        torch.testing.assert_close(whole.trace.output[b, :, :n], alone.output[0], rtol=1e-5, atol=1e-6)
    assert not whole.trace.weights[1, :, :, 3:].any()


@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize("mask", ["none", "window"])
def test_the_arithmetic_of_every_cell_agrees(positions: str, mask: str) -> None:
    e = Experiment("a b c\nd e", n_heads=4, n_kv_heads=2, d_model=3, mask=mask, positions=positions)
    e = e.with_cell("q", (0, 1, 5), 2.5).with_cell("k", (0, 2, 1), -1.5).with_cell("x", (1, 0, 2), 0.5)
    run = e.run()
    assert run.trace is not None
    for step in STEPS:
        tensor = getattr(run.trace, step)
        for index in torch.ones_like(tensor).nonzero()[::3].tolist():
            given: dict[str, Any] = {"x": run.x, "mask": run.mask, "scale": run.scale, "rotary": run.rotary}
            given["weight"] = {"query": run.w_q, "key": run.w_k, "value": run.w_v}.get(step)
            given["projected"] = {"query": run.projected_query, "key": run.projected_key}.get(step)
            cell = explain(run.trace, step, index, **given)
            typed = run.rotary is None and (step, *index) in {("query", 0, 2, 1, 1), ("key", 0, 0, 2, 1)}
            assert typed or cell.total == pytest.approx(cell.cell, abs=cell.tolerance), (step, index)
            assert len(cell.products) == (2 if step in ("query", "key") and run.rotary else len(cell.products))


def test_a_typed_query_is_rotated_afterwards() -> None:
    plain = Experiment(TEXT, positions="rope_half", d_k=4)
    edited = plain.with_cell("q", (0, 2, 1), 9.0).run()
    before = plain.run()
    assert edited.projected_query is not None and before.projected_query is not None
    assert edited.projected_query[0, 0, 2, 1] == 9
    assert (edited.projected_query != before.projected_query).sum() == 1
    assert edited.trace is not None and before.trace is not None
    changed = (edited.trace.query != before.trace.query)[0, 0].nonzero().tolist()
    assert changed == [[2, 1], [2, 3]]  # the two features that turn together
    angle = torch.tensor(2 * 10000 ** (-1 / 2))  # token 2, pair 1 of 2
    turned = edited.trace.query[0, 0, 2, 1]
    torch.testing.assert_close(turned, 9 * angle.cos() - edited.projected_query[0, 0, 2, 3] * angle.sin())


def test_the_mask_says_what_hides_and_what_is_added() -> None:
    run = Experiment(f"{TEXT}\na b", positions="alibi", mask="causal", n_heads=2).run()
    assert run.mask is not None and run.seen is not None and run.bias is not None
    assert run.mask.shape == (2, 2, 6, 6) and run.seen.shape == (2, 1, 6, 6) and run.bias.shape == (2, 6, 6)
    assert run.seen.dtype == torch.bool
    assert torch.equal(run.mask.isneginf(), ~run.seen.expand(2, 2, 6, 6))
    assert torch.equal(run.mask.masked_fill(~run.seen, 0), run.bias.masked_fill(~run.seen, 0))
    plain = Experiment(TEXT, positions="alibi").run()
    assert plain.mask is not None and plain.seen is None and plain.mask.shape == (1, 1, 6, 6)
    hidden = Experiment(TEXT, mask="causal").run()
    assert hidden.mask is not None and hidden.mask is hidden.seen and hidden.bias is None
    none = Experiment(TEXT).run()
    assert none.mask is none.seen is none.bias is None


@pytest.mark.parametrize("positions", LAYOUTS)
def test_an_odd_d_k_is_not_rotated_and_nothing_is_lost(positions: str) -> None:
    e = Experiment(TEXT, positions=positions, d_k=3)
    run, plain = e.run(), Experiment(TEXT, d_k=3).run()
    assert run.rotary is None and e.rotation is None
    assert run.trace is not None and plain.trace is not None
    assert torch.equal(run.trace.weights, plain.trace.weights)
    assert from_query(to_query(e))[0] == e and replace(e, d_k=4).rotation == LAYOUTS[positions]


@pytest.mark.parametrize("positions", KINDS)
def test_a_link_holds_the_kind(positions: str) -> None:
    query = f"positions={positions}" if positions != "none" else ""
    experiment, view, notices = read_query(query)
    assert experiment.positions == positions and not notices
    assert to_query(experiment, view) == query
    assert from_query(to_query(experiment, View(step="query")))[0] == experiment


@pytest.mark.parametrize("positions", KINDS)
@pytest.mark.parametrize("text", ["", "a"])
def test_no_token_and_one_token_run(positions: str, text: str) -> None:
    run = Experiment(text, positions=positions, mask="causal").run()
    assert run.trace is not None and run.trace.weights.tolist() == [[[[1.0]]]] * len(text)


@pytest.mark.parametrize("positions", KINDS)
def test_a_trace_with_positions_keeps_to_its_limit(positions: str) -> None:
    e = Experiment("\n".join(["w " * 512] * 8), n_heads=8, positions=positions, d_k=8, d_v=8)
    fitting, n_cut = e.fitting()
    n = len(fitting.sequences[0])
    assert n_cut and fitting.trace_bytes(n) <= TRACE_BYTES < fitting.trace_bytes(n + 1)
    small = replace(e, text="a b c\nd e f", mask="causal")
    run = small.run()
    assert run.trace is not None
    # Everything that is as large as a trace's tensors, once.
    held = [*run.trace, *((run.projected_query, run.projected_key) if run.rotary else ())]
    held += [run.mask] if run.bias is not None else []
    assert sum(t.numel() * 4 for t in held if t is not None) == small.trace_bytes(3)


def test_heads_before_rotation_are_the_projection() -> None:
    run = Experiment(TEXT, positions="rope_interleaved", n_heads=2).run()
    assert run.projected_query is not None
    torch.testing.assert_close(run.projected_query, split_heads(run.x @ run.w_q, 2))
