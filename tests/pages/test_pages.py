"""Every page, in both languages and themes: it runs, shows the tensors' own numbers, and says what it shows."""

import inspect

import numpy as np
import pytest

from attnviz.core import attention, heads
from attnviz.experiment import Experiment
from attnviz.figures.colours import DARK, LIGHT
from attnviz.figures.panels import AXES
from attnviz.limits import TOKENS_SHOWN
from attnviz.presets import PRESETS, preset
from tests.figures import reading
from tests.pages.session import BLOCKS, PAGES, POPOVERS, Session

TITLES = {
    "explore": "Explore",
    "projections": "Projections",
    "scores": "Scores to weights",
    "output": "Weights to output",
}
CONTROLS = "text_line n_heads mask scale several language written_out tokenizer d_model d_k d_v n_kv_heads seed"
CONTROLS += " temperature positions letters step"


def check_numbers(session: Session, experiment: Experiment | None = None) -> None:
    """Every panel on the page is what the experiment computes, for the sequence and head that are chosen."""
    run = (experiment or session.experiment).run()
    view, drawn = session.view, session.numbers()
    expected = reading.expected(run, min(view.b, len(run.tokens) - 1), view.h)
    assert drawn
    for name, numbers in drawn.items():
        rows, columns = numbers.shape  # of a long text the first tokens are drawn
        np.testing.assert_array_equal(numbers, reading.finite(expected[name])[:rows, :columns], err_msg=name)
        whole = zip(expected[name].shape, AXES[name], strict=True)
        assert [rows, columns] == [min(n, TOKENS_SHOWN) if letter in ("s", "u") else n for n, letter in whole], name


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("how", ["browser", "link"])
def test_every_page_runs_in_both_languages(page: str, lang: str, how: str) -> None:
    if how == "browser":
        session = Session(page, locale={"en": "de-CH", "zh": "zh-CN"}[lang])
    else:
        session = Session(page, locale={"en": "zh-CN", "zh": "en-US"}[lang], lang=lang)
    assert session.sound()
    title = session.at.title[0].value
    assert (title == TITLES[page]) == (lang == "en")
    assert any("\u4e00" <= c <= "\u9fff" for c in title + session.words()) == (lang == "zh")
    for key in CONTROLS.split():
        assert session.widget(key) is not None
    assert session.widget("language").value == lang
    assert session.said() == []
    check_numbers(session, Experiment("the cat sat on the mat"))


@pytest.mark.parametrize("page", PAGES)
def test_chinese_leaves_no_english_sentence_behind(page: str) -> None:
    english, chinese = (Session(page, lang=lang).open(*POPOVERS) for lang in ("en", "zh"))
    shared = {line for line in english.words().splitlines() if line.count(" ") >= 4 and "$" not in line}
    assert shared
    assert not shared & set(chinese.words().splitlines())


@pytest.mark.parametrize("code", PRESETS)
def test_every_preset_runs(code: str) -> None:
    session = Session().press(f"preset.{code}")
    assert session.sound() and session.said() == []
    assert session.experiment == preset(code)
    check_numbers(session, preset(code))


def test_the_published_example_comes_out_to_its_four_digits() -> None:
    session = Session("output").press("preset.worked")
    output = [[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]]
    np.testing.assert_allclose(session.numbers()["output"], output, atol=5e-5, rtol=0)


@pytest.mark.parametrize("page", PAGES)
def test_a_block_stands_under_its_einsum_and_every_panel_has_its_sentence(page: str) -> None:
    session = Session(page, letters="bij").open(*POPOVERS)
    codes = [code.value for code in session.at.code]
    for block, einsum in (
        ("projections", "torch.einsum('bim,mk->bik', X, W_Q)"),
        ("scores", "torch.einsum('bik,bjk->bij', Q, K)"),
        ("output", "torch.einsum('bij,bjd->bid', a, V)"),
    ):
        assert any(einsum in code for code in codes) == (block in BLOCKS[page])
    charts = session.at.get("plotly_chart")
    for block, chart in zip(BLOCKS[page], charts, strict=True):
        sentences = chart.proto.alt
        assert sentences.count(" by ") == len(reading.names(session.figures[block]))


@pytest.mark.parametrize("page", PAGES)
def test_the_theme_of_the_browser_is_that_of_the_figures(page: str) -> None:
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        session = Session(page, theme=name)
        assert {figure["layout"]["font"]["color"] for figure in session.figures.values()} == {colours.ink}
        assert session.bridge["ink"] == colours.ink


@pytest.mark.parametrize(
    ("page", "functions"),
    [
        ("projections", [attention.project, heads.split_heads]),
        ("scores", [attention.attention]),
        ("output", [attention.self_attention]),
    ],
)
def test_the_steps_show_the_source_that_ran(page: str, functions: list) -> None:
    closed = Session(page)
    assert not any("def " in code.value for code in closed.at.code)  # and none is read before it is asked for
    codes = [code.value for code in closed.open("source").at.code]
    for function in functions:
        assert inspect.getsource(function).strip() in [code.strip() for code in codes]


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_hold_the_same_numbers(page: str) -> None:
    session = Session(page, text="the cat the <s>", tokenizer="spaces", mask="causal", n_heads="2", h="1")
    session.open("tables")
    assert session.sound()
    expected = reading.expected(session.experiment.run(), 0, 1)
    frames = {e.proto.alt: e.value for e in session.at.dataframe}
    for name in set(session.numbers()) - {"key_t"}:
        same = [f for f in frames.values() if np.array_equal(f.to_numpy(), expected[name].numpy())]
        assert same, name
    tokens = ["1 the", "2 cat", "3 the", "4 <s>"]
    assert any(list(frame.index) == tokens for frame in frames.values())


def test_each_step_of_the_dock_is_one_that_the_page_shows() -> None:
    for page, steps in (
        ("projections", ("query", "key", "value")),
        ("scores", ("scores", "scaled", "masked", "weights")),
        ("output", ("weights", "output")),
    ):
        for step in ("value", "masked", "output"):
            session = Session(page, step=step)
            assert session.sound()
            assert len(session.widget("step").options) == len(steps)
            assert session.widget("step").value == (step if step in steps else steps[-1])


def test_tokens_travel_to_the_browser_once() -> None:
    tokens = ["unmistakable", "<s>", "emoji👩‍🚀"]
    session = Session(text=" ".join(tokens * 3), tokenizer="spaces")
    data = session.bridge
    assert data["tokens"] == tokens * 3
    assert str({k: v for k, v in data.items() if k not in ("tokens", "query")}).count("unmistakable") == 0
    assert [chart["key"] for chart in data["charts"]] == ["block-projections", "block-scores", "block-output"]


def test_a_figure_repeats_no_text_for_every_cell() -> None:
    session = Session(text="unmistakable " * 24, mask="causal")
    for figure in session.figures.values():
        strings = [v for _, v in reading.everything(figure) if isinstance(v, str) and "unmistak" in v]
        assert len(strings) <= 24 * 8  # ticks alone
