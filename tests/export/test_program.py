"""A view as a program: torch alone computes the very numbers again, whatever the experiment."""

import contextlib
import io
import itertools
import math
import runpy
import tempfile
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.core.masks import causal
from attnviz.experiment import DEFAULT_TEXT, Experiment, Run, View
from attnviz.export.literals import LISTED, literal, mask_literal
from attnviz.export.program import About, script
from attnviz.ui.traced import one_head
from tests.ui.cells import EXPERIMENTS

ABOUT = About("the title", "http://localhost:8501/?text=x", "1.2.3")
MASKS = ("none", "causal", "window", "prefix", "drawn")
POSITIONS = ("none", "sinusoidal", "learned", "rope_half", "rope_interleaved", "alibi")


def ran(text: str) -> dict[str, Tensor]:
    """The names that a program leaves behind."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder) / "program.py"
        path.write_text(text, encoding="utf-8")
        return runpy.run_path(str(path))


def compare(text: str, run: Run) -> None:
    assert run.trace is not None
    found, trace = ran(text), run.trace
    for name, tensor in (("S", trace.scores), ("masked", trace.masked), ("a", trace.weights), ("O", trace.output)):
        assert torch.equal(found[name].isneginf(), tensor.isneginf()), name
        torch.testing.assert_close(found[name], tensor, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_it_computes_what_is_on_screen(name: str) -> None:
    run = EXPERIMENTS[name].run()
    compare(script(ABOUT, EXPERIMENTS[name], run, View()), run)


@pytest.mark.parametrize("text", [DEFAULT_TEXT, "a b c d\ne f"])
def test_every_mask_with_every_kind_of_positions(text: str) -> None:
    for mask, positions, (n_heads, groups) in itertools.product(MASKS, POSITIONS, ((1, 1), (4, 2))):
        experiment = Experiment(
            text,
            mask=mask,
            positions=positions,
            n_heads=n_heads,
            n_kv_heads=groups,
            window_left=1,
            window_right=1,
            drawn="" if mask != "drawn" else DRAWN,
            scale="d_k",
            temperature=1.3,
            q=(((0, 1, 2), 0.1),),
            w_v=(((0, 1), -2.0),),
        )
        run = experiment.run()
        compare(script(ABOUT, experiment, run, View()), run)


DRAWN = Experiment("a").drawn  # no drawing: "drawn" then hides nothing


def test_a_drawn_mask() -> None:
    from attnviz.drawing import write_drawing

    rows = [[True, False, True], [False, False, False], [True, True, False]]
    experiment = Experiment("a b c", mask="drawn", drawn=write_drawing(rows))
    run = experiment.run()
    text = script(ABOUT, experiment, run, View())
    compare(text, run)
    assert '["101", "000", "110"]' in text
    assert "nan_to_num(0)" in text  # of the row that may attend nowhere


def test_a_long_text_is_packed_and_stays_exact() -> None:
    experiment = Experiment(" ".join(["w"] * 60), d_model=64)
    run = experiment.run()
    text = script(ABOUT, experiment, run, View())
    assert run.x.numel() > LISTED
    assert torch.equal(ran(text)["X"], run.x)
    compare(text, run)


def test_a_trained_head_starts_from_its_queries_keys_and_values() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 4, 8, generator=generator) for _ in range(3))
    seen = causal(4, 4)
    trace = attention(query, key, value, mask=seen, scale=0.3)
    computed = one_head(View(), "abcd", trace, mask=seen, added=seen, scale=0.3)
    text = script(ABOUT, computed.experiment, computed.run, View())
    compare(text, computed.run)
    assert "W_Q" not in text


def test_a_bias_of_a_trained_head_is_in_the_program() -> None:
    query, bias = torch.ones(1, 3, 2), torch.arange(9.0).reshape(1, 3, 3)
    trace = attention(query, query, query, mask=bias)
    computed = one_head(View(), "abc", trace, bias=bias, added=bias)
    compare(script(ABOUT, computed.experiment, computed.run, View()), computed.run)


def test_it_carries_title_link_and_version_whatever_they_are() -> None:
    experiment = Experiment("a")
    text = script(About("x\nimport os", "http://h/\r\n?q", "9"), experiment, experiment.run(), View())
    assert text.splitlines()[:3] == ["# x import os", "# http://h/ ?q", "# attnviz 9"]


@pytest.mark.parametrize("token", ["'''", '"""', "\\", "\u2028x", "\x85y", "{f}", "猫", "\x00"])
def test_a_token_is_data(token: str) -> None:
    experiment = Experiment("x", tokenizer="characters")
    run = experiment.run()._replace(tokens=((token,),))
    assert ran(script(ABOUT, experiment, run, View()))["tokens"] == [[token]]


def test_numbers_come_back_bit_by_bit() -> None:
    values = torch.tensor([0.1, -0.0, 1e-45, 3.4e38, math.inf, -math.inf, math.nan, 1 / 3])
    for tensor in (values, values.repeat(1000).reshape(40, -1)):
        found = ran(f"import base64, torch\n{unpacking()}\nx = {literal(tensor)}")["x"]
        assert torch.equal(found.view(torch.int32), tensor.view(torch.int32))
    mask = torch.rand(5, 7) > 0.5
    assert torch.equal(ran(f"import torch\nx = {mask_literal(mask)}")["x"], mask)


def unpacking() -> str:
    from attnviz.export.literals import UNPACK

    return UNPACK


def test_without_a_trace_it_says_so() -> None:
    experiment = Experiment("a")
    with pytest.raises(ValueError, match=r"run\.trace must be a trace, not None"):
        script(ABOUT, experiment, experiment.run()._replace(trace=None), View())
