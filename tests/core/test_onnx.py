"""The Attention operator's published conformance cases: one node each, its inputs, and the outputs it must have."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from attnviz.core import masks
from attnviz.core.attention import AttentionTrace, attention
from attnviz.core.heads import merge_heads, split_heads

with warnings.catch_warnings():  # importing the cases makes those of all operators, some of which overflow on purpose
    warnings.simplefilter("ignore")
    import onnx.backend.test.case.node.attention  # noqa: F401  # it adds the operator's cases to what is collected
    from onnx.backend.test.case.node import collect_testcases
    from onnx.helper import get_attribute_value

    COLLECTED = collect_testcases("Attention")

# Each step is rounded; the reference multiplies queries and keys by the root of the scale before their product,
# which in half precision rounds otherwise: an error of one unit in the last place of numbers up to 8.
TOLERANCE = {torch.float32: 2e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}
# The operator's numbers for the types that a softmax may be computed in.
DTYPES = {None: None, 1: torch.float32, 10: torch.float16, 11: torch.float64, 16: torch.bfloat16}


class Case(NamedTuple):
    """One Attention node: what it is given, and what it must put out, by the names of the operator."""

    name: str
    attributes: dict[str, Any]
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]


def tensor(array: Any) -> Tensor:
    """Return an array as a tensor; bfloat16, which numpy does not know, by its bits."""
    if str(array.dtype) == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.as_tensor(np.array(array))


def single_nodes() -> Iterator[Case]:
    """Yield the collected cases that are one Attention node, and not the same written out in other operators."""
    for case in COLLECTED:
        nodes = list(case.model.graph.node) if case.model else []
        if len(nodes) == 1:
            ((inputs, outputs),) = case.data_sets or ()
            yield Case(
                case.name,
                {attribute.name: get_attribute_value(attribute) for attribute in nodes[0].attribute},
                dict(zip(filter(None, nodes[0].input), map(tensor, inputs), strict=True)),
                dict(zip(filter(None, nodes[0].output), map(tensor, outputs), strict=True)),
            )


CASES = list(single_nodes())


def mask_of(inputs: Mapping[str, Tensor], attributes: Mapping[str, Any], n_query: int, n_key: int) -> Tensor | None:
    """Return the operator's mask: its own, causal, the window and the padding, in one."""
    given = inputs.get("attn_mask")
    if given is not None:  # shorter than the keys: the rest is hidden
        hidden = False if given.dtype == torch.bool else -torch.inf
        given = torch.nn.functional.pad(given, (0, n_key - given.shape[-1]), value=hidden)
    lengths = inputs.get("nonpad_kv_seqlen")
    past = inputs["past_key"].shape[-2] if "past_key" in inputs else 0
    offset = past if lengths is None else lengths - n_query
    bounds = (attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    left, right = (None if bound < 0 else bound for bound in bounds)
    shape = (n_query, n_key)
    seen = masks.combine(
        masks.causal(*shape, offset=offset) if attributes.get("is_causal") else None,
        None if (left, right) == (None, None) else masks.window(*shape, left=left, right=right, offset=offset),
        None if lengths is None else masks.padding(lengths, n_key),
    )
    if seen is not None and seen.ndim == 3:
        seen = seen[:, None]  # (b, 1, s, u)
    return masks.combine(given, seen)


def run(inputs: Mapping[str, Tensor], attributes: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return what the node must put out, by its names, from one call of attention."""
    query, key, value = (inputs[name] for name in "QKV")
    flat = query.ndim == 3  # (b, s, h*k)
    if flat:
        heads, kv_heads = attributes["q_num_heads"], attributes["kv_num_heads"]
        query, key, value = split_heads(query, heads), split_heads(key, kv_heads), split_heads(value, kv_heads)
    if "past_key" in inputs:
        key = torch.cat([inputs["past_key"], key], dim=-2)  # (b, h_kv, u, k)
        value = torch.cat([inputs["past_value"], value], dim=-2)
    trace = attention(
        query,
        key,
        value,
        mask=mask_of(inputs, attributes, query.shape[-2], key.shape[-2]),
        scale=attributes.get("scale"),
        softcap=attributes.get("softcap"),
        softmax_dtype=DTYPES[attributes.get("softmax_precision")],
    )
    mode = attributes.get("qk_matmul_output_mode", 0)
    return {
        "Y": merge_heads(trace.output) if flat else trace.output,
        "present_key": key,
        "present_value": value,
        "qk_matmul_output": matmul_output(trace, mode, attributes),
    }


def matmul_output(trace: AttentionTrace, mode: int, attributes: Mapping[str, Any]) -> Tensor:
    """Return the step that the fourth output asks for; mode 0 is the scores times the scale, before any softcap."""
    scale: float = attributes.get("scale", trace.query.shape[-1] ** -0.5)
    return (trace.scores * scale, trace.scaled, trace.masked, trace.weights)[mode]


def test_all_cases_are_there() -> None:
    assert len(CASES) == len({case.name for case in CASES}) == 93
    assert all("Y" in case.outputs for case in CASES)
    assert {case.attributes.get("qk_matmul_output_mode", 0) for case in CASES} == {0, 1, 2, 3}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    outputs = run(case.inputs, case.attributes)
    for name, expected in case.outputs.items():
        tolerance = TOLERANCE[expected.dtype]
        torch.testing.assert_close(outputs[name], expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("test_attention_4d_causal", "is_causal"),
        ("test_attention_4d_softcap", "softcap"),
        ("test_attention_4d_scaled", "scale"),
        ("test_attention_local_window", "left_window_size"),
    ],
)
def test_without_an_attribute_its_case_fails(name: str, attribute: str) -> None:
    (case,) = (case for case in CASES if case.name == name)
    attributes = {other: value for other, value in case.attributes.items() if other != attribute}
    assert (run(case.inputs, attributes)["Y"] - case.outputs["Y"]).abs().max() > 1e-3
