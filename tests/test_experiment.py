"""Experiments: values that compare by value, refuse what cannot be, and compute what torch computes."""

import pickle
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.core import arithmetic
from attnviz.experiment import EDITS, STEPS, Experiment, View
from attnviz.limits import SEQUENCES, TEXT_CHARS, TOKENS, TRACE_BYTES

THREE = "the cat sat on the mat\nthe dog ran\nbirds"


def test_an_experiment_is_a_value() -> None:
    one = Experiment("a b", w_q=[[0.1] * 4] * 8, temperature=1)
    two = Experiment("a b", w_q=torch.full((8, 4), 0.1), temperature=1.0)
    assert one == two
    assert hash(one) == hash(two)
    assert one != Experiment("a b")
    assert one.sequences == two.sequences  # what is worked out once is no part of the value
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301  our own
    with pytest.raises(AttributeError):
        one.text = "c"  # type: ignore[misc]


def test_the_steps_are_the_cores() -> None:
    assert STEPS == arithmetic.STEPS


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": None}, r"^text must be a string of at most 400000 characters, not None$"),
        ({"text": b"a"}, r"^text must be a string of .*, not b'a'$"),
        (
            {"text": "a" * (TEXT_CHARS + 1)},
            r"^text must be a string of at most 400000 characters, not 400001$",
        ),
        ({"tokenizer": "word"}, r"^tokenizer must be one of words, characters, spaces, not 'word'$"),
        ({"scale": 2}, r"^scale must be one of sqrt, d_k, none, not 2$"),
        ({"mask": ["causal"]}, r"^mask must be one of none, causal, window, prefix, drawn, not \['causal'\]$"),
        ({"positions": "rope"}, r"^positions must be one of none, .*rope_half, rope_interleaved, alibi, not 'rope'$"),
        ({"d_k": 2.0}, r"^d_k must be a whole number from 1 to 64, not 2.0$"),
        ({"temperature": 0}, r"^temperature must be a number from 0.1 to 10.0, not 0$"),
        ({"n_heads": 4, "n_kv_heads": 3}, r"^n_kv_heads must divide n_heads=4, 3 does not$"),
        ({"n_kv_heads": 2}, r"^n_kv_heads must divide n_heads=1, 2 does not$"),
    ],
)
def test_a_field_that_cannot_be_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Experiment(**{"text": "a", **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"page": ""},
        {"page": "A b"},
        {"page": None},
        {"step": "x"},
        {"lang": "fr"},
        {"letters": "abc"},
        {"difference": 1},
    ],
)
def test_a_view_that_cannot_be_is_named(fields: dict[str, Any]) -> None:
    (name,) = fields
    with pytest.raises(ValueError, match=f"^{name} must be "):
        View(**fields)


def test_numbers_of_other_kinds_become_plain_ones() -> None:
    numpy = pytest.importorskip("numpy")
    experiment = Experiment("a", d_k=numpy.int64(3)).with_cell("x", (numpy.int64(0), 0, 0), numpy.float32(0.1))
    assert type(experiment.d_k) is int
    assert experiment.x == (((0, 0, 0), pytest.approx(0.1)),)
    assert type(experiment.x[0][0][0]) is int
    assert type(experiment.x[0][1]) is float


@pytest.mark.parametrize(
    ("text", "sequences"),
    [
        ("", ()),
        (" \n\t\n", ()),
        ("a", (("a",),)),
        ("a b\r\n\n  \nc", (("a", "b"), ("c",))),
        ("a\0 \ud800", (("a", "\ufffd", "\ufffd"),)),
        ("\u200b", (("\u200b",),)),
    ],
)
def test_each_line_that_is_not_blank_is_a_sequence(text: str, sequences: Any) -> None:
    experiment = Experiment(text)
    assert experiment.sequences == sequences
    assert experiment.n_left_out == 0


def test_further_lines_are_left_out_and_counted() -> None:
    experiment = Experiment("\n\n".join("abcdefghij"))
    assert len(experiment.sequences) == SEQUENCES
    assert experiment.n_left_out == 2


def test_a_cell_is_set_replaced_and_taken_back() -> None:
    plain = Experiment("a b")
    edited = plain.with_cell("x", (0, 1, 2), 3).with_cell("w_q", (0, 0), 1).with_cell("x", (0, 1, 2), 4)
    assert edited.edits == {"x": (((0, 1, 2), 4.0),), "w_q": (((0, 0), 1.0),)}
    assert edited.unedited() == plain
    assert plain.unedited() is plain
    with pytest.raises(ValueError, match=r"^name must be one of x, w_q, .*, not 'text'$"):
        plain.with_cell("text", (0,), 1)
    with pytest.raises(ValueError, match=r"^x at \(0, 0, 0\) must be a number"):
        plain.with_cell("x", (0, 0, 0), float("nan"))


def test_what_fits_is_returned_as_it_is() -> None:
    experiment = Experiment("word " * TOKENS)
    assert experiment.fitting() == (experiment, 0)
    assert Experiment("").fitting() == (Experiment(""), 0)


def test_ten_thousand_words_are_cut_to_what_can_be_drawn() -> None:
    experiment = Experiment("word " * 10_000)
    whole = experiment.run()
    assert whole.trace is None
    assert whole.mask is None
    assert whole.x.shape == (1, 10_000, 8)
    cut, n_cut = experiment.fitting()
    assert n_cut == 10_000 - TOKENS
    assert cut.text == experiment.text
    assert cut.run().lengths == (TOKENS,)
    assert cut.fitting() == (cut, 0)


@given(st.integers(1, 8), st.sampled_from([1, 2, 4, 8]), st.integers(1, 64), st.integers(1, 64))
def test_what_fits_is_the_most_that_fits(b: int, n_heads: int, d_k: int, d_v: int) -> None:
    experiment = Experiment("\n".join(["a " * 600] * b), n_heads=n_heads, n_kv_heads=1, d_k=d_k, d_v=d_v)
    cut, n_cut = experiment.fitting()
    n = len(cut.sequences[0])
    assert n_cut == b * (600 - n)
    assert experiment.trace_bytes(n) <= TRACE_BYTES
    assert n == TOKENS or experiment.trace_bytes(n + 1) > TRACE_BYTES


def test_the_bytes_of_a_trace_are_counted_right() -> None:
    experiment = Experiment(THREE, n_heads=4, n_kv_heads=2, d_k=3, d_v=5, mask="causal")
    trace = experiment.run().trace
    assert trace is not None
    assert experiment.trace_bytes(6) == sum(tensor.numel() * tensor.element_size() for tensor in trace)


def test_every_edit_field_has_a_shape() -> None:
    experiment = Experiment(THREE, n_heads=4, n_kv_heads=2, d_k=3, d_v=5)
    expected = {"w_q": (8, 12), "w_k": (8, 6), "w_v": (8, 10)}
    expected |= {"x": (3, 6, 8), "q": (3, 6, 12), "k": (3, 6, 6), "v": (3, 6, 10)}  # type: ignore[dict-item]
    assert experiment.shapes == expected
    assert set(experiment.shapes) == set(EDITS)
