"""Runs: what is computed is what torch computes, edits included, and padding touches nothing."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnviz.core.embeddings import embed, weight
from attnviz.core.positions import sinusoidal
from attnviz.experiment import DEFAULT_TEXT, PAD, STEPS, Experiment, Run

THREE = "the cat sat on the mat\nthe dog ran\nbirds"


def reference(e: Experiment) -> list[torch.Tensor]:
    """The output (s, h*d) of each sequence by itself, by torch's own attention; of an unedited experiment."""
    n_kv_heads = e.n_kv_heads or e.n_heads
    outputs = []
    for sequence in e.sequences:
        n = len(sequence)
        x = embed(sequence, e.d_model, e.seed)
        x = x + sinusoidal(n, e.d_model) if e.positions == "sinusoidal" else x
        q, k, v = (
            (x @ weight(name, e.d_model, heads * size, e.seed)).view(n, heads, size).transpose(0, 1)
            for name, heads, size in (
                ("w_q", e.n_heads, e.d_k),
                ("w_k", n_kv_heads, e.d_k),
                ("w_v", n_kv_heads, e.d_v),
            )
        )
        ago = torch.arange(n)[:, None] - torch.arange(n)  # how far back a key lies
        seen = {
            "none": ago == ago,
            "causal": ago >= 0,
            "window": (ago <= e.window_left) & (-ago <= e.window_right),
            "prefix": (ago >= 0) | (torch.arange(n) < e.prefix_length),
        }[e.mask]
        scale = {"sqrt": e.d_k**-0.5, "d_k": 1 / e.d_k, "none": 1}[e.scale] / e.temperature
        out = scaled_dot_product_attention(q[None], k[None], v[None], seen, scale=scale, enable_gqa=True)
        outputs.append(out[0].transpose(0, 1).flatten(-2))
    return outputs


@pytest.mark.parametrize("mask", ["none", "causal", "window", "prefix"])
@pytest.mark.parametrize("scale", ["sqrt", "d_k", "none"])
@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(1, None), (4, None), (4, 2), (3, 1)])
def test_a_run_is_what_torch_computes_for_each_sequence_alone(
    mask: str, scale: str, n_heads: int, n_kv_heads: Any
) -> None:
    for positions in ("none", "sinusoidal"):
        e = Experiment(
            THREE,
            d_model=6,
            d_k=3,
            d_v=5,
            n_heads=n_heads,
            n_kv_heads=n_kv_heads,
            seed=7,
            scale=scale,
            temperature=0.7,
            mask=mask,
            positions=positions,
            window_left=1,
            window_right=1,
        )
        run = e.run()
        assert run.trace is not None
        for b, expected in enumerate(reference(e)):
            output = run.trace.output[b, :, : run.lengths[b]].transpose(0, 1).flatten(-2)
            torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


def test_shapes_and_padding_of_a_run() -> None:
    run = Experiment(THREE, n_heads=4, n_kv_heads=2, d_k=3, d_v=5).run()
    assert run.trace is not None
    assert run.mask is not None
    assert run.tokens[2] == ("birds", PAD, PAD, PAD, PAD, PAD)
    assert run.lengths == (6, 3, 1)
    assert run.x.shape == (3, 6, 8)
    assert run.mask.shape == (3, 1, 6, 6)
    assert [tuple(w.shape) for w in (run.w_q, run.w_k, run.w_v)] == [(8, 12), (8, 6), (8, 10)]
    shapes = {name: tuple(getattr(run.trace, name).shape) for name in STEPS}
    rows = dict.fromkeys(("scores", "scaled", "masked", "weights"), (3, 4, 6, 6))
    assert shapes == {"query": (3, 4, 6, 3), "key": (3, 2, 6, 3), "value": (3, 2, 6, 5), "output": (3, 4, 6, 5)} | rows
    assert not run.x[1, 3:].any()
    assert not run.trace.weights[1, :, :, 3:].any()
    assert all(t.dtype == torch.float32 for t in (run.x, run.w_q, *run.trace))
    torch.testing.assert_close(run.trace.weights.sum(-1), torch.ones(3, 4, 6))


def test_no_mask_where_all_may_attend_to_all() -> None:
    assert Experiment("a b\nc d").run().mask is None
    assert Experiment("a b\nc").run().mask is not None
    assert Experiment("a b", mask="causal").run().mask is not None


@pytest.mark.parametrize("mask", ["none", "causal", "window", "prefix"])
@pytest.mark.parametrize("text", ["", "\n", "a"])
def test_no_token_and_one_token_run(text: str, mask: str) -> None:
    run = Experiment(text, mask=mask, positions="sinusoidal", prefix_length=64).run()
    assert run.trace is not None
    n = len(text.strip())
    assert run.trace.weights.shape == (n, 1, n, n)
    assert run.trace.weights.tolist() == [[[[1.0]]]] * n


def tensors(run: Run) -> dict[str, torch.Tensor]:
    assert run.trace is not None
    steps = {"q": run.trace.query, "k": run.trace.key, "v": run.trace.value, "scores": run.trace.scores}
    steps |= {"weights": run.trace.weights, "output": run.trace.output}
    return {"x": run.x, "w_q": run.w_q, "w_k": run.w_k, "w_v": run.w_v} | steps


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("x", {"x", "q", "k", "v", "scores", "weights", "output"}),
        ("w_q", {"w_q", "q", "scores", "weights", "output"}),
        ("w_k", {"w_k", "k", "scores", "weights", "output"}),
        ("w_v", {"w_v", "v", "output"}),
        ("q", {"q", "scores", "weights", "output"}),
        ("k", {"k", "scores", "weights", "output"}),
        ("v", {"v", "output"}),
    ],
)
def test_an_edit_changes_its_cell_and_what_lies_downstream(name: str, changed: set[str]) -> None:
    plain = Experiment(DEFAULT_TEXT, n_heads=2)
    index = (1, 5) if name.startswith("w_") else (0, 1, 5)
    before, after = tensors(plain.run()), tensors(plain.with_cell(name, index, 9).run())
    assert {key for key in before if not torch.equal(before[key], after[key])} == changed
    where = (0, 1, 1, 1) if name in "qkv" else index  # column 5 of q is feature 1 of head 1
    assert after[name][where] == 9
    assert (after[name] != before[name]).sum() == 1


def test_what_is_given_whole_is_what_is_computed_with() -> None:
    e = Experiment(THREE, n_heads=2, d_k=3)
    run = e.run()
    assert run.trace is not None
    whole = replace(e, x=run.x, w_q=run.w_q.tolist(), k=run.trace.key.transpose(1, 2).flatten(-2))
    again = whole.run()
    assert all(torch.equal(a, b) for a, b in zip(tensors(run).values(), tensors(again).values(), strict=True))
    assert again.unused == ()
    first = replace(e, x=run.x[0] + 1)  # two axes: sequence 0
    assert torch.equal(first.run().x[0], run.x[0] + 1)
    assert torch.equal(first.run().x[1:], run.x[1:])


def test_cells_wait_while_the_shape_has_no_place_for_them() -> None:
    edited = Experiment(DEFAULT_TEXT).with_cell("x", (0, 5, 0), 9).with_cell("w_q", (7, 3), 9)
    smaller = replace(edited, text="the cat\nsat", d_model=4)
    assert smaller.run().unused == (("x", (0, 5, 0)), ("w_q", (7, 3)))
    assert replace(smaller, text=DEFAULT_TEXT, d_model=8) == edited
    assert edited.run().unused == ()
    padding = Experiment("a b\nc").with_cell("x", (1, 1, 0), 9).with_cell("v", (1, 1, 0), 9)
    assert padding.run().unused == (("x", (1, 1, 0)), ("v", (1, 1, 0)))
    assert not padding.run().x[1, 1].any()


def test_the_largest_edits_run() -> None:
    run = Experiment("a b").with_cell("x", (0, 0, 0), 3.4028234663852886e38).run()
    assert run.x[0, 0, 0] == torch.finfo(torch.float32).max
