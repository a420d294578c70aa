"""A cell read aloud, in both languages: which tokens, which number, literally."""

import pytest

from attnviz import locale
from attnviz.experiment import STEPS, Experiment, View
from attnviz.figures.text import markdown, number
from attnviz.ui import sentences
from tests.ui.cells import EXPERIMENTS, explained, some, view_of

ODD = r"<s> </s> &amp; $x$ * :red[x] {s} {value} 👩‍🚀 مرحبا a\b #1 `code` :smile: -> %s"


def test_a_weight_is_read_as_the_share_that_one_token_gives_another() -> None:
    run = EXPERIMENTS["cat"].run()
    assert run.trace is not None
    view = View(step="weights", s=1, u=4)
    share = number(float(run.trace.weights[0, 0, 1, 4]), 2)
    assert sentences.read(run, view, explained(run, view)) == (
        f"In sequence 1, “cat” gives {share} of its attention to “the”₅."
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_sentence_names_its_tokens_its_sequence_and_its_number(lang: str, name: str) -> None:
    locale.use(lang)
    for run, view, cell in some(name, 3):
        words = sentences.read(run, view, cell)
        tokens = run.tokens[view.b]
        asked = {"query": ("s",), "output": ("s",), "key": ("u",), "value": ("u",)}.get(view.step, ("s", "u"))
        nowhere = cell.step in ("weights", "output") and run.seen is not None and not run.seen[view.b, 0, view.s].any()
        for letter in ("s",) if nowhere else asked:
            assert markdown(tokens[getattr(view, letter)]) in words
        assert str(view.b + 1) in words
        masked = run.seen is not None and not run.seen[view.b, 0, view.s, view.u]
        hidden = view.step in ("masked", "weights") and masked
        if not nowhere and not hidden:
            assert number(cell.cell, 2 if view.step == "weights" and cell.cell >= 0.01 else 4) in words
        if asked != ("s", "u") and not nowhere:
            assert str(view.feature + 1) in words
        assert "{" not in words and "}" not in words


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_token_is_data_even_where_it_looks_like_a_placeholder_or_markup(step: str, lang: str) -> None:
    locale.use(lang)
    run = Experiment(ODD, "spaces").run()
    for i, token in enumerate(run.tokens[0]):
        view = view_of(step, 0, 0, i, 0)
        words = sentences.read(run, view, explained(run, view))
        assert f"“{markdown(token)}”" in words
    # What the tokens are escaped to shows as typed: every sign of Markdown has its backslash.
    assert markdown("{s}") == r"\{s\}"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_languages_say_it_differently(lang: str) -> None:
    run = EXPERIMENTS["cat"].run()
    for step in STEPS:
        view = view_of(step, 0, 0, 1, 2)
        locale.use("en")
        english = sentences.read(run, view, explained(run, view))
        locale.use(lang)
        assert (sentences.read(run, view, explained(run, view)) == english) == (lang == "en")


def test_a_masked_cell_says_that_it_may_not_be_seen() -> None:
    run = Experiment("a b c", mask="causal").run()
    view = View(step="masked", s=0, u=2)
    assert sentences.read(run, view, explained(run, view)) == (
        "In sequence 1, “a” may not see “c”: the mask makes its score −∞, and so its weight 0."
    )


@pytest.mark.parametrize(("name", "pair"), [("halves", "1 and 4"), ("pairs", "1 and 2")])
def test_a_rotated_query_names_the_features_that_turned_and_how_far(name: str, pair: str) -> None:
    run = EXPERIMENTS[name].run()
    for step, place in (("query", {"s": 2}), ("key", {"u": 2})):
        view = View(step=step, feature=0, **place)
        words = sentences.read(run, view, explained(run, view))
        assert f"RoPE turned features {pair} by 2.0000 rad." in words
    view = View(step="value", u=2)
    assert "RoPE" not in sentences.read(run, view, explained(run, view))


def test_a_masked_score_says_what_alibi_took() -> None:
    run = EXPERIMENTS["alibi"].run()
    view = View(step="masked", h=1, s=4, u=1)
    words = sentences.read(run, view, explained(run, view))
    assert "ALiBi added −0.1875 for the distance." in words  # 3 tokens at 2^-4
    hidden = View(step="masked", h=1, s=1, u=4)
    assert "may not see" in sentences.read(run, hidden, explained(run, hidden))


@pytest.mark.parametrize("step", ["weights", "output"])
def test_a_row_that_may_attend_nowhere_says_so(step: str) -> None:
    run = EXPERIMENTS["nowhere"].run()
    view = view_of(step, 1, 0, 3, 0)
    words = sentences.read(run, view, explained(run, view))
    assert "may attend nowhere" in words


@pytest.mark.parametrize("step", STEPS)
def test_the_place_of_a_cell_is_one_line_of_english_whatever_the_tokens_are(step: str) -> None:
    tokens = ["a\nb", "quote'\"", "\\", "\u2028", "\x85", "猫", "import os", "\r", "\x0c"]
    run = Experiment("x").run()._replace(tokens=(tuple(tokens),))
    locale.use("zh")
    for i in range(len(tokens)):
        place = sentences.place(run, view_of(step, 0, 0, i, 0))
        assert place.splitlines() == [place]
        assert place.startswith(f"{step}: sequence b=1, head h=1")
        assert f"={i + 1}" in place
