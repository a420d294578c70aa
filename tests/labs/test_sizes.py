"""What attention costs, by formulas, against what torch itself counts."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from attnviz.core.multi_head import multi_head
from attnviz.labs.sizes import LENGTHS, Sizes, compared, costs, dense, growth, split, total


@settings(max_examples=30, deadline=None)
@given(m=st.integers(1, 9), k=st.integers(1, 5), d=st.integers(1, 5), h_kv=st.integers(1, 3), group=st.integers(1, 3),
       n=st.integers(1, 9))  # fmt: skip
def test_costs_are_those_that_torch_counts(m: int, k: int, d: int, h_kv: int, group: int, n: int) -> None:
    h = h_kv * group
    sizes = Sizes(m, k, d, h, h_kv)
    x = torch.randn(n, m)
    weights = {"w_q": torch.randn(m, h * k), "w_k": torch.randn(m, h_kv * k), "w_v": torch.randn(m, h_kv * d)}
    with FlopCounterMode(display=False) as counter:
        trace = multi_head(x, **weights, n_heads=h, n_kv_heads=h_kv).trace
    made = {cost.step: cost for cost in costs(sizes, n)}
    products = [made[step].multiplications for step in ("query", "key", "value", "scores", "output")]
    assert counter.get_total_flops() == 2 * sum(products)  # a multiplication and an addition each
    assert sum(cost.parameters for cost in made.values()) == sum(w.numel() for w in weights.values())
    for step in ("query", "key", "value", "scores", "scaled", "weights", "output"):
        assert made[step].bytes == getattr(trace, step).nbytes, step
    assert total(tuple(made.values())).bytes == sum(cost.bytes for cost in made.values())


@given(n=st.integers(1, 10_000), more=st.integers(1, 10_000))
def test_parameters_do_not_grow_with_the_sentence_and_a_dense_layer_does(n: int, more: int) -> None:
    sizes = Sizes(8, 4, 4, 2, 1)
    assert total(costs(sizes, n)).parameters == total(costs(sizes, n + more)).parameters == 8 * (8 + 4 + 4)
    assert dense(sizes, n + more).parameters > dense(sizes, n).parameters
    layer = torch.nn.Linear(3 * 8, 3 * 2 * 4, bias=False)
    assert dense(sizes, 3).parameters == layer.weight.numel()


@given(h=st.sampled_from([1, 2, 4, 8]), n=st.integers(1, 100))
def test_heads_cut_a_layer_without_a_parameter_more(h: int, n: int) -> None:
    one, many = (costs(split(Sizes(16, 8, 8, 1, 1), heads), n) for heads in (1, h))
    for step in range(3):
        assert many[step].parameters == one[step].parameters == 16 * 8
        assert many[step].multiplications == one[step].multiplications
    assert many[3].multiplications == one[3].multiplications
    assert many[5].bytes == h * one[5].bytes  # what grows is the number of maps


def test_a_width_that_cannot_be_cut_is_named() -> None:
    with pytest.raises(ValueError, match=r"^n_heads must divide the widths h\*k=6 and h\*d=6, 4 does not$"):
        split(Sizes(8, 3, 3, 2, 2), 4)


@pytest.mark.parametrize("kind", ["parameters", "multiplications", "bytes"])
def test_what_grows_is_what_each_length_costs(kind: str) -> None:
    sizes = Sizes(8, 4, 3, 2, 1)
    grown = growth(sizes, kind)
    assert grown.lengths == LENGTHS == tuple(2**i for i in range(16))
    for n, whole, other in zip(*grown, strict=True):
        *steps, together, layer = compared(sizes, n)
        assert [step.step for step in steps] == ["query", "key", "value", "scores", "scaled", "weights", "output"]
        assert whole == sum(getattr(step, kind) for step in steps) == getattr(together, kind) > 0
        assert other == getattr(layer, kind) > 0  # a logarithm's axis has no 0
