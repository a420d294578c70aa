"""Arrays of every layout are brought to the same five axes, and what does not go together is named."""

from typing import Any

import pytest
import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.models.files_axes import bring, readings
from attnviz.models.files_mask import MISFITS, Misfit, read_mask

GENERATOR = torch.Generator().manual_seed(0)
L, B, H, S, U, K, D = 3, 2, 4, 5, 6, 8, 7


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=GENERATOR)


QUERY, KEY, VALUE = drawn(L, B, H, S, K), drawn(L, B, H, U, K), drawn(L, B, H, U, D)
TRACE = attention(QUERY, KEY, VALUE)
WHOLE = {"query": QUERY, "key": KEY, "value": VALUE, "weights": TRACE.weights, "output": TRACE.output}
# What is left of (l, b, h, s, ·) in each layout, and how it is read.
LAYOUTS: dict[str, tuple[Any, str]] = {
    "(s, ·)": (lambda x: x[0, 0, 0], "plain"),
    "(h, s, ·)": (lambda x: x[0, 0], "h"),
    "(b, s, ·)": (lambda x: x[0, :, 0], "b"),
    "(l, s, ·)": (lambda x: x[:, 0, 0], "l"),
    "(b, h, s, ·)": (lambda x: x[0], "bh"),
    "(l, h, s, ·)": (lambda x: x[:, 0], "lh"),
    "(l, b, h, s, ·)": (lambda x: x, "lbh"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_comes_out_as_five_axes(layout: str) -> None:
    take, axes = LAYOUTS[layout]
    found = bring({name: take(x) for name, x in WHOLE.items()}, axes)
    assert found.axes == axes
    l, b, h = ([L, B, H][i] if letter in axes.replace("plain", "") else 1 for i, letter in enumerate("lbh"))  # noqa: E741
    part = {name: x[:l, :b, :h] for name, x in WHOLE.items()}
    for name, x in part.items():
        assert torch.equal(getattr(found, name), x), name
    assert found.n_key == U


def test_heads_side_by_side_and_heads_behind_the_tokens_are_told_by_the_weights() -> None:
    q, k, v = QUERY[0], KEY[0], VALUE[0]
    merged = {name: x.transpose(1, 2).flatten(2) for name, x in (("query", q), ("key", k), ("value", v))}
    behind = {name: x.transpose(1, 2) for name, x in (("query", q), ("key", k), ("value", v))}
    for arrays, axes in ((merged, "merged"), (behind, "behind")):
        found = bring({**arrays, "weights": TRACE.weights[0]})
        assert found.axes == axes
        for name, x in (("query", q), ("key", k), ("value", v)):
            assert torch.equal(getattr(found, name)[0], x), name
    assert torch.equal(bring(merged, "merged", heads=H).query[0], q)  # type: ignore[index]


def test_shared_key_value_heads_keep_their_number() -> None:
    q, k = QUERY[0].transpose(1, 2).flatten(2), KEY[0, :, :2].transpose(1, 2).flatten(2)
    found = bring({"query": q, "key": k, "weights": TRACE.weights[0]})
    assert found.key is not None and found.key.shape == (1, B, 2, U, K) and found.value is None
    assert bring({"query": QUERY[0], "key": KEY[0, :, 0]}).key.shape == (1, B, 1, U, K)  # type: ignore[union-attr]


def test_averaged_weights_and_a_merged_output_lack_their_heads() -> None:
    output = TRACE.output[0].transpose(1, 2).flatten(2)  # (b, s, h*d)
    found = bring({**{n: x[0] for n, x in WHOLE.items()}, "weights": TRACE.weights[0].mean(1), "output": output})
    assert found.weights is not None and found.weights.shape == (1, B, 1, S, U)
    assert found.output is not None and found.output.shape == (1, B, 1, S, H * D)


def test_weights_alone_offer_each_way_to_read_them() -> None:
    ways = [readings({"weights": torch.zeros((2,) * n)}) for n in (2, 3, 4, 5)]
    assert ways == [("plain",), ("h", "b", "l"), ("bh", "lh"), ("lbh",)]
    assert bring({"weights": TRACE.weights[0]}, "h").axes == "bh"  # which it cannot be


@pytest.mark.parametrize(
    ("shape", "five"),
    [
        ((S, U), (1, 1, 1, S, U)),
        ((1, U), (1, 1, 1, 1, U)),
        ((B, U), (1, B, 1, 1, U)),
        ((B, S, U), (1, B, 1, S, U)),
        ((H, S, U), (1, 1, H, S, U)),
        ((L, S, U), (L, 1, 1, S, U)),
        ((B, 1, 1, U), (1, B, 1, 1, U)),
        ((L, B, 1, S, U), (L, B, 1, S, U)),
    ],
)
def test_a_mask_is_read_by_what_it_fits(shape: tuple[int, ...], five: tuple[int, ...]) -> None:
    mask = torch.ones(shape, dtype=torch.bool)
    found = read_mask(mask, (L, B, H, S, U))
    assert found is not None and tuple(found.shape) == five


def test_a_mask_of_ones_and_zeros_says_who_is_there_and_one_that_is_added_stays() -> None:
    ones = read_mask(torch.tensor([[1.0, 0.0]]), (1, 1, 1, 2, 2))
    added = read_mask(torch.tensor([[0.0, -1e9]]), (1, 1, 1, 2, 2))
    assert ones is not None and ones.dtype == torch.bool and ones.flatten().tolist() == [True, False]
    assert added is not None and added.dtype == torch.float32
    assert read_mask(None, (1, 1, 1, 2, 2)) is None


Q = QUERY[0]
BAD: dict[str, dict[str, Tensor]] = {
    "incomplete": {"query": Q},
    "axes": {"query": Q, "key": KEY[0], "weights": torch.zeros(S, U)},
    "features": {"query": Q, "key": KEY[0, ..., :3]},
    "keys": {"query": Q, "key": KEY[0], "value": VALUE[0, :, :, :2]},
    "heads": {"query": Q, "key": KEY[0, :, :3], "value": VALUE[0, :, :3]},
    "leading": {"query": Q, "key": KEY[0, :1], "value": VALUE[0]},
    "merged": {"query": drawn(B, S, 7), "key": drawn(B, U, 8), "weights": TRACE.weights[0]},
    "finite": {"query": Q, "key": KEY[0] / 0},
    "shape": {"query": Q, "key": KEY[0], "weights": torch.zeros(B, H, 3, 3)},
    "values": {"query": Q, "key": KEY[0], "output": TRACE.output[0]},
    "mask": {"query": Q, "key": KEY[0], "mask": torch.ones(7, 9)},
}


@pytest.mark.parametrize("code", BAD)
def test_what_does_not_go_together_is_named(code: str) -> None:
    with pytest.raises(Misfit) as caught:
        bring(BAD[code])
    assert caught.value.code == code


def test_every_misfit_is_drawn() -> None:
    assert set(BAD) == set(MISFITS)
