"""Presets: each runs, each travels in a link, and the published example comes out to its four digits."""

import pytest
import torch

from attnviz.experiment import View
from attnviz.links import read_query, to_query
from attnviz.presets import PRESETS, preset


@pytest.mark.parametrize("code", PRESETS)
def test_a_preset_runs_and_travels(code: str) -> None:
    experiment = preset(code)
    trace = experiment.run().trace
    assert trace is not None
    assert torch.isfinite(trace.output).all()
    assert read_query(to_query(experiment)) == (experiment, View(), ())


def test_the_worked_example_comes_out_to_its_published_digits() -> None:
    published = [[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]]
    trace = preset("worked").run().trace
    assert trace is not None
    assert [[round(value, 4) for value in row] for row in trace.output[0, 0].tolist()] == published


def test_presets_are_what_their_codes_say() -> None:
    assert set(PRESETS) == {"cat", "repeat", "chinese", "batch", "causal", "worked", "emoji"}
    assert preset("chinese").sequences[0] == tuple("我喜欢猫，猫也喜欢我")
    assert preset("emoji").sequences[0] == ("👩‍🚀", "🚀", "👋🏽", "🇫🇷", "❤️‍🔥")
    assert len({len(sequence) for sequence in preset("batch").sequences}) > 1
    assert preset("causal").mask == "causal"


def test_an_unknown_code_is_named() -> None:
    with pytest.raises(ValueError, match=r"^code must be one of cat, .*, not 'dog'$"):
        preset("dog")
