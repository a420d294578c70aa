"""What a reading gives: traces, checks, pooled maps, and statistics of heads that are known beforehand."""

import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from attnviz.core.arithmetic import explain
from attnviz.core.attention import attention
from attnviz.core.masks import causal
from attnviz.models.heads import OF_CROSS, STATISTICS, overview, pooled, ranked, rollout, statistics
from attnviz.models.knockouts import Knockout, angle_moved, hide_edges, share_moved
from attnviz.models.reading import LayerRead, Part, Reading
from attnviz.models.refusals import CODES, Refused
from attnviz.models.tokens import Token

N = 6


def drawn(n_heads: int = 4, n_kv_heads: int = 2, n: int = N, **options: object) -> LayerRead:
    generator = torch.Generator().manual_seed(n_heads)
    query = torch.randn(n_heads, n, 8, generator=generator)
    key, value = (torch.randn(n_kv_heads, n, 8, generator=generator) for _ in range(2))
    return LayerRead(query, key, value, **options)


def tokens(*ids: int, special: tuple[int, ...] = ()) -> tuple[Token, ...]:
    return tuple(Token(i, str(i), str(i), (0, 1), special=i in special) for i in ids)


def part(*layers: LayerRead, kind: str = "decoder") -> Part:
    row = tokens(*range(N))
    return Part(kind, layers, row, row)


BIAS = torch.linspace(-1, 1, 4 * N * N).reshape(4, N, N)
READS = {
    "plain": drawn(),
    "causal": drawn(mask=causal(N, N)),
    "bias": drawn(bias=BIAS, scale=1.0),
    "causal and bias": drawn(mask=causal(N, N), bias=BIAS),
    "mask by head": drawn(mask=hide_edges(causal(N, N), [Knockout("decoder", 0, 1, 3, 1)], 4, N, N)),
}


@pytest.mark.parametrize("name", READS)
def test_the_trace_is_attentions_own_and_torchs(name: str) -> None:
    read = READS[name]
    trace = read.trace()
    expected = scaled_dot_product_attention(
        read.query[None], read.key[None], read.value[None],
        None if read.added is None else read.added.expand(4, N, N)[None], scale=read.scale, enable_gqa=True,
    )[0]  # fmt: skip
    torch.testing.assert_close(trace.output, expected, rtol=0, atol=1e-6)
    assert torch.equal(read.weights(), trace.weights)
    for head in range(4):
        one = read.trace(head)
        torch.testing.assert_close(one.weights[0], trace.weights[head])
        torch.testing.assert_close(one.output[0], trace.output[head])
    check = read.check()
    assert check.by == "torch" and check.weights < 1e-6 and check.output < 1e-6


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("step", ["scores", "scaled", "masked", "weights", "output"])
def test_every_step_of_a_reading_has_its_arithmetic(name: str, step: str) -> None:
    read = READS[name]
    trace = read.trace()
    options = {"masked": {"mask": read.added}, "scaled": {"scale": read.scale}}.get(step, {})
    for index in ((0, 0, 0), (1, 3, 1), (3, 5, 2)):
        cell = explain(trace, step, index, **options)
        value = float(getattr(trace, step)[index])
        assert cell.total == pytest.approx(value, abs=max(cell.tolerance, 1e-6))


def test_a_check_finds_what_is_wrong() -> None:
    from attnviz.models.reading import compared

    read = READS["causal"]
    trace = attention(read.query, read.key, read.value, mask=read.mask, scale=0.3)
    check = compared(read, trace.weights, trace.output)
    assert check.weights == float((trace.weights - read.weights()).abs().max()) > 0.01
    assert check.output > 0.01


def test_a_softcap_is_in_the_trace_and_torch_has_none() -> None:
    read = drawn(softcap=0.5)
    assert read.trace().scaled.abs().max() <= 0.5
    with pytest.raises(ValueError, match=r"^softcap: expected None"):
        read.check()


@pytest.mark.parametrize("head", [-1, 4])
def test_a_head_that_is_none(head: int) -> None:
    with pytest.raises(ValueError, match=rf"^head: expected a whole number from 0 below 4, got {head}$"):
        drawn().trace(head)


def test_a_part_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"^kind: expected one of decoder, got 'cross'$"):
        Reading("x", ("a",), (part(drawn()),)).part("cross")


def test_bytes_that_layers_share_count_once() -> None:
    mask = causal(N, N)
    layers = [drawn(mask=mask), drawn(mask=mask)]
    assert Reading("x", ("a",), (part(*layers),)).nbytes == 2 * (4 + 2 + 2) * N * 8 * 4 + N * N


def test_a_reading_and_a_refusal_can_be_kept_in_a_file() -> None:
    reading = pickle.loads(pickle.dumps(Reading("x", ("a",), (part(drawn()),))))  # noqa: S301  written a moment ago
    assert torch.equal(reading.parts[0].layers[0].query, drawn().query)
    refused = pickle.loads(pickle.dumps(Refused("empty", text="")))  # noqa: S301
    assert (refused.code, str(refused)) == ("empty", "text: expected at least one token, got ''")
    assert "empty" in CODES


# ---- all heads ----


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 10), st.sampled_from(["max", "mean"]))
def test_a_block_holds_the_largest_or_the_mean_of_its_weights(
    n_query: int, n_key: int, block: int, reduce: str
) -> None:
    weights = torch.rand(2, n_query, n_key, generator=torch.Generator().manual_seed(n_query))
    found = pooled(weights, block, reduce)
    assert found.shape == (2, math.ceil(n_query / block), math.ceil(n_key / block))
    for i in range(found.shape[1]):
        for j in range(found.shape[2]):
            tile = weights[:, i * block : (i + 1) * block, j * block : (j + 1) * block]
            expected = tile.amax((1, 2)) if reduce == "max" else tile.mean((1, 2))
            torch.testing.assert_close(found[:, i, j], expected)


def test_pooling_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match=r"^reduce: expected 'max' or 'mean', got 'sum'$"):
        pooled(torch.eye(2), 1, "sum")
    with pytest.raises(ValueError, match=r"^size: "):
        overview(part(drawn()), size=0)


def test_an_overview_is_of_all_layers_and_exact_where_it_fits() -> None:
    whole = part(drawn(mask=causal(N, N)), drawn(4, 1, mask=causal(N, N)))
    found = overview(whole)
    assert found.block == 1 and found.maps.shape == (2, 4, N, N)
    assert torch.equal(found.maps[1], whole.layers[1].weights())
    coarse = overview(whole, size=4)
    assert coarse.block == 2 and coarse.maps.shape == (2, 4, 3, 3)
    for name, values in found.statistics.items():
        assert values.shape == (2, 4)
        assert torch.equal(values[1], statistics(whole, whole.layers[1].weights())[name])


def hand_made(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor([rows])


def test_statistics_of_heads_that_are_plain_to_see() -> None:
    row = tokens(7, 8, 9, 8, 5, special=(5,))
    of = Part("encoder", (), row, row)
    shifted = torch.eye(5).roll(-1, 1)
    shifted[0] = torch.eye(5)[0]
    previous = statistics(of, torch.eye(5)[[0, 0, 1, 2, 3]][None])
    assert previous["previous"].item() == 1 and previous["distance"].item() == pytest.approx(4 / 5)
    following = statistics(of, torch.eye(5)[[1, 2, 3, 4, 4]][None])
    assert following["next"].item() == 1 and following["previous"].item() == 0
    assert statistics(of, torch.eye(5)[None])["itself"].item() == 1
    first = statistics(of, torch.eye(5)[[0] * 5][None])
    assert first["first"].item() == 1 and first["entropy"].item() == 0
    assert statistics(of, torch.eye(5)[[4] * 5][None])["separator"].item() == 1
    assert statistics(of, torch.eye(5)[[0, 0, 0, 1, 0]][None])["same"].item() == 1
    assert statistics(of, torch.eye(5)[[0, 0, 0, 2, 0]][None])["induction"].item() == 1
    even = statistics(of, torch.full((1, 5, 5), 0.2))
    assert even["entropy"].item() == pytest.approx(math.log(5))
    assert list(even) == list(STATISTICS)


def test_without_a_special_token_there_is_no_separator() -> None:
    row = tokens(1, 2, special=(1,))  # the first does not count
    assert "separator" not in statistics(Part("encoder", (), row, row), torch.eye(2)[None])


def test_between_two_texts_places_do_not_compare() -> None:
    cross = Part("cross", (), tokens(1, 2), tokens(1, 2, 3, special=(3,)))
    found = statistics(cross, torch.tensor([[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]]))
    assert list(found) == list(OF_CROSS)
    assert found["first"].item() == found["separator"].item() == 0.5
    with pytest.raises(ValueError, match=r"^part: expected an encoder or a decoder"):
        rollout(cross)


def test_rollout_of_two_layers() -> None:
    whole = part(drawn(mask=causal(N, N)), drawn(2, 2, mask=causal(N, N)))
    first, second = (read.weights().mean(0) for read in whole.layers)
    identity = torch.eye(N)
    expected = (second + identity) / 2 @ ((first + identity) / 2)
    torch.testing.assert_close(rollout(whole), expected)


def test_heads_in_order() -> None:
    found = torch.tensor([[0.2, 0.9, 0.2], [0.5, 0.1, 0.0]])
    assert ranked(found) == [(0, 1), (1, 0), (0, 0), (0, 2), (1, 1), (1, 2)]
    assert ranked(found, 2) == [(0, 1), (1, 0)]


# ---- what a knock-out moves ----


@given(st.integers(0, 50))
def test_moves_are_bounded_and_nothing_is_no_move(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    one, other = (torch.randn(9, generator=generator) for _ in range(2))
    assert share_moved(one.softmax(0), one.softmax(0)) == 0
    assert 0 < share_moved(one.softmax(0), other.softmax(0)) <= 1
    assert angle_moved(one, 2 * one) == pytest.approx(0, abs=1e-6)
    assert angle_moved(one, -one) == pytest.approx(math.pi)
    assert 0 < angle_moved(one, other) < math.pi
