"""Maps side by side: the tensor's own numbers, sums in the margins, axes that zoom together, nothing that overlaps."""

import itertools
import json

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from attnviz.experiment import View
from attnviz.figures.charts import Scale, Series, bars, lines
from attnviz.figures.colours import DARK, LIGHT
from attnviz.figures.maps import Axis, Map, sentence, specify
from attnviz.limits import TOKENS_SHOWN
from tests.figures.reading import Figure, array, marks, names, received, z

WORDS = ("the", "</s>", "$x$", "the", "猫")
S, U = Axis("s", WORDS), Axis("u", WORDS)


def values(rows: int = 5, columns: int = 5) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(0))


def weights() -> torch.Tensor:
    return torch.softmax(values(), -1)


def draw(*maps: Map, view: View | None = None, **options: float) -> Figure:
    spec, _ = specify(maps, view or View(), LIGHT, **options)
    return received(go.Figure(spec))  # which validates every property


def test_every_number_is_the_tensor() -> None:
    figure = draw(Map("S", "S", values(), S, U), Map("a", "a", weights(), S, U, scale="share", sums="both"))
    np.testing.assert_array_equal(z(figure, "S"), values().numpy())
    np.testing.assert_array_equal(z(figure, "a"), weights().numpy())
    np.testing.assert_array_equal(z(figure, "rows of a")[:, 0], weights().sum(1).numpy())
    np.testing.assert_array_equal(z(figure, "columns of a")[0], weights().sum(0).numpy())


def test_what_is_no_number_is_marked() -> None:
    holes = values()
    holes[0, 1], holes[2, 2], holes[4, 0] = -torch.inf, torch.nan, torch.inf
    figure = draw(Map("S", "S", holes, S, U, sums="both"))
    for mark, place in (("−∞", (0, 1)), ("NaN", (2, 2)), ("∞", (4, 0))):
        assert [tuple(cell) for cell in np.argwhere(marks(figure, "S", mark))] == [place]
    assert np.isnan(z(figure, "rows of S")[[0, 2, 4], 0]).all()


@pytest.mark.parametrize("starts", [(0, 0), (7, 3), (500, 500)])
def test_a_long_axis_shows_a_window_and_sums_the_whole(starts: tuple[int, int]) -> None:
    long = torch.softmax(values(60, 60), -1)
    words = tuple(f"t{i}" for i in range(60))
    view = View(from_s=starts[0], from_u=starts[1])
    spec, hover = specify([Map("a", "a", long, Axis("s", words), Axis("u", words), "share", "both")], view, LIGHT)
    figure = received(go.Figure(spec))
    s, u = (min(start, 60 - TOKENS_SHOWN) for start in starts)
    part = long[s : s + TOKENS_SHOWN, u : u + TOKENS_SHOWN]
    np.testing.assert_array_equal(z(figure, "a"), part.numpy())
    np.testing.assert_allclose(z(figure, "rows of a")[:, 0], 1, atol=1e-6)
    assert hover[0]["start"] == [s, u]
    assert figure["layout"]["yaxis"]["ticktext"] == list(words[s : s + TOKENS_SHOWN])


def test_scales_are_shared_by_name_and_never_stretched() -> None:
    large = 10 * values()
    figure = draw(
        Map("a", "a", weights(), S, U, scale="share"),
        Map("S", "S", values(), S, U),
        Map("T", "T", large, S, U),
        Map("n", "n", large.abs(), S, U, scale="amount"),
    )
    axes = {t["name"]: figure["layout"][t["coloraxis"]] for t in figure["data"] if "coloraxis" in t}
    most = pytest.approx(float(large.abs().max()))
    assert (axes["a"]["cmin"], axes["a"]["cmax"]) == (0, 1)
    assert axes["S"] == axes["T"] and (-axes["S"]["cmin"], axes["S"]["cmax"]) == (most, most)
    assert (axes["n"]["cmin"], axes["n"]["cmax"]) == (0, most)
    titles = {axis["colorbar"]["title"]["text"] for axis in axes.values()}
    assert titles == {"weight, 0 to 1", "value, symmetric about 0", "value, from 0"}


@pytest.mark.parametrize(("size", "most"), [(1e-9, 1e-6), (1e-3, 1e-3)])
def test_what_rounding_left_of_a_difference_is_painted_pale(size: float, most: float) -> None:
    figure = draw(Map("D", "D", torch.tensor([[size, 0.0], [0.0, -size / 2]]), S, U, least=1e-6))
    axis = figure["layout"]["coloraxis"]
    assert (-axis["cmin"], axis["cmax"]) == pytest.approx((most, most))


def test_maps_over_the_same_tokens_zoom_together_and_others_do_not() -> None:
    figure = draw(
        Map("S", "S", values(), S, U), Map("a", "a", weights(), S, U), Map("O", "O", values(5, 3), S, Axis("d"))
    )
    layout = figure["layout"]
    assert layout["xaxis2"]["matches"] == "x" and layout["yaxis2"]["matches"] == layout["yaxis3"]["matches"] == "y"
    assert "matches" not in layout["xaxis3"]


def test_tokens_show_literally_and_a_map_says_its_largest_cell() -> None:
    figure = draw(Map("S", "S", values(), S, U))
    assert figure["layout"]["xaxis"]["ticktext"] == ["the", "&lt;/s&gt;", "$x$", "the", "猫"]
    peaked = torch.zeros(5, 5)
    peaked[1, 4] = 2
    expected = "S_x & y, 5 rows by 5 columns, largest 2.0000 in row 2 “</s>”, column 5 “猫”."
    assert sentence(Map("S", "<b>S<sub>_x</sub></b> &amp; y", peaked, S, U)) == expected
    assert sentence(Map("S", "S", torch.full((1, 1), -torch.inf), Axis(""), Axis(""))) == "S, 1 row by 1 column."


@pytest.mark.parametrize("sums", ["", "rows", "both"])
@pytest.mark.parametrize("width", [360.0, 800.0, 1200.0])
@pytest.mark.parametrize("n", [1, 5, 24])
def test_no_map_lies_over_another_and_none_leaves_the_figure(n: int, width: float, sums: str) -> None:
    words = tuple("unmistakable" if i % 2 else "a" for i in range(n))
    maps = [Map(f"m{i}", f"map {i}", values(n, n), Axis("s", words), Axis("u", words), sums=sums) for i in range(4)]
    spec, _ = specify(maps, View(), LIGHT, width=width)
    layout = spec["layout"]
    numbers = [name.removeprefix("xaxis") for name in layout if name.startswith("xaxis")]
    boxes = [(*layout["xaxis" + i]["domain"], *layout["yaxis" + i]["domain"]) for i in numbers]
    for i, (left, right, bottom, top) in enumerate(boxes):
        assert 0 <= left < right <= 1 and 0 <= bottom < top <= 1
        for other in boxes[:i]:
            assert right <= other[0] or other[1] <= left or top <= other[2] or other[3] <= bottom
    assert layout["width"] <= max(width, n * 12 + 260)


def test_the_hover_knows_every_panel() -> None:
    _, hover = specify([Map("a", "<b>a</b>", weights(), S, U, sums="both")], View(), DARK)
    assert [(p["name"], p["axis"], p["row"], p["col"], p["symbol"]) for p in hover] == [
        ("a", "", "s", "u", "a"),
        ("rows of a", "2", "s", "", "Σ a"),
        ("columns of a", "3", "", "u", "Σ a"),
    ]


# ---- lines and bars ----


def test_lines_hold_their_numbers_and_their_band() -> None:
    x, y = [1, 10, 100], [0.5, 0.25, 0.125]
    series = [
        Series("sqrt", x, y, "s", spread=([0.4, 0.2, 0.1], [0.6, 0.3, 0.2])),
        Series("off", x, torch.tensor(y).numpy(), "u", dash="dot"),
    ]
    spec = lines(series, Scale("d_k", log=True), Scale("entropy <nats>"), LIGHT, size=(400, 300))
    figure = received(go.Figure(spec))
    named = {t["name"]: t for t in figure["data"] if "name" in t}
    assert array(named["sqrt"]["x"]).tolist() == x and array(named["sqrt"]["y"]).tolist() == y
    assert array(named["off"]["y"]).tolist() == y
    assert len(figure["data"]) == 4  # the band is two lines, the upper one filled down to the lower
    assert figure["layout"]["showlegend"] and figure["layout"]["xaxis"]["type"] == "log"
    assert figure["layout"]["yaxis"]["title"]["text"] == "entropy &lt;nats&gt;"
    assert "template" not in spec["layout"] and spec["layout"]["datarevision"]


def test_bars_stand_over_the_tokens_that_repeat() -> None:
    spec = bars([Series("weight", range(5), [0.1] * 5, "u")], Scale("", words=WORDS), Scale("w"), DARK, size=(400, 200))
    figure = received(go.Figure(spec))
    assert figure["layout"]["xaxis"]["ticktext"] == ["the", "&lt;/s&gt;", "$x$", "the", "猫"]
    assert array(figure["data"][0]["y"]).tolist() == [0.1] * 5
    assert not figure["layout"]["showlegend"]
    assert figure["layout"]["font"]["color"] == DARK.ink


def test_a_figure_is_new_exactly_when_its_numbers_are() -> None:
    def revision(number: float) -> str:
        spec = bars([Series("w", [0], [number], "u")], Scale(""), Scale(""), LIGHT, size=(200, 200))
        return str(json.loads(json.dumps(spec["layout"]["datarevision"])))

    assert revision(0.1) == revision(0.1) != revision(0.2)
    assert names({"data": []}) == []


def test_each_bar_says_something_else_and_stands_above_its_maps() -> None:
    s, d = Axis("s", ("a", "b", "c", "d")), Axis("d")
    maps = [Map(name, name, values(4, 8), s, d) for name in ("yours", "right")]
    figure = draw(*maps, Map("apart", "apart", values(4, 8), s, d, "difference"))
    layout = figure["layout"]
    bars_ = [layout[name]["colorbar"] for name in ("coloraxis", "coloraxis2")]
    assert [bar["title"]["text"] for bar in bars_] == ["value, symmetric about 0", "difference, symmetric about 0"]
    first, last = (bar["x"] for bar in bars_)
    assert first < layout["xaxis"]["domain"][1] and last == pytest.approx(layout["xaxis3"]["domain"][0])


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("width", [240.0, 700.0, 1200.0])
def test_no_bar_lies_over_another(n: int, width: float) -> None:
    scales = ["share", "signed", "difference"][:n]
    maps = [Map(scale, scale, weights(), Axis("s"), Axis("u"), scale) for scale in reversed(scales)]
    layout = draw(*maps, width=width)["layout"]
    bars_ = [layout[name]["colorbar"] for name in layout if name.startswith("coloraxis")]
    lefts = [bar["x"] * layout["width"] for bar in bars_]
    assert all(b - a >= bars_[0]["len"] for a, b in itertools.pairwise(lefts))
    assert lefts[-1] + bars_[-1]["len"] <= layout["width"] + 1


def test_one_chinese_character_at_a_rotated_axis_stands_upright() -> None:
    both = {name: draw(Map("m", "m", values(), Axis("", (), name), Axis("u")))["layout"] for name in ("层", "layer")}
    assert both["layer"]["yaxis"]["title"]["text"] == "layer"
    assert "title" not in both["层"]["yaxis"]
    (note,) = [note for note in both["层"]["annotations"] if note["text"] == "层"]
    assert not note.get("textangle") and note["x"] == both["层"]["xaxis"]["domain"][0] and note["xshift"] < 0
