"""The map of a long text: every cell where its tokens are, exact where it can be, small on the wire, legible."""

import itertools
import json
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.core.pooling import PooledMap, pooled_weights
from attnviz.experiment import View
from attnviz.figures.colours import DARK, LIGHT, Theme
from attnviz.figures.pooled import WHOLE, sentence, specify
from attnviz.figures.pooled_axes import SIDE, numbered, ticks
from attnviz.figures.pooled_cells import EXACT_CELLS, Shown, block_of, cells_of, coarse, part
from attnviz.figures.pooled_scale import KINDS, LAST, edges, encode, scale_of
from attnviz.figures.text import width
from attnviz.limits import POOLED_BYTES
from attnviz.ui.chart import Specified
from tests.figures.reading import Figure, array, received
from tests.figures.reading import shown as read

HOSTILE = ("</s>", "<b>", "&amp;", "$x$", "#000001", "", "\n", "猫", "a" * 400, ":red[x]")
Span = tuple[int, int]


def projections(n: int, d: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n)
    return torch.randn(n, d, generator=generator), torch.randn(n, d, generator=generator)


def window(n: int, rows: Span | None = None, cols: Span | None = None) -> Shown:
    """The causal map of n drawn tokens, or a window of it."""
    query, key = projections(n)
    rows, cols = rows or (0, n), cols or (0, n)
    whole = pooled_weights(query, key, mask="causal")
    return Shown(pooled_weights(query, key, mask="causal", rows=rows, cols=cols), whole, rows, cols, (n, n))


def draw(shown: Shown, kind: str = "sqrt", theme: Theme = LIGHT, **given_: Any) -> tuple[Figure, list[dict[str, Any]]]:
    spec, panels = specify(shown, "maps-a", "a, head 1", kind, View(), theme, **given_)
    return received(go.Figure(spec)), panels  # which validates every property


def main(figure: Figure) -> dict[str, Any]:
    (found,) = [trace for trace in figure["data"] if trace["name"] == "pooled" and trace["xaxis"] == "x"]
    return dict(found)


def tokens(n: int) -> tuple[str, ...]:
    return tuple(f"token{i}" for i in range(n))


# ---- numbers, on the data step ----


def test_an_exact_map_carries_its_weights_and_a_pooled_one_does_not() -> None:
    exact = window(600, (100, 200), (50, 250))
    cells = cells_of(exact.pooled, scale_of("sqrt", exact.pooled.values.numpy()))
    assert cells.weights is not None and cells.weights.dtype == np.float32
    query, key = projections(600)
    full = torch.softmax((query @ key.T / 8**0.5).masked_fill(~torch.ones(600, 600).tril().bool(), -torch.inf), -1)
    np.testing.assert_allclose(cells.weights, full[100:200, 50:250], rtol=1e-5, atol=1e-9)
    for shown in (window(600), window(600, (0, 400), (0, 400))):
        assert cells_of(shown.pooled, scale_of("sqrt", shown.pooled.values.numpy())).weights is None
    assert EXACT_CELLS < 400 * 400


@pytest.mark.parametrize("kind", KINDS)
def test_every_cell_stands_at_its_tokens_with_the_byte_of_its_weight(kind: str) -> None:
    shown = window(1100, (200, 1100), (0, 700))
    figure, panels = draw(shown, kind)
    trace, pooled = main(figure), panels[0]["pooled"]
    values = shown.pooled.values.numpy()
    np.testing.assert_array_equal(array(trace["z"]), encode(values, scale_of(kind, values)))
    assert (trace["dy"], trace["dx"]) == (2, 2) == tuple(pooled["block"])
    assert (trace["y0"] - 0.5, trace["x0"] - 0.5) == (200, 0) == tuple(pooled["first"])
    assert pooled["end"] == [1100, 700] and pooled["size"] == [1100, 1100]
    assert pooled["edges"] == edges(scale_of(kind, values)) and len(pooled["edges"]) == LAST + 1
    assert (pooled["tops"] is not None) == (kind == "rows")
    for axis, span in (("xaxis", (0, 700)), ("yaxis", (200, 1100))):
        assert sorted(figure["layout"][axis]["range"]) == [span[0] - 0.5, span[1] - 0.5]
    assert figure["layout"]["yaxis"]["range"][0] > figure["layout"]["yaxis"]["range"][1]  # row 0 on top


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 9))
def test_a_coarser_map_holds_the_largest_and_the_same_tokens(rows: int, columns: int, most: int) -> None:
    values = torch.rand(rows, columns, generator=torch.Generator().manual_seed(rows))
    fine = PooledMap(values, (*range(0, 3 * rows, 3), 3 * rows - 1), tuple(range(columns + 1)), False)
    made = coarse(fine, most)
    assert max(made.values.shape) <= most and (made.row_edges[-1], made.col_edges[-1]) == (3 * rows - 1, columns)
    for i in range(made.values.shape[0]):
        for j in range(made.values.shape[1]):
            own = values[fine.row_edges.index(made.row_edges[i]) : fine.row_edges.index(made.row_edges[i + 1])]
            assert made.values[i, j] == own[:, made.col_edges[j] : made.col_edges[j + 1]].max()


def test_a_part_of_a_map_is_the_cells_that_a_window_touches() -> None:
    whole = window(1000).pooled
    made = part(whole, (3, 9), (500, 502))
    assert (made.row_edges, made.col_edges) == ((2, 4, 6, 8, 10), (500, 502))
    assert torch.equal(made.values, whole.values[1:5, 250:251])


# ---- the figure ----


def test_digits_stand_in_the_cells_of_a_small_window_as_they_are() -> None:
    shown = window(600, (300, 312), (290, 302))
    figure, _ = draw(shown, "log")
    trace = main(figure)
    assert trace["texttemplate"] == "%{text}"
    printed = np.array([[float(text) for text in row] for row in trace["text"]])
    np.testing.assert_allclose(printed, shown.pooled.values.numpy(), atol=0.51e-4)
    np.testing.assert_array_equal(array(trace["customdata"]), shown.pooled.values.numpy())
    assert "text" not in main(draw(window(600, (300, 340), (290, 330)))[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_that_is_sent_anew_keeps_to_the_limit(kind: str) -> None:
    side = int(EXACT_CELLS**0.5)
    for rows in ((0, 1024), (500, 1012), (500, 500 + side), (0, 4)):
        spec, panels = specify(window(1024, rows, rows), "maps-a", "a", kind, View(), LIGHT, tokens=tokens(1024))
        assert len(json.dumps(Specified(spec).to_dict())) + len(json.dumps(panels)) < POOLED_BYTES


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_a_window_shows_where_it_is_in_the_whole(theme: Theme) -> None:
    figure, panels = draw(window(1000, (500, 700), (100, 300)), theme=theme)
    (here,) = figure["layout"]["shapes"]
    assert [here[key] for key in ("x0", "x1", "y0", "y1")] == [99.5, 299.5, 499.5, 699.5]
    assert [panel["name"] for panel in panels] == ["maps-a", "maps-a" + WHOLE]
    assert [trace["name"] for trace in figure["data"]] == ["under", "pooled", "pooled"]
    assert figure["data"][0]["hoverinfo"] == "skip"
    unknown, panels = draw(window(1000, (500, 700), (100, 300))._replace(whole=None), theme=theme)
    assert len(unknown["data"]) == len(panels) == 1 and unknown["layout"]["shapes"]
    assert not draw(window(1000), theme=theme)[0]["layout"].get("shapes")


def test_the_bar_names_the_scale_and_what_a_cell_is() -> None:
    words = {}
    for kind in KINDS:
        for n in (200, 1024):
            words[kind, n] = draw(window(n), kind)[0]["layout"]["coloraxis"]["colorbar"]["title"]["text"]
    assert len(set(words.values())) == 2 * len(KINDS)
    assert all(("2 × 2 tokens" in said) == (n == 1024) for (_kind, n), said in words.items())


# ---- labels ----


@given(st.integers(0, 32_000), st.integers(1, 32_768), st.sampled_from("xy"), st.booleans())
def test_labels_never_overlap(first: int, n: int, kind: str, named: bool) -> None:
    end = min(first + n, 32_768)
    made = ticks(kind, first, end, SIDE, tokens(32_768) if named else None)
    each = SIDE / (end - first)
    assert made["tickvals"] and all(first <= at < end for at in made["tickvals"])
    level = kind == "y" or made["tickangle"] == 0
    sizes = [width(text) if kind == "x" and level else 12.0 for text in made["ticktext"]]
    middles = [(at - first + 0.5) * each for at in made["tickvals"]]
    for i in range(len(middles) - 1):
        assert middles[i + 1] - middles[i] >= (sizes[i] + sizes[i + 1]) / 2, made


@given(st.integers(0, 30_000), st.integers(1, 3000), st.floats(0.5, 500))
def test_numbers_of_tokens_are_round_and_apart(first: int, n: int, least: float) -> None:
    at = numbered(first, first + n, least)
    assert at and all(b - a >= least for a, b in itertools.pairwise(at))


def test_hostile_tokens_are_shown_as_they_are_and_numbers_stand_for_tokens_too_narrow() -> None:
    shown = window(600, (0, 10), (0, 10))
    figure, panels = draw(shown, tokens=HOSTILE + tokens(590))
    for axis in ("xaxis", "yaxis"):
        texts = figure["layout"][axis]["ticktext"]
        assert len(texts) == 10 and all(text.strip() for text in texts)
        assert not any(sign in text for text in texts for sign in ("<", ">")) and "#000001" not in " ".join(texts)
        assert [read(text) for text in texts][:5] == list(HOSTILE[:5])
    assert "token" not in json.dumps(panels)  # tokens travel once, not with every map
    figure, _ = draw(window(600, (0, 100), (0, 100)), tokens=HOSTILE + tokens(590))
    assert all(text.replace(",", "").isdigit() for text in figure["layout"]["xaxis"]["ticktext"])


def test_what_is_no_share_is_drawn_and_said_apart() -> None:
    broken = torch.rand(5, 5, generator=torch.Generator().manual_seed(0))
    broken[1, 1], broken[2, 2], broken[3, 3] = torch.nan, -1, torch.inf
    shown = Shown(PooledMap(broken, tuple(range(6)), tuple(range(6)), True), None, (0, 5), (0, 5), (5, 5))
    figure, panels = draw(shown)
    assert (array(main(figure)["z"]) > LAST).sum() == 3
    assert figure["layout"]["coloraxis"]["cmax"] > LAST and panels[0]["pooled"]["mark"]
    assert "text" not in main(figure)
    np.testing.assert_array_equal(array(main(figure)["customdata"]), broken.numpy())


def test_the_sentence_says_what_is_pooled_and_where_the_largest_is() -> None:
    shown = window(1024, (512, 1024), (0, 300))
    i, j = divmod(int(shown.pooled.values.argmax()), 300)
    assert sentence(shown, "a, head 1") == (
        f"a, head 1: query tokens 513 to 1024, key tokens 1 to 300. Largest: {shown.pooled.values.max():.4f} "
        f"at query {513 + i}, key {1 + j}."
    )
    whole = sentence(window(1024), "a")
    assert "The largest weight in each block of 2 x 2 tokens." in whole and "in the block that begins at" in whole
    nothing = PooledMap(torch.full((2, 2), torch.nan), (0, 1, 2), (0, 1, 2), True)
    assert "Largest" not in sentence(Shown(nothing, None, (0, 2), (0, 2), (2, 2)), "a")
    assert block_of(shown.pooled) == (1, 1)
