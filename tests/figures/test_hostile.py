"""Hostile tokens in the figures of a notebook, which go into pages of its own: text there, and nothing else."""

import json

import plotly.graph_objects as go
import pytest
import torch

import attnviz
from attnviz.figures.text import label
from tests.figures import reading
from tests.hostile import HOSTILE
from tests.pages.test_hostile import Markup, strings

ODD = ("\n", "\t", "a\x00b", "\u2028x", "", " ")
TOKENS = [*HOSTILE, *ODD]
PLAIN = [f"w{i}" for i in range(len(TOKENS))]


def shown(tokens: list[str]) -> list[go.Figure]:
    """A map of 20 of the tokens at a time, then of all of them twelve times, pooled to blocks."""
    parts = [tokens[i : i + 20] for i in range(0, len(tokens), 20)] + [tokens * 12]
    return [attnviz.show(torch.softmax(torch.zeros(len(part), len(part)), -1), part) for part in parts]


def boards(tokens: list[str]) -> list[go.Figure]:
    texts = (" ".join(tokens[i : i + 10]) for i in range(0, len(HOSTILE), 10))
    return [attnviz.board(attnviz.Experiment(text, tokenizer="spaces", mask="causal")) for text in texts]


@pytest.mark.parametrize("make", [shown, boards])
def test_no_token_is_markup_in_a_figure_or_in_the_page_it_is_written_to(make) -> None:
    for figure, plain in zip(make(TOKENS), make(PLAIN), strict=True):
        texts = [text.removesuffix("<extra></extra>") for text in strings(json.loads(figure.to_json()))]
        assert [(text, found) for text in texts if (found := Markup(text).foreign)] == []
        written, other = (each.to_html(include_plotlyjs=False, div_id="x") for each in (figure, plain))
        assert written.count("<") == other.count("<") and written.count("</script") == other.count("</script")


def test_the_labels_are_the_tokens() -> None:
    few = TOKENS[:20]
    figure = reading.received(shown(TOKENS)[0])
    assert figure["layout"]["yaxis"]["ticktext"] == [label(token) for token in few]
