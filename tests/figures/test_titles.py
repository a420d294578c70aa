"""What panels are called, what formulas say, and the sentence for those who cannot see a panel."""

import re
from dataclasses import replace
from typing import Any

import pytest

from attnviz import locale
from attnviz.core.arithmetic import EQUATIONS
from attnviz.experiment import STEPS, Experiment, View
from attnviz.figures.board import block_layout
from attnviz.figures.colours import LIGHT
from attnviz.figures.formulas import code, formula
from attnviz.figures.layout import BLOCKS
from attnviz.figures.panels import AXES
from attnviz.figures.titles import plain_symbol, sentence
from tests.figures import reading

CAT = "the cat sat on the mat"


def test_a_title_is_the_symbol_and_the_shape() -> None:
    experiment = Experiment(CAT, d_model=8, d_k=4, d_v=3, mask="causal")
    titles = {block: reading.titles(reading.board(experiment, block)) for block in BLOCKS}
    assert titles["projections"] == [
        "X (s=6, m=8)",
        "Q (s=6, k=4)",
        "WQ (m=8, k=4)",
        "K (u=6, k=4)",
        "WK (m=8, k=4)",
        "V (u=6, d=3)",
        "WV (m=8, d=3)",
    ]
    assert sorted(titles["scores"]) == sorted(
        ["Q (s=6, k=4)", "KT (k=4, u=6)", "S (s=6, u=6)", "S / √dk + mask (s=6, u=6)", "a (s=6, u=6)", "Σu"]
    )
    assert sorted(titles["output"]) == ["O (s=6, d=3)", "V (u=6, d=3)", "a (s=6, u=6)"]


def test_the_shape_is_that_of_the_whole_matrix_of_a_window() -> None:
    titles = reading.titles(reading.board(Experiment("w " * 40), "scores", View(from_s=3)))
    assert "Q (s=40, k=4)" in titles and "S (s=40, u=40)" in titles


@pytest.mark.parametrize(("letters", "shape"), [("bsu", "s=6, u=6"), ("bij", "i=6, j=6"), ("bts", "t=6, s=6")])
def test_titles_speak_in_the_letters_of_the_reader(letters: str, shape: str) -> None:
    figure = reading.board(Experiment(CAT), "scores", View(letters=letters))
    assert f"a ({shape})" in reading.titles(figure)
    sums = {"bsu": "Σu", "bij": "Σj", "bts": "Σs"}[letters]
    assert sums in reading.titles(figure)


def test_each_letter_keeps_its_hue() -> None:
    for letters in ("bsu", "bij"):
        note = reading.board(Experiment(CAT), "projections", View(letters=letters))["layout"]["annotations"][0]["text"]
        assert LIGHT.letters["s"] in note and LIGHT.letters["m"] in note


@pytest.mark.parametrize(
    ("sizes", "title"),
    [
        ({}, "S / √dk (s=6, u=6)"),
        ({"scale": "d_k"}, "S / dk (s=6, u=6)"),
        ({"scale": "none"}, "S (s=6, u=6)"),
        ({"temperature": 2.0}, "S / √dk / 2 (s=6, u=6)"),
        ({"scale": "none", "temperature": 0.5, "mask": "causal"}, "S / 0.5 + mask (s=6, u=6)"),
        ({"positions": "alibi"}, "S / √dk + ALiBi (s=6, u=6)"),
        ({"positions": "alibi", "mask": "causal", "scale": "d_k"}, "S / dk + ALiBi + mask (s=6, u=6)"),
    ],
)
def test_the_scaled_scores_say_how_they_were_scaled(sizes: dict[str, Any], title: str) -> None:
    assert title in reading.titles(reading.board(Experiment(CAT, **sizes), "scores"))


def test_rotated_queries_and_keys_say_so() -> None:
    for positions in ("rope_half", "rope_interleaved"):
        experiment = Experiment(CAT, positions=positions)
        titles = [t for block in BLOCKS for t in reading.titles(reading.board(experiment, block))]
        assert {"RoPE(Q) (s=6, k=4)", "RoPE(K) (u=6, k=4)", "RoPE(K)T (k=4, u=6)"} <= set(titles)
        assert not {"Q (s=6, k=4)", "K (u=6, k=4)"} & set(titles)
    run = experiment.run()
    said = {
        s.panel.name: sentence(s.panel, run.tokens[0]) for s in block_layout(experiment, run, View(), "scores").slots
    }
    assert said["query"].startswith("RoPE(Q), 6 rows") and said["key_t"].startswith("RoPE(K)^T, 4 rows")
    assert "Q (s=6, k=3)" in reading.titles(reading.board(replace(experiment, d_k=3), "projections"))


def test_padding_is_a_mask_too() -> None:
    titles = reading.titles(reading.board(Experiment("a b c\nd"), "scores", View(b=1)))
    assert any("mask" in title for title in titles)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_panel_has_a_sentence_that_names_its_largest_number(block: str, lang: str) -> None:
    locale.use(lang)
    experiment = Experiment("the <s> 猫 the", "spaces", mask="causal")
    run = experiment.run()
    for slot in block_layout(experiment, run, View(), block).slots:
        panel = slot.panel
        words = sentence(panel, run.tokens[0])
        rows, columns = panel.shape
        assert plain_symbol(panel.name) in words
        assert str(rows) in words and str(columns) in words
        numbers = [v for row in panel.values.tolist() for v in row if abs(v) != float("inf")]
        assert f"{max(numbers):.4f}".replace("-", "−") in words
        assert "{" not in words and "}" not in words
    assert len({sentence(s.panel, run.tokens[0]) for s in block_layout(experiment, run, View(), block).slots}) > 1


def test_the_sentence_names_the_tokens_of_the_largest_number() -> None:
    experiment = Experiment("the cat the dog", d_model=1, d_k=1, x=[[1], [2], [3], [4]]).with_cell("w_q", (0, 0), 1)
    experiment = experiment.with_cell("w_k", (0, 0), 1)
    run = experiment.run()
    layout = block_layout(experiment, run, View(), "scores")
    (scores,) = [s.panel for s in layout.slots if s.panel.name == "scores"]
    words = sentence(scores, run.tokens[0])
    assert words == "S, 4 rows by 4 columns, largest 16.0000 in row 4 “dog”, column 4 “dog”."


def test_the_sentence_of_a_window_counts_from_the_first_token() -> None:
    text = " ".join(f"w{i}" for i in range(40))
    experiment = Experiment(text, d_model=1, d_k=1).with_cell("q", (0, 12, 0), 1e6)
    run = experiment.run()
    layout = block_layout(experiment, run, View(from_s=10), "scores")
    (query,) = [s.panel for s in layout.slots if s.panel.name == "query"]
    assert "row 13 “w12”" in sentence(query, run.tokens[0])


def test_a_panel_without_any_finite_number_has_a_sentence() -> None:
    experiment = Experiment("a b", d_model=1, d_k=1, x=[[3e38], [3e38]]).with_cell("w_q", (0, 0), 9)
    run = experiment.run()
    layout = block_layout(experiment, run, View(), "projections")
    (query,) = [s.panel for s in layout.slots if s.panel.name == "query"]
    assert sentence(query, run.tokens[0]) == "Q, 2 rows by 1 column."


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("letters", ["bsu", "bij", "bts"])
def test_the_formula_has_the_indices_of_the_equation_each_in_its_hue(step: str, letters: str) -> None:
    text = formula(step, Experiment(CAT), letters, LIGHT)
    theirs = {"bsu": "bsu", "bij": "bij", "bts": "bts"}[letters]
    relabelled = str.maketrans("bsu", theirs)
    result = EQUATIONS[step].split("->")[1].translate(relabelled)
    left = text.split("=")[0]
    assert "".join(re.findall(r"textcolor\{#\w{6}\}\{(\w)\}", left)) == result
    assert text.count("{") == text.count("}")
    hue = LIGHT.letters["s"] if "s" in EQUATIONS[step].split("->")[1] else LIGHT.letters["u"]
    assert hue in left


@pytest.mark.parametrize("positions", ["rope_half", "rope_interleaved", "alibi"])
def test_the_formula_of_positions_has_their_letters(positions: str) -> None:
    experiment = Experiment(CAT, positions=positions)
    text = formula("masked" if positions == "alibi" else "key", experiment, "bij", LIGHT)
    assert text.count("{") == text.count("}")
    if positions == "alibi":
        assert "ALiBi" in text and "mask" not in text.partition("=")[2]
        assert "mask" in formula("masked", replace(experiment, mask="causal"), "bij", LIGHT).partition("=")[2]
    else:  # R_{j k' k} turns key token j
        assert f"R_{{\\textcolor{{{LIGHT.letters['u']}}}{{j}}" in text
        assert "'" not in formula("value", experiment, "bij", LIGHT)


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"scale": "d_k"},
        {"scale": "none"},
        {"temperature": 0.5},
        {"positions": "rope_half"},
        {"positions": "rope_interleaved"},
        {"positions": "alibi"},
    ],
)
def test_the_code_of_a_block_computes_what_is_shown(sizes: dict[str, Any]) -> None:
    import torch

    experiment = Experiment(CAT, mask="causal", **sizes)
    run = experiment.run()
    assert run.trace is not None and run.seen is not None
    for letters in ("bsu", "bij", "bts"):
        names: dict[str, Any] = {"torch": torch, "X": run.x, "W_Q": run.w_q, "W_K": run.w_k, "W_V": run.w_v}
        names |= {"d_k": 4, "n": 6, "mask": run.seen[:, 0]}
        for step in STEPS:
            exec(code(step, experiment, letters), names)  # noqa: S102  # our own line, which people copy
        for name, step in {
            "Q": "query",
            "K": "key",
            "S": "scores",
            "masked": "masked",
            "a": "weights",
            "O": "output",
        }.items():
            torch.testing.assert_close(names[name], getattr(run.trace, step)[:, 0], rtol=1e-5, atol=1e-6)


def test_every_panel_has_a_plain_symbol() -> None:
    symbols = [plain_symbol(name) for name in [*AXES, "scaled"]]
    assert len(set(symbols)) == len(symbols)
    assert not any(c in symbol for symbol in symbols for c in "<>&{}")
